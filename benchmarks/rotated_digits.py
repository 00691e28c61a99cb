"""Rotated digits: the joint sphere beside the multi-task baseline.

Each space's learning rate is chosen on the validation part by accuracy minus the angle's error as a share of 180
degrees, mean of three seeds, one that diverges counting for nothing; then each is trained anew with it, with three
other seeds, and tested on the held-out quarter.
"""

import math
import statistics

from hyperproto.reproduction.rotated_digits import SPACES, Row, compare

RATES, TRIED, SEEDS = (0.1, 0.2, 0.4, 0.8), (3, 4, 5), (0, 1, 2)


def measure() -> tuple[str, list[dict[str, object]]]:
    rows = []
    for name in SPACES:
        tuned = {lr: [trained(name, lr=lr, seed=seed, part="valid") for seed in TRIED] for lr in RATES}
        best = max(RATES, key=lambda lr: statistics.mean(score(row) for row in tuned[lr]))
        tested = [trained(name, lr=best, seed=seed, part="test") for seed in SEEDS]
        ended = [row for row in tested if row.run is not None]
        accuracies, errors = [100 * row.accuracy for row in ended], [row.mae for row in ended]
        rows.append(
            {
                "output space": name,
                "accuracy, %": f"{statistics.mean(accuracies):.2f} ± {statistics.stdev(accuracies):.2f}",
                "mean error, °": f"{statistics.mean(errors):.2f} ± {statistics.stdev(errors):.2f}",
                "diverged": len(tested) - len(ended),
                "rate": best,
                "validation": "; ".join(f"{lr}: {told(tried)}" for lr, tried in tuned.items()),
            }
        )
    return "Rotated digits, held-out quarter, three seeds, rates chosen on validation data", rows


def trained(name: str, **settings: object) -> Row:
    return compare(only=name, **settings)[0][0]  # type: ignore[arg-type]


def score(row: Row) -> float:
    """Return what a rate is chosen by: 1 at best, 0 for a run that diverged."""
    value = row.accuracy - row.mae / 180
    return 0.0 if math.isnan(value) else value


def told(rows: list[Row]) -> str:
    ended = [row for row in rows if row.run is not None]
    lost = f", {len(rows) - len(ended)} diverged" if len(ended) < len(rows) else ""
    if not ended:
        return lost[2:]
    accuracy, error = (
        statistics.mean(values) for values in zip(*((row.accuracy, row.mae) for row in ended), strict=True)
    )
    return f"{100 * accuracy:.1f} %, {error:.2f}°{lost}"
