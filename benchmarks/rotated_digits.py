"""Rotated digits: the joint sphere beside the multi-task baseline.

Each space's learning rate is chosen on the validation part (one seed) by accuracy minus the angle's error as a share
of 180 degrees; then each is trained anew with it and tested on the held-out quarter (three seeds).
"""

import math
import statistics

from hyperproto.experiments.rotated_digits import SPACES, Row, compare

RATES, SEEDS = (0.1, 0.2, 0.4, 0.8), (0, 1, 2)


def measure() -> tuple[str, list[dict[str, object]]]:
    rows = []
    for name in SPACES:
        tuned = {lr: trained(name, lr=lr, seed=0, part="valid") for lr in RATES}
        best = max(RATES, key=lambda lr: score(tuned[lr]))
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
                "validation": "; ".join(f"{lr}: {100 * r.accuracy:.1f} %, {r.mae:.2f}°" for lr, r in tuned.items()),
            }
        )
    return "Rotated digits, held-out quarter, three seeds, rates chosen on validation data", rows


def trained(name: str, **settings: object) -> Row:
    return compare(only=name, **settings)[0][0]  # type: ignore[arg-type]


def score(row: Row) -> float:
    value = row.accuracy - row.mae / 180
    return -math.inf if math.isnan(value) else value
