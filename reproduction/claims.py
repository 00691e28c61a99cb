"""What the paper claims, what it prints, and what the records say about it: ``python -m
reproduction.claims`` writes ``claims.json``.

A verdict follows from the comparison by a rule, so that no claim is said to be stronger or weaker
than its data.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from reproduction.experiment import find_experiment
from reproduction.summaries import INCONCLUSIVE, Comparison, Summary, compare, summarize

RESULTS = Path(__file__).parent
PLAIN = {  # by what the claim expects, and what the comparison says
    ("better", "better"): "holds",
    ("better", "worse"): "does not hold: worse",
    ("better", INCONCLUSIVE): "not shown",
    ("level", "better"): "holds, and is ahead",
    ("level", "worse"): "does not hold: worse",
    ("level", INCONCLUSIVE): "not contradicted",
}


@dataclass(frozen=True)
class Pair:
    """Two rows of a report, in one column."""

    table: str
    scale: str
    column: str
    ours: str
    against: str


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and where it is tested.

    Attributes
    ----------
    text : str
        In a few words, with where it is tested.
    expects : {"better", "level"}
        What the paper says of its method against the other.
    printed : tuple of float, optional
        What the paper prints of both.
    tuned : Pair
        Both at the best rate of a search.
    as_printed : Pair, optional
        Both with the paper's settings, where those differ.
    """

    text: str
    expects: Literal["better", "level"]
    printed: tuple[float, float] | None
    tuned: Pair
    as_printed: Pair | None = None


HEAD, SCRATCH = "frozen features", "from scratch"
PAPER, SOFTMAX = "This paper", "Softmax CE (Table 4)"
WITHOUT, WITH = "Hyperspherical prototypes", "w/ privileged info"
AUTHORS_WITH = "Authors' prototypes, w/ privileged info"
WEIGHTED = "w/ privileged info, weight 5"
EVEN, UNEVEN, BIRDS = "CIFAR-100, 500 a class", "CIFAR-100, 2 to 200", "CUB-200, ~30"
SCARCE, BOTH = "CIFAR-100, 10 a class", "CIFAR-100, 2 to 200, test images too"
ALONE = "This paper, this task alone"
BEST = "MTL baseline, clamped only at test, weight and rate searched"
YEAR, STYLE = "Creation year (MAE): ", "Art style (accuracy): "
RATES = Pair(
    "beyond-rates",
    "medium",
    "rate 0.01",
    "cifar-100, Equation 1, D = 100: class/accuracy",
    "cifar-100, Softmax CE: class/accuracy",
)


def _table1(
    text: str, against: str, scale: str, printed: tuple[float, float] | None, dim: int = 100
) -> Claim:
    where = HEAD if scale == "head" else SCRATCH
    pair = Pair("table1", scale, f"CIFAR-100 {dim}", PAPER, against)
    return Claim(f"{text}, D = {dim}; {where}", "better", printed, pair)


def _prior(dim: int, ours: str, what: str, printed: tuple[float, float]) -> Claim:
    pair = Pair("table3", "head", str(dim), ours, WITHOUT)
    text = f"privileged information helps, {what}, D = {dim}; {HEAD}"
    return Claim(text, "better", printed, pair)


PRIVILEGED = {3: (11.5, 5.5), 5: (37.0, 28.7), 10: (57.0, 51.1), 25: (64.0, 63.0)}
CLAIMS: tuple[Claim, ...] = (
    Claim(
        f"equal to softmax on even data; {SCRATCH}",
        "level",
        (65.0, 64.4),
        Pair("table4", "medium", EVEN, PAPER, "Softmax CE"),
        RATES,
    ),
    Claim(
        f"equal to softmax on even data; {HEAD}",
        "level",
        (65.0, 64.4),
        Pair("table4", "head", EVEN, PAPER, "Softmax CE"),
    ),
    Claim(
        f"better than softmax on uneven data, even test images; {SCRATCH}",
        "better",
        (46.4, 44.2),
        Pair("table4", "medium", UNEVEN, PAPER, "Softmax CE"),
    ),
    Claim(
        f"better than softmax on uneven data, even test images; {HEAD}",
        "better",
        (46.4, 44.2),
        Pair("table4", "head", UNEVEN, PAPER, "Softmax CE"),
    ),
    Claim(
        f"better than softmax on uneven data, uneven test images; {HEAD}",
        "better",
        (46.4, 44.2),
        Pair("table4", "head", BOTH, PAPER, "Softmax CE"),
    ),
    Claim(
        f"better than softmax on few images, CUB; {HEAD}",
        "better",
        (47.3, 43.1),
        Pair("table4", "head", BIRDS, PAPER, "Softmax CE"),
    ),
    Claim(
        f"better than softmax on few images, 10 of a class of CIFAR-100; {HEAD}",
        "better",
        None,
        Pair("table4", "head", SCARCE, PAPER, "Softmax CE"),
    ),
    _table1("better than one-hot prototypes", "One-hot", "medium", (65.0, 62.1)),
    _table1("better than one-hot prototypes", "One-hot", "head", (65.0, 62.1)),
    _table1("better than word2vec prototypes", "Word2vec", "medium", (65.0, 57.6)),
    _table1("better than word2vec prototypes", "Word2vec", "head", (65.0, 57.6)),
    _table1("better than word2vec prototypes", "Word2vec", "head", (63.0, 44.5), 25),
    _table1("better than word2vec prototypes", "Word2vec", "head", (51.1, 29.0), 10),
    Claim(
        f"a quarter of the dimensions suffices, against softmax; {SCRATCH}",
        "level",
        (63.0, 64.4),
        Pair("table3", "medium", "25", WITHOUT, SOFTMAX),
    ),
    Claim(
        f"a quarter of the dimensions suffices, against softmax; {HEAD}",
        "level",
        (63.0, 64.4),
        Pair("table3", "head", "25", WITHOUT, SOFTMAX),
    ),
    *(_prior(dim, WITH, "the printed sum", both) for dim, both in PRIVILEGED.items()),
    *(_prior(dim, AUTHORS_WITH, "the authors' files", both) for dim, both in PRIVILEGED.items()),
    *(
        Claim(
            f"better than Deep NCM, {kind}; {HEAD}",
            "better",
            None,
            Pair("figure-deepncm", "head", "last epoch", PAPER, row),
        )
        for kind, row in {
            "mean condensation": "Deep NCM, mean condensation",
            "mean decay": "Deep NCM, mean decay",
            "online means": "Deep NCM, online means",
        }.items()
    ),
    Claim(
        f"regression beats squared error as searched here, S¹; {HEAD}",
        "better",
        (76.3, 110.3),
        Pair("table5", "head", "S1", PAPER, "MSE, clamped only at test"),
        Pair("table5", "head", "S1", PAPER, "MSE"),
    ),
    Claim(
        f"regression beats squared error as searched here, S²; {HEAD}",
        "better",
        (73.2, 109.9),
        Pair("table5", "head", "S2", PAPER, "MSE, clamped only at test"),
        Pair("table5", "head", "S2", PAPER, "MSE"),
    ),
    *(
        Claim(
            f"regression beats {row[0].lower()}{row[1:]}, decay and epochs searched for both, S²; {HEAD}",
            "better",
            None,
            Pair(
                "table5",
                "head",
                "S2",
                f"{PAPER}, decay and epochs searched",
                f"{row}, decay and epochs searched",
            ),
        )
        for row in ("Squared error, averaged", "Absolute error, averaged")
    ),
    Claim(
        f"the joint space beats a multi-task network as searched here, year; {HEAD}",
        "better",
        (64.1, 348.5),
        Pair("table6", "head", "no weight", YEAR + PAPER, YEAR + BEST),
    ),
    Claim(
        f"the joint space beats a multi-task network as searched here, style; {HEAD}",
        "better",
        (54.5, 49.5),
        Pair("table6", "head", "no weight", STYLE + PAPER, STYLE + BEST),
    ),
    Claim(
        f"the style helps the year; {HEAD}",
        "better",
        None,
        Pair("table6", "head", "no weight", YEAR + PAPER, YEAR + ALONE),
    ),
)


@cache
def _summaries(table: str, scale: str) -> dict[tuple[str, str], Summary]:
    found = summarize(find_experiment(table), scale, RESULTS)
    return {(one.entry.row, one.entry.column): one for one in found}


def look_up(pair: Pair) -> Comparison:
    """Return how the first row compares with the second, and both in it."""
    found = _summaries(pair.table, pair.scale)
    return compare(found[pair.ours, pair.column], found[pair.against, pair.column])


def plain_verdict(claim: Claim) -> str:
    """Return what the tuned comparison says about the claim."""
    found = look_up(claim.tuned)
    if found.difference is None:
        return "not run"
    return PLAIN.get((claim.expects, found.verdict), found.verdict or "no verdict")


def to_record(claim: Claim) -> dict[str, Any]:
    """Return a claim with its verdict and the addresses of the records behind it."""
    made: dict[str, Any] = {"claim": claim.text, "verdict": plain_verdict(claim)}
    made["printed"] = claim.printed
    for name, pair in (("as_printed", claim.as_printed), ("tuned", claim.tuned)):
        if pair is not None:
            made[name] = _evidence(pair)
    return made


def _evidence(pair: Pair) -> dict[str, Any]:
    found, ours = look_up(pair), _summaries(pair.table, pair.scale)[pair.ours, pair.column]
    both = (ours, found.against)
    digits = [None if one.mean is None else round(one.mean, 3) for one in both]
    return {
        **vars(pair),
        "means": digits,
        "difference": None if found.difference is None else round(found.difference, 3),
        "interval": None if found.interval is None else [round(end, 3) for end in found.interval],
        "comparison": found.verdict,
        "seeds": len(found.gaps),
        "records": [[record["address"] for record in one.records.values()] for one in both],
    }


def to_table(claims: Sequence[Claim] = CLAIMS) -> str:
    """Return the table of claims in Markdown."""
    lines = [
        "| the paper's claim; where | printed | as printed | tuned | difference, tuned | verdict |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for claim in claims:
        found = look_up(claim.tuned)
        cells = (
            claim.text,
            "" if claim.printed is None else "{:.1f} and {:.1f}".format(*claim.printed),
            "" if claim.as_printed is None else _means(claim.as_printed),
            _means(claim.tuned),
            _difference(found),
            plain_verdict(claim),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _means(pair: Pair) -> str:
    ours = _summaries(pair.table, pair.scale)[pair.ours, pair.column]
    means = [one.mean for one in (ours, look_up(pair).against)]
    return " and ".join("not run" if mean is None else f"{mean:.1f}" for mean in means)


def _difference(found: Comparison) -> str:
    if found.difference is None:
        return ""
    between = found.interval
    told = "" if between is None else f" ({between[0]:+.1f} to {between[1]:+.1f})"
    return f"{found.difference:+.1f}{told}"


if __name__ == "__main__":
    text = json.dumps([to_record(claim) for claim in CLAIMS], indent=1, ensure_ascii=False)
    (RESULTS / "claims.json").write_text(text + "\n", encoding="utf-8")
