"""Plain digits, held-out quarter, three seeds: spheres of ten and three
dimensions against softmax.
"""

import statistics

import torch

import hyperproto as hp
from hyperproto.data import load_digits
from hyperproto.models import DigitNet

TEN_DIGITS = [str(digit) for digit in range(10)]
EPOCHS, SEEDS = 20, (0, 1, 2)
SPACES = {
    "sphere, D = 10 (Eq. 1)": lambda: hp.Space(10, hp.Classes(TEN_DIGITS, loss="paper")),
    "sphere, D = 3 (Eq. 1)": lambda: hp.Space(3, hp.Classes(TEN_DIGITS, loss="paper")),
    "softmax cross-entropy": lambda: hp.baselines.ConventionalSpace(hp.Classes(TEN_DIGITS)),
}


def measure() -> tuple[str, list[dict[str, object]]]:
    rows = []
    for name, build in SPACES.items():
        scores = [accuracy(build(), seed) for seed in SEEDS]
        rows.append(
            {
                "output space": name,
                "accuracy, %": round(100 * statistics.mean(scores), 2),
                "standard deviation": round(100 * statistics.stdev(scores), 2),
                "seeds": " ".join(f"{100 * score:.1f}" for score in scores),
            }
        )
    return f"Digits: {EPOCHS} epochs, the same network, rate and order", rows


def accuracy(space: hp.OutputSpace, seed: int) -> float:
    torch.manual_seed(seed)
    train, held_out = load_digits(seed=seed)
    network = digit_network(space, size=8, seed=seed)
    run = hp.fit(
        network, space, train, valid=held_out, epochs=EPOCHS, lr=0.2, reduction="mean", seed=seed
    )
    return run.metrics["accuracy"]


def digit_network(space: hp.OutputSpace, *, size: int, seed: int, width: int = 32) -> DigitNet:
    """Build the network for a space, its weights fixed by the seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return DigitNet(space.dim, size=size, width=width)
