"""A million classes: what a training step costs, and exact prediction against faiss.

Classes are fresh in every step, drawn before the clock starts, so that the rows of the prototypes
they name are not in the cache. Steps and searches on one thread are timed in seconds of one
processor, which does not count what else the machine does; searches on two by the clock on the
wall; the fastest of several rounds of each in turn. Memory is what a step adds to what the process
holds, at its peak, in a process of its own.

The last rows are why there is no graph index for the nearest class: it walks from neighbor to
nearer neighbor, and well separated prototypes have no neighborhoods, all of them being about
equally far from one another.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.nn import functional

import hyperproto as hp
from benchmarks.timing import compare, seconds
from hyperproto.losses import SampledCosineSoftmax, SquaredCosine
from hyperproto.tasks.top_k import nearest_prototypes

BATCH, DIM, MILLION = 128, 128, 1_000_000
FEATURES, LINEAR_CLASSES = 64, 100_000
SIZES = (1_000, 10_000, 100_000, MILLION)
K_BEST = 10
ROUNDS = {1: 6, 128: 2}  # searches, by how many outputs at once
ROW_SIZES = (33_000, 100_000, 131_000)  # where prototypes are in float64
GRAPH_CLASSES, LINKS, NOISE = 30_000, 32, 1.0
LOSSES = {
    "squared cosine": SquaredCosine(),
    "softmax, the batch's classes": SampledCosineSoftmax(16.0),
    "softmax, and 512 random": SampledCosineSoftmax(16.0, negatives=512),
}


def measure() -> tuple[str, list[dict[str, object]]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        table = unit(MILLION, DIM)
        rows = [
            step_row(name, loss, table[:size]) for name, loss in LOSSES.items() for size in SIZES
        ]
        rows += [
            *linear_rows(table),
            *(search_row(table, n, used) for used in (1, 2) for n in ROUNDS),
        ]
        torch.set_num_threads(1)
        threadpool_limits(1)
        rows += [*(one_row(size) for size in ROW_SIZES), *graph_rows()]
    finally:
        torch.set_num_threads(threads)
    return f"A million classes, D = {DIM}, batch {BATCH}", rows


def row(
    what: str, ours: float, peer: str, theirs: float, ratio: float, unit: str = "µs"
) -> dict[str, object]:
    """Return one line; the ratio is ours over theirs, so that less is better."""
    row: dict[str, object] = {"what": what, "unit": unit, "ours": f"{ours:.4g}"}
    return row | {"peer": peer, "theirs": f"{theirs:.4g}", "ours / theirs": f"{ratio:.3g}"}


def unit(n: int, dim: int, seed: int = 0) -> Tensor:
    return functional.normalize(torch.randn(n, dim, generator=torch.Generator().manual_seed(seed)))


def stepper(loss: Callable[..., Tensor], table: Tensor) -> Callable[[], None]:
    """Return a step: forward and backward of a loss, at labels that were not used before."""
    generator = torch.Generator().manual_seed(1)
    z = torch.randn(BATCH, table.shape[1], generator=generator, requires_grad=True)
    labels = iter(torch.randint(len(table), (2000, BATCH), generator=generator))

    def step() -> None:
        z.grad = None
        loss(z, table, next(labels)).mean().backward()

    return step


def step_row(name: str, loss: Callable[..., Tensor], table: Tensor) -> dict[str, object]:
    """Return a step at a million classes against one at a hundred."""
    few, rounds = table[:100].clone(), 300
    steps = stepper(loss, table), stepper(loss, few)
    ours, theirs, ratio = compare(*steps, rounds=rounds, clock=time.process_time)
    return row(
        f"{name}: a step at K = {len(table):,}",
        1e6 * ours,
        "the same at K = 100",
        1e6 * theirs,
        1 / ratio,
    )


def linear_rows(table: Tensor) -> list[dict[str, object]]:
    """Return the squared loss and a linear layer with cross-entropy at 100,000 classes: time, then
    memory.
    """
    peer = "nn.Linear and cross-entropy"
    ours, theirs, ratio = compare(*linear_steps(), rounds=7, clock=time.process_time)
    what = f"squared cosine: a step at K = {LINEAR_CLASSES:,}, F = {FEATURES}"
    memory = [peak_memory(which) for which in (0, 1)]
    return [
        row(what, 1e6 * ours, peer, 1e6 * theirs, 1 / ratio),
        row(f"{what}, peak memory", memory[0], peer, memory[1], memory[0] / memory[1], "MB"),
    ]


def linear_steps() -> tuple[Callable[[], None], Callable[[], None]]:
    """Return our step and the peer's, both from features of a network on."""
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(BATCH, FEATURES, generator=generator, requires_grad=True)
    layer = nn.Linear(FEATURES, LINEAR_CLASSES)
    labels = iter(torch.randint(LINEAR_CLASSES, (2000, BATCH), generator=generator))

    def theirs() -> None:
        features.grad = layer.weight.grad = layer.bias.grad = None
        functional.cross_entropy(layer(features), next(labels)).backward()

    return stepper(SquaredCosine(), unit(LINEAR_CLASSES, FEATURES)), theirs


def peak_memory(which: int) -> float:
    """Return by how many MB a step raises the peak of a process that holds both tables already."""
    code = f"from benchmarks.million_classes import added_memory; print(added_memory({which}))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    return float(done.stdout)


def added_memory(which: int) -> float:
    functional.cross_entropy(
        nn.Linear(4, 4)(torch.randn(2, 4)), torch.tensor([0, 1])
    ).backward()  # what loads once
    stepper(SquaredCosine(), unit(10, FEATURES))()
    step = linear_steps()[which]
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is in use
    before = peak()
    for _ in range(3):
        step()
    return max(peak() - before, 4) / 1024  # no less than a page


def peak() -> int:
    """Return the most memory this process has used, in kB."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def search_row(table: Tensor, n: int, threads: int) -> dict[str, object]:
    """Return exact search against the faster of faiss's two ways, with and without its matrix
    product.
    """
    import faiss  # only here: the library does not need it

    torch.set_num_threads(threads)
    threadpool_limits(threads)  # NumPy's product, which one output takes, has threads of its own
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatIP(table.shape[1])
    index.add(table.numpy())
    z = unit(n, table.shape[1], seed=2)
    usual = faiss.cvar.distance_compute_blas_threshold
    ids = index.search(z.numpy(), K_BEST)[1]
    assert (
        nearest_prototypes(z, table, K_BEST).ids == torch.from_numpy(ids)
    ).float().mean() > 0.999
    clock = time.process_time if threads == 1 else time.perf_counter
    ours, theirs = [], []
    for _ in range(ROUNDS[n]):
        ours.append(seconds(lambda: nearest_prototypes(z, table, K_BEST), clock))
        for threshold in {usual, 20}:  # from how many queries on it multiplies matrices
            faiss.cvar.distance_compute_blas_threshold = threshold
            theirs.append(seconds(lambda: index.search(z.numpy(), K_BEST), clock))
            faiss.cvar.distance_compute_blas_threshold = usual
    what = f"{K_BEST} nearest of {len(table):,}: outputs {n}, threads {threads}"
    peer = "faiss IndexFlatIP, the faster of its two ways"
    return row(what, 1e3 * min(ours), peer, 1e3 * min(theirs), min(ours) / min(theirs), "ms")


def one_row(num_classes: int) -> dict[str, object]:
    """Return the prediction of one output against nothing but the product with prototypes in
    float32.
    """
    space = hp.Space(DIM, hp.Classes(hp.place(num_classes, DIM, method="random"), "paper"))
    plain, z = space.prototypes.vectors.float(), unit(1, DIM, seed=2)
    assert space.predict(z) == (z @ plain.mT).argmax()
    pairs = [(seconds(lambda: space.predict(z)), seconds(lambda: z @ plain.mT)) for _ in range(100)]
    ours, theirs = (1e3 * min(times) for times in zip(*pairs, strict=True))
    what = f"predict one output, K = {num_classes:,}, threads 1"
    return row(what, ours, "z @ prototypes.mT in float32", theirs, ours / theirs, "ms")


def graph_rows() -> list[dict[str, object]]:
    """Return how often a graph index finds the nearest of well separated prototypes, and of
    clustered points.
    """
    import faiss

    generator = torch.Generator().manual_seed(3)
    placed = hp.place(GRAPH_CLASSES, DIM).vectors.float()
    centers = torch.randn(300, DIM, generator=generator).repeat(GRAPH_CLASSES // 300, 1)
    clustered = functional.normalize(
        centers + 0.5 * torch.randn(GRAPH_CLASSES, DIM, generator=generator)
    )
    rows = []
    for name, points in (("prototypes", placed), ("points in 300 clusters", clustered)):
        index = faiss.IndexHNSWFlat(DIM, LINKS, faiss.METRIC_INNER_PRODUCT)
        index.add(points.numpy())
        chosen = torch.randint(GRAPH_CLASSES, (500,), generator=generator)
        noise = functional.normalize(torch.randn(500, DIM, generator=generator))
        z = functional.normalize(points[chosen] + NOISE * noise)
        exact = nearest_prototypes(z, points, 1).ids[:, 0]
        for effort in (16, 64, 256):
            index.hnsw.efSearch = effort
            found = torch.from_numpy(index.search(z.numpy(), 1)[1][:, 0])
            recall = (found == exact).double().mean().item()
            what = f"nearest of {GRAPH_CLASSES:,} {name}, efSearch {effort}"
            rows.append(
                row(
                    what,
                    1.0,
                    f"faiss IndexHNSWFlat, M = {LINKS}",
                    recall,
                    1 / max(recall, 1e-3),
                    "recall",
                )
            )
    return rows
