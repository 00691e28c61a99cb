"""A million classes: placed in seconds, and a training step that does not know
how many there are.
"""

import time

import torch

import hyperproto as hp

torch.manual_seed(0)


def step_time(space, network, steps=20):
    """Return the seconds of a step, the least of several, with new labels in each."""
    optimizer, seconds = torch.optim.SGD(network.parameters(), lr=0.1), []
    for _ in range(steps):
        inputs, labels = (
            torch.randn(128, 256),
            torch.randint(space.tasks["target"].num_classes, (128,)),
        )
        start = time.perf_counter()
        space(network(inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


start = time.perf_counter()
million = hp.place(1_000_000, 64, method="codes")
print(
    f"placed in {time.perf_counter() - start:.1f} s, maximum cosine {million.certificate.max_cosine:.3f}"
)
many, few = (hp.Space(64, hp.Classes(classes, loss="paper")) for classes in (million, 100))
network = torch.nn.Linear(256, 64)
ratio = step_time(many, network) / step_time(few, network)
print(f"a step at 1,000,000 classes takes {ratio:.2f} times one at 100")

z = many.prototypes.vectors[[7, 77_777]].float() + 0.01 * torch.randn(2, 64)
nearest = many.top_k(z, 3)  # exact, in blocks: a million cosines are never kept at once
print(nearest.ids.tolist(), nearest.values[:, 0])
assert ratio < 5
assert nearest.ids[:, 0].tolist() == [7, 77_777]
