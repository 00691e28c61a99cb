"""CIFAR-100 in five epochs: the paper's loss, cosine softmax and softmax cross-entropy on one small
network.

``HYPERPROTO_DATA`` must name the folder with ``cifar-100-binary``. Nine runs (three losses, three
seeds) are kept in ``runs/cifar100`` and continue where they stopped; with
``HYPERPROTO_ONLY=softmax`` only one of the losses is trained, so that several can be trained side
by side.
"""

import os
import statistics
from pathlib import Path

import torch

import hyperproto as hp
from hyperproto._core.processes import derive_seed
from hyperproto.data import ImageData, Source, read_cifar100
from hyperproto.models import create_backbone
from hyperproto.spaces import OutputSpace

SEEDS = (0, 1, 2)
EPOCHS, BATCH = 5, 128
RUNS = Path("runs/cifar100")
# rates of one trial each, in the loss's own scale: summed for the paper's loss, the mean for the
# others
SPACES = {
    "squared": ("Eq. 1, simplex, D = 100", {"lr": 0.01, "reduction": "sum"}),
    "cosine-softmax": (
        "cosine softmax (scale 16), simplex, D = 100",
        {"lr": 0.1, "reduction": "mean"},
    ),
    "softmax": ("softmax cross-entropy", {"lr": 0.1, "reduction": "mean"}),
}


def measure() -> tuple[str, list[dict[str, object]]]:
    folder = os.environ.get("HYPERPROTO_DATA")
    if not folder:
        return "CIFAR-100", [{"skipped": "set HYPERPROTO_DATA to the folder that holds CIFAR-100"}]
    source = read_cifar100(folder)
    only = os.environ.get("HYPERPROTO_ONLY")
    rows = []
    for name, (title, settings) in SPACES.items():
        if only in (None, name):
            accuracies = [train(source, name, seed, settings) for seed in SEEDS]
            rows.append(
                {
                    "output space": title,
                    "test accuracy, mean %": round(100 * statistics.mean(accuracies), 2),
                    "standard deviation": round(100 * statistics.stdev(accuracies), 2),
                    "seeds": " ".join(f"{100 * accuracy:.2f}" for accuracy in accuracies),
                    **settings,
                }
            )
    return (
        f"CIFAR-100, ResNet depth 8 (16/32/64), {EPOCHS} one-cycle epochs, batch {BATCH}, crop and flip",
        rows,
    )


def train(source: Source, name: str, seed: int, settings: dict[str, object]) -> float:
    space = output_space(name, source)
    torch.manual_seed(derive_seed(seed, "weights"))
    network = create_backbone("resnet-8", out_dim=space.dim)
    assert source.test is not None
    run = hp.fit(
        network,
        space,
        ImageData(source.train, source.preprocessing, augment=source.augment),  # type: ignore[arg-type]
        valid=ImageData(source.test, source.preprocessing),  # type: ignore[arg-type]
        epochs=EPOCHS,
        batch_size=BATCH,
        seed=seed,
        folder=RUNS / f"{name}-{seed}",
        resume=True,
        **settings,  # type: ignore[arg-type]
    )
    return run.metrics["class/accuracy"]


def output_space(name: str, source: Source) -> OutputSpace:
    names = source.targets["class"].names  # type: ignore[union-attr]
    if name == "softmax":
        return hp.baselines.ConventionalSpace({"class": hp.Classes(names)})
    loss = hp.losses.SquaredCosine() if name == "squared" else hp.losses.CosineSoftmax(16.0)
    return hp.Space(100, {"class": hp.Classes(hp.place(names, 100), loss=loss)})
