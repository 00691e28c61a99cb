"""Cosine softmax over some of a thousand classes against the full sum: accuracy, and the time of
the losses alone.

Clusters overlap, so that about a third of the examples cannot be told apart. The same network, data
and steps for each; three seeds. The weighting of the losses was chosen with seed 0, test part
included, so these are others.
"""

import statistics
import time

import torch
from torch import Tensor, nn

from hyperproto import Classes, Space, place
from hyperproto.losses import CosineSoftmax, SampledCosineSoftmax, SquaredCosine

NUM_CLASSES, DIM, INPUTS = 1000, 64, 32
TRAIN, TEST = 20, 5  # examples a class
SPREAD, EPOCHS, BATCH, RATE = 0.42, 12, 128, 2e-3
SEEDS = (1, 2, 3)
LOSSES = {
    "all classes": CosineSoftmax(16.0),
    "the batch's": SampledCosineSoftmax(16.0),
    "the batch's and 128 random": SampledCosineSoftmax(16.0, negatives=128),
    "squared, the right class only": SquaredCosine(),
}


def measure() -> tuple[str, list[dict[str, object]]]:
    prototypes = place(NUM_CLASSES, DIM, effort="fast")
    rows: list[dict[str, object]] = []
    for name, loss in LOSSES.items():
        space = Space(DIM, Classes(prototypes, loss=loss))
        accuracies, seconds = zip(*(train(space, seed) for seed in SEEDS), strict=True)
        mean = statistics.mean(accuracies)
        rows.append(
            {
                "classes in the sum": name,
                "accuracy, %": f"{mean:.1f}",
                "deviation over seeds": f"{statistics.stdev(accuracies):.1f}",
                "against all": f"{mean - float(str(rows[0]['accuracy, %'])) if rows else 0:+.1f}",
                "loss forward and backward, µs": round(1e6 * statistics.median(seconds)),
            }
        )
    return (
        f"Cosine softmax at K = {NUM_CLASSES}, D = {DIM}: {EPOCHS} epochs of an MLP, {len(SEEDS)} seeds",
        rows,
    )


def clusters(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return inputs and labels of the training part, then of the test part."""
    generator = torch.Generator().manual_seed(seed)
    centers = torch.randn(NUM_CLASSES, INPUTS, generator=generator)
    parts: list[Tensor] = []
    for count in (TRAIN, TEST):
        labels = torch.arange(NUM_CLASSES).repeat(count)
        noise = torch.randn(len(labels), INPUTS, generator=generator)
        parts += [centers[labels] + 2 * SPREAD * noise, labels]
    return parts[0], parts[1], parts[2], parts[3]


def train(space: Space, seed: int) -> tuple[float, float]:
    """Return the accuracy on the test part in percent, and the seconds of a step's loss."""
    inputs, labels, test_inputs, test_labels = clusters(seed)
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Linear(INPUTS, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, DIM)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    spent = []
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(labels)).split(BATCH):
            z = network(inputs[batch])
            optimizer.zero_grad()
            started = time.process_time()
            (grad,) = torch.autograd.grad(space.loss(z, labels[batch]), z)
            spent.append(time.process_time() - started)
            z.backward(grad)
            optimizer.step()
    with torch.no_grad():
        right = space.predict(network(test_inputs)) == test_labels
    return 100 * float(right.float().mean()), statistics.median(spent)
