"""Digits 0 to 4 trained, then 5 to 9 added one by one, in every way there is; and training from
scratch on all.
"""

import statistics
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

import hyperproto as hp
from benchmarks.digits import TEN_DIGITS, digit_network
from hyperproto.data import Arrays, load_digits
from hyperproto.evaluation import add_classes
from hyperproto.priors import from_similarity

EPOCHS, SEEDS, FIRST, DIM = 20, (0, 1, 2), 5, 10
FEW, ALL = 10, 10_000
# which of the seven segments of a pocket calculator each digit lights: known without seeing any
# handwriting
SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010"]
SEGMENTS += ["1101011", "1101111", "1010010", "1111111", "1111011"]

Step = Callable[[hp.Run, int, Arrays, int], hp.Run]


def measure() -> tuple[str, list[dict[str, object]]]:
    ways: dict[str, Step] = {
        f"mean of {FEW} examples": lambda *step: by_examples(*step, how="mean", shots=FEW),
        "mean of all examples": lambda *step: by_examples(*step, how="mean", shots=ALL),
        f"training on {FEW} examples and a replay of 20 per class": lambda *step: by_examples(
            *step, how="train", shots=FEW
        ),
        "training on all examples and a replay of 20 per class": lambda *step: by_examples(
            *step, how="train", shots=ALL
        ),
        "prior alone: seven segments": lambda *step: by_prior(*step, segments()),
        "prior alone: likeness of mean images": lambda *step: by_prior(*step, likeness(step[2])),
        "training from scratch on everything": from_scratch,
    }
    scores: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for seed in SEEDS:
        train, held_out = load_digits(seed=seed)
        begun = fit(hp.place(TEN_DIGITS[:FIRST], DIM), train, seed)
        for way, step in ways.items():
            run = begun
            scores.setdefault((way, FIRST - 1), []).append(accuracies(run, held_out, FIRST))
            for digit in range(FIRST, 10):
                run = step(run, digit, train, seed)
                scores.setdefault((way, digit), []).append(accuracies(run, held_out, digit + 1))
    title = f"Digits 0 to 4, then one more at a time: accuracy (%) among all known, {len(SEEDS)} seeds, D = {DIM}"
    return title, [row(way, digit, pairs) for (way, digit), pairs in scores.items()]


def row(way: str, digit: int, pairs: list[tuple[float, float]]) -> dict[str, object]:
    old, new = zip(*pairs, strict=True)
    return {
        "way": way,
        "known": f"0-{digit}",
        "digits 0-4": round(100 * statistics.mean(old), 1),
        "± ": round(100 * statistics.stdev(old), 1),
        "digits from 5 on": "" if digit < FIRST else round(100 * statistics.mean(new), 1),
        " ±": "" if digit < FIRST else round(100 * statistics.stdev(new), 1),
    }


def fit(prototypes: hp.Prototypes, train: Arrays, seed: int) -> hp.Run:
    space = hp.Space(DIM, hp.Classes(prototypes, "paper"))
    network = digit_network(space, size=8, seed=seed)
    data = those(train, 0, prototypes.num_classes)
    return hp.fit(network, space, data, epochs=EPOCHS, lr=0.2, reduction="mean", seed=seed)


def by_examples(
    run: hp.Run, digit: int, train: Arrays, seed: int, *, how: str, shots: int
) -> hp.Run:
    inputs, _ = first(train, digit, shots)
    seen = [
        those(train, 0, FIRST),
        *(first(train, old, shots) for old in range(FIRST, digit)),
    ]  # and no others
    replay = tuple(torch.cat(parts) for parts in zip(*seen, strict=True))
    more = {"replay": replay, "seed": seed} if how == "train" else {}
    return quietly(run, inputs, [str(digit)] * len(inputs), how=how, **more)


def by_prior(run: hp.Run, digit: int, train: Arrays, seed: int, similarity: Tensor) -> hp.Run:
    known = digit + 1
    prior = from_similarity(similarity[:known, :known], tuple(TEN_DIGITS[:known]))
    return quietly(run, names=[str(digit)], how="prior", prior=prior)


def from_scratch(run: hp.Run, digit: int, train: Arrays, seed: int) -> hp.Run:
    return fit(hp.place(TEN_DIGITS[: digit + 1], DIM, effort="fast"), train, seed)


def quietly(*given: object, **options: object) -> hp.Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of losses, which the table shows
        return add_classes(*given, **options).run  # type: ignore[arg-type]


def segments() -> Tensor:
    lit = torch.tensor([[float(bit) for bit in segment] for segment in SEGMENTS])
    return hp.sphere.normalize(lit) @ hp.sphere.normalize(lit).T


def likeness(train: Arrays) -> Tensor:
    """Return cosines of mean training images, centered: what somebody would say who knows how the
    digits look.
    """
    assert isinstance(train.targets, Tensor)
    means = torch.stack(
        [train.inputs[train.targets == digit].mean(dim=0).flatten() for digit in range(10)]
    )
    unit = hp.sphere.normalize(means - means.mean(dim=0))
    return unit @ unit.T


def those(data: Arrays, first: int, end: int) -> tuple[Tensor, Tensor]:
    assert isinstance(data.targets, Tensor)
    chosen = (data.targets >= first) & (data.targets < end)
    return data.inputs[chosen], data.targets[chosen]


def first(data: Arrays, digit: int, shots: int) -> tuple[Tensor, Tensor]:
    inputs, labels = those(data, digit, digit + 1)
    return inputs[:shots], labels[:shots]


def accuracies(run: hp.Run, held_out: Arrays, known: int) -> tuple[float, float]:
    old = hp.evaluate(run.network, run.space, those(held_out, 0, FIRST))["accuracy"]
    new = (
        hp.evaluate(run.network, run.space, those(held_out, FIRST, known))["accuracy"]
        if known > FIRST
        else 0.0
    )
    return old, new
