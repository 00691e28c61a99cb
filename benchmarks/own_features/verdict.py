"""The table: every method on every row, and what must be said about ours.

Ours is *level* where it is at least as good as the best peer, within one standard error. It is
*behind* where it falls short of any peer by more than 1.5 points of accuracy or 3 % of an error, or
by more than one standard error if that is more. It is *slow* where a fit takes more than twice the
processor time of the perceptron.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.own_features.job import Result
from benchmarks.own_features.rows import FOLDS, ROWS, Row

POINTS, SHARE, TIMES = 1.5, 0.03, 2.0
PEERS = {
    "linear": "logistic or ridge",
    "support vectors": "support vectors",
    "pixels": "support vectors on pixels",
    "perceptron": "MLP",
    "boosting": "boosting",
    "same network": "same network, no sphere",
}


@dataclass(frozen=True)
class Score:
    """A mean over the repeats, its standard error, and the costs."""

    mean: float
    error: float
    fit: float
    predict: float
    memory: float
    count: int

    def __str__(self) -> str:
        digits = 1 if self.mean >= 10 else 2
        return f"{self.mean:,.{digits}f} ± {self.error:,.{digits}f}"


def score(row: Row, measure: str, results: Sequence[Result]) -> Score:
    values = np.array([result[measure] for result in results])
    if (
        row.repeats < FOLDS
    ):  # seeds share a test set, and what counts is how many examples it has; folds do not
        tests = len(values) if row.kind == "table" else 1
        error = float(np.mean([result[f"{measure} error"] for result in results])) / tests**0.5
    else:
        error = float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
    costs = [
        float(np.median([result[cost] for result in results]))
        for cost in ("fit", "predict", "memory")
    ]
    return Score(float(values.mean()), error, *costs, count=len(values))


def table(results: Sequence[Result]) -> list[dict[str, object]]:
    """Return a line for each row and measure of which there is anything from
    ours and from a peer.
    """
    lines = []
    for row in ROWS:
        mine = [result for result in results if result["row"] == row.name]
        lines += [line for measure in ("accuracy", "mae") if (line := _line(row, measure, mine))]
    return lines


def _line(row: Row, measure: str, results: list[Result]) -> dict[str, object]:
    found = {}
    for method in ("ours", *PEERS, "constant"):
        mine = [result for result in results if result["method"] == method and measure in result]
        if mine:
            found[method] = score(row, measure, mine)
    peers = {method: found[method] for method in PEERS if method in found}
    if "ours" not in found or not peers:
        return {}
    costs = {name: _ratio(name, found) for name in ("fit", "predict", "memory")}
    unfinished = any(s.count < row.repeats for s in found.values())
    return {
        "data": row.name,
        "group": row.group,
        "measure": "accuracy, %" if measure == "accuracy" else "mean error",
        "ours": str(found["ours"]),
        **{title: str(found.get(method, "")) for method, title in PEERS.items()},
        "constant": str(found.get("constant", "")),
        "fit, s": f"{found['ours'].fit:.2f}",
        **{f"{name} / perceptron's": costs[name] for name in costs},
        "verdict": judge(measure, found["ours"], peers) + (" (unfinished)" if unfinished else ""),
    }


def _ratio(cost: str, found: dict[str, Score]) -> str:
    if "perceptron" not in found:
        return ""
    return f"{getattr(found['ours'], cost) / max(getattr(found['perceptron'], cost), 1e-4):.2f}"


def judge(measure: str, ours: Score, peers: dict[str, Score]) -> str:
    """Return "level" or "short of ...", with "behind ..." and "slow" where they apply."""
    sign = 1 if measure == "accuracy" else -1
    best = max(peers, key=lambda name: sign * peers[name].mean)
    said, behind = [], []
    for name, peer in peers.items():
        short = sign * (peer.mean - ours.mean)
        noise = max(ours.error, peer.error)
        if name == best:
            said.append("level" if short <= noise else f"short of {PEERS[name]}")
        if short > max(noise, POINTS if measure == "accuracy" else SHARE * peer.mean):
            behind.append(PEERS[name])
    said += [f"behind {', '.join(behind)}"] if behind else []
    slow = "perceptron" in peers and ours.fit > TIMES * peers["perceptron"].fit
    return "; ".join([*said, *(["slow"] if slow else [])])


def summary(lines: Sequence[dict[str, object]]) -> str:
    verdicts = [str(line["verdict"]) for line in lines]
    level, behind, slow = (
        sum(word in verdict for verdict in verdicts) for word in ("level", "behind", "slow")
    )
    return f"level with the best peer in {level} of {len(lines)} lines, behind one in {behind}, slow in {slow}"


def markdown(lines: Sequence[dict[str, object]]) -> str:
    """Return the table in Markdown."""
    rows = [
        list(lines[0]),
        ["---"] * len(lines[0]),
        *([str(value) for value in line.values()] for line in lines),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
