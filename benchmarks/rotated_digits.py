"""Rotated digits: the joint sphere against the multi-task baseline.

Each space's learning rate, and the weight of the angle where two heads need one, are chosen on the
validation part by accuracy minus the angle's error as a share of 180 degrees, mean of three seeds,
one that diverges counting for nothing; then each is trained again with them, with three other
seeds, and tested on the held-out quarter.
"""

import statistics
from typing import Literal

from hyperproto.baselines import ConventionalSpace
from hyperproto.baselines.conventional import weigh_tasks
from hyperproto.cli.demo import SPACES, make_space, train_digits

RATES, TRIED, SEEDS = (0.1, 0.2, 0.4, 0.8), (3, 4, 5), (0, 1, 2)
WEIGHTS = {SPACES[-1]: (0.5, 0.9, 0.95)}  # of the angle; 1/2 is the plain sum at half the rate


def measure() -> tuple[str, list[dict[str, object]]]:
    rows = []
    for name in SPACES:
        settings = [(weight, lr) for weight in WEIGHTS.get(name, (None,)) for lr in RATES]
        tuned = {
            each: [trained(name, *each, seed=seed, part="valid") for seed in TRIED]
            for each in settings
        }
        best = max(settings, key=lambda each: statistics.mean(map(score, tuned[each])))
        tested = [trained(name, *best, seed=seed, part="test") for seed in SEEDS]
        ended = [measured for measured in tested if measured is not None]
        accuracies, errors = (
            [100 * accuracy for accuracy, _ in ended],
            [error for _, error in ended],
        )
        rows.append(
            {
                "output space": name,
                "accuracy, %": f"{statistics.mean(accuracies):.2f} ± {statistics.stdev(accuracies):.2f}",
                "mean error, °": f"{statistics.mean(errors):.2f} ± {statistics.stdev(errors):.2f}",
                "diverged": len(tested) - len(ended),
                "rate": best[1],
                "weight": best[0] or "",
                "validation": "; ".join(
                    f"{lr}{f', weight {weight}' if weight else ''}: {told(tried)}"
                    for (weight, lr), tried in tuned.items()
                ),
            }
        )
    return "Rotated digits, held-out quarter, three seeds, rates chosen on validation data", rows


def trained(
    name: str, weight: float | None, lr: float, *, seed: int, part: Literal["test", "valid"]
) -> tuple[float, float] | None:
    """Return accuracy and mean error; None where training diverged."""
    space = make_space(name)
    if weight is not None:
        space = ConventionalSpace(weigh_tasks(space.tasks, weight))
    run, _ = train_digits(space, lr=lr, seed=seed, part=part)
    return None if run is None else (run.metrics["digit/accuracy"], run.metrics["angle/mae"])


def score(measured: tuple[float, float] | None) -> float:
    """Return what a rate is chosen by: 1 at best, 0 for a run that diverged."""
    return 0.0 if measured is None else measured[0] - measured[1] / 180


def told(tried: list[tuple[float, float] | None]) -> str:
    ended = [measured for measured in tried if measured is not None]
    lost = f", {len(tried) - len(ended)} diverged" if len(ended) < len(tried) else ""
    if not ended:
        return lost[2:]
    accuracy, error = (statistics.mean(values) for values in zip(*ended, strict=True))
    return f"{100 * accuracy:.1f} %, {error:.2f}°{lost}"
