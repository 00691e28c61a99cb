"""The numbers that documents quote are those of the records and tables in ``results``, each by its
row and column.
"""

import csv
import re
from functools import cache
from pathlib import Path

import pytest

from reproduction.grid import make_grid
from tests.reproduction.helpers import find

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "reproduction"
# what explanation/reproduction.md says, after its report: <row | column> is a mean, <row | column>±
# with its error
QUOTES = [
    line.split(": ", 1)
    for line in Path(__file__).with_name("quotes.txt").read_text("utf-8").splitlines()
]
ROOT_LOSS, RANK = "Root of 1 - cos", "Softmax CE behind D learned dimensions"
YEAR, STYLE = "Creation year (MAE): ", "Art style (accuracy): "


@cache
def cells():
    """Return mean and error of every place of every report, by name, row and column."""
    stems = [path.stem for path in (RESULTS / "reports").glob("*.md")]
    grids = {
        stem: make_grid(find(stem.rsplit("-", 1)[0]), stem.rsplit("-", 1)[1], RESULTS)
        for stem in stems
    }
    return {
        (stem, *place): (summary.mean, summary.error)
        for stem, grid in grids.items()
        for place, summary in grid.cells.items()
        if summary.mean is not None
    }


def rendered(report, template, found):
    """Return a template with its numbers, in the style of the documents: no zero before the point
    of an error.
    """

    def number(match):
        mean, error = found[report, match[1], match[2]]
        return f"{mean:.1f}" + (f" ± {f'{error:.1f}'.removeprefix('0')}" if match[3] else "")

    return re.sub(r"<([^<>|]+?) \| ([^<>|]+)>(±?)", number, template)


def document(name):
    """Return a document's text, every space alike."""
    return re.sub(r"\s+", " ", (ROOT / name).read_text(encoding="utf-8"))


def test_the_page_of_claims_says_what_the_records_say_and_nothing_else():
    found, text = cells(), document("docs/explanation/reproduction.md")
    for sentence in (rendered(report, template, found) for report, template in QUOTES):
        assert sentence in text, sentence
        text = text.replace(sentence, "", 1)
    text = text.replace("the sign ± means", "", 1)
    left = re.findall(r"[^ ]+ ± [^ ]+|\d+\.\d+ (?:%|years|°)", text)
    assert left == ["38.5 %"]  # of the range below


# the default on frozen features, and the share of softmax's accuracy that it must keep
DEFAULTS = {
    "D = 100": ("Free norm", 1.0),
    "D = 25": ("1 - cos", 0.98),
    "D = 10": (ROOT_LOSS, 0.94),
    "D = 5": (ROOT_LOSS, 0.81),
}


def test_the_default_on_frozen_features_keeps_its_share_and_is_near_the_best():
    found, text = cells(), document("docs/explanation/reproduction.md")
    for dim, (row, least) in DEFAULTS.items():
        means = {
            key[1]: mean
            for key, (mean, _) in found.items()
            if key[0] == "beyond-losses-head" and key[2] == dim
        }
        softmax, learned = means.pop(SOFTMAX), means.pop(RANK, None)
        assert means[row] >= least * softmax
        assert means[row] >= max(means.values()) - 1
        if learned is not None:
            shares = [f"{mean / softmax:.3f}".removeprefix("0") for mean in (means[row], learned)]
            assert all(share in text for share in shares), shares


BIRDS_PRIOR = "Free norm, axes of the prior kept"
SHARES = [
    (
        "table1-head",
        "This paper",
        "CIFAR-100 25",
        "Softmax CE (Table 4)",
        "with {} of its accuracy",
    ),
    ("beyond-birds-head", "1 - cos", "D = 50", "Softmax CE, 200 outputs", "D = 50 keeps {} of"),
    (
        "beyond-birds-head",
        BIRDS_PRIOR,
        "D = 50",
        "Softmax CE, 200 outputs",
        "loss, and {} with free",
    ),
]


@pytest.mark.parametrize(("report", "row", "column", "whole", "template"), SHARES)
def test_a_share_of_softmax_is_that_of_the_means(report, row, column, whole, template):
    found = cells()
    share = found[report, row, column][0] / found[report, whole, column][0]
    digits = 3 if "its accuracy" in template else 2
    told = template.format(f"{share:.{digits}f}".removeprefix("0"))
    assert told in document("docs/explanation/reproduction.md")


def test_the_range_of_styles_and_the_two_fates_are_the_records():
    found, text = cells(), document("docs/explanation/reproduction.md")
    rows = [
        f"{STYLE}{row}"
        for row in ("This paper", "MTL baseline", "MTL baseline, clamped only at test")
    ]
    styles = [
        mean
        for (report, row, _), (mean, _) in found.items()
        if report == "table6-cpu" and row in rows
    ]
    assert f"{min(styles):.1f} to {max(styles):.1f} % in these rows" in text
    mean, error = found["table6-cpu", f"{YEAR}MTL baseline", "0.90"]
    seeds = [f"{mean + sign * error / 2**0.5:.0f}" for sign in (-1, 1)]  # of two, from their spread
    assert f"at .90 one seed has {seeds[0]} years and the other {seeds[1]}" in text


def benchmark(name):
    """Return the lines of a benchmark's table."""
    (path,) = (ROOT / "results").glob(f"{name}-*.csv")
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def row_of(name, start):
    """Return the one line of a document's tables that starts so."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(f"| {start}")]
    return line.replace("**", "")


def readme(start):
    return row_of("README.md", start)


SHORT, FIRST, THIRD, SIXTH = ("beyond-short-runs-cpu", "table1-head", "table3-head", "table6-head")
TABLE4, WITHOUT = "Softmax CE (Table 4)", "Hyperspherical prototypes"
HEADS = "MTL baseline, clamped only at test, weight and rate searched"
FREE, SOFTMAX = "Sphere, free norm", "Softmax CE, 100 outputs"
DEFAULT = "Free norm, data-driven prior, its axes kept"


@pytest.mark.parametrize(
    ("start", "report", "column", "rows"),
    [
        ("CIFAR-100, 5 epochs, 3 seeds: D = 100", SHORT, "D = 100", (FREE, SOFTMAX)),
        ("the same at D = 25, a quarter", SHORT, "D = 25", (FREE, SOFTMAX)),
        (
            "paper's Table 1",
            FIRST,
            "CIFAR-100 100",
            ("This paper", "Our placement", "One-hot", "Word2vec", TABLE4),
        ),
        (
            "on frozen features at D = 25, a data",
            THIRD,
            "25",
            ("Our placement, data-driven prior", TABLE4, WITHOUT),
        ),
        (
            "the same from scratch, 30",
            "table1-medium",
            "CIFAR-100 100",
            ("This paper", "Our placement", TABLE4, "One-hot", "Word2vec"),
        ),
        (
            "with the default loss",
            "table4-medium",
            "CIFAR-100, 500 a class",
            ("Our placement, free norm", "Softmax CE"),
        ),
        (
            "from scratch at D = 25",
            "table3-medium",
            "25",
            (DEFAULT, "Our placement, data-driven prior", TABLE4, WITHOUT),
        ),
        (
            "year with style",
            SIXTH,
            "no weight",
            (f"{YEAR}This paper", f"{YEAR}{HEADS}", f"{YEAR}constant answer"),
        ),
    ],
)
def test_readme_quotes_the_records(start, report, column, rows):
    found = cells()
    quoted = re.findall(r"\d+\.\d", readme(start).split("|", 2)[2])
    assert quoted == [f"{found[report, row, column][0]:.1f}" for row in rows]


def test_readme_and_the_page_of_results_quote_the_benchmarks():
    auroc = {
        (row["output space"], row["score"]): row["AUROC"].split()[0]
        for row in benchmark("open_set")
    }
    scored = [
        ("sphere, D = 10 (Eq. 1)", "cosine and length"),
        ("sphere, D = 10, cosine softmax", "cosine and length"),
        ("softmax cross-entropy", "largest probability"),
    ]
    expected = [f"{float(auroc[key]):.1f}" for key in scored]
    assert re.findall(r"\d\d\.\d", readme("unknown digits")) == expected
    energy = f"{float(auroc['softmax cross-entropy', 'energy']):.1f}"
    assert re.findall(r"\d\d\.\d", row_of("docs/explanation/results.md", "unknown inputs")) == [
        *expected,
        energy,
    ]
    faster = {(row["batch"], row["ours"]): row["times faster"] for row in benchmark("loss")}
    quoted = re.findall(r"\d+\.\d+", readme("the loss alone"))
    fused = "squared_cosine_loss"
    assert quoted == [faster["128", fused], faster["128", "Space.loss"], faster["1024", fused]]
    assert re.findall(r"\d+\.\d+", row_of("docs/explanation/results.md", "the fused loss")) == [
        *(
            faster["1024", fused],
            f"{float(faster['4096', fused]):.1f}",
            faster["128", fused],
            faster["128", "Space.loss"],
        )
    ]
    took = {row["ours"]: row["ours, µs"] for row in benchmark("loss") if row["batch"] == "1024"}
    text = document("docs/explanation/results.md")
    assert f"{took['Space.loss']} µs against {took[fused]} at batch 1024" in text
    small = {
        row["ours"]: row["times faster"]
        for row in benchmark("loss")
        if (row["batch"], row["dim"]) == ("128", "25")
    }
    assert (
        f"{small[fused]} times as fast by itself and {small['Space.loss'].lstrip('0')} times through"
        in text
    )
    better = [row["better"] for row in benchmark("authors_prototypes")]
    assert f"better in all {len(better)}" in readme("separation")
    assert set(better) == {"True"}


def test_readme_and_the_page_of_results_quote_a_million_classes():
    found = {row["what"]: row for row in benchmark("million_classes")}
    steps = {what: float(row["ours / theirs"]) for what, row in found.items()}
    nearest = "10 nearest of 1,000,000: outputs {}, threads {}"
    step, linear = (
        f"{steps['squared cosine: a step at K = 1,000,000']:.2f}",
        found[f"{LINEAR}, F = 64"],
    )
    slower = f"{float(linear['theirs']) / float(linear['ours']):.0f}"
    assert re.findall(r"\d\.\d\d|\d{3}(?= times)", readme("time of a step")) == [step, slower]
    assert re.findall(
        r"\d\.\d\d|\d{3}(?= times)", row_of("docs/explanation/results.md", "a step at 1,000,000")
    ) == [
        step,
        slower,
    ]
    expected = [
        f"{steps[nearest.format(*case)]:.1f}" for case in ((1, 1), (128, 1), (128, 2), (1, 2))
    ]
    assert re.findall(r"\d+\.\d", readme("the 10 nearest")) == expected
    assert re.findall(r"\d+\.\d", row_of("docs/explanation/results.md", "the 10 nearest")) == [
        *expected[:2],
        *expected[:1:-1],
    ]


LINEAR = "squared cosine: a step at K = 100,000"


def test_readme_and_the_page_of_results_quote_the_digits():
    plane, sphere, softmax = (f"{float(row['accuracy, %']):.1f}" for row in benchmark("digits"))
    assert re.findall(r"\d\d\.\d", readme("digits, 3 seeds")) == [plane, softmax]
    assert re.findall(r"\d\d\.\d", readme("digits: D = 3")) == [sphere, softmax]
    assert re.findall(r"\d\d\.\d", row_of("docs/explanation/results.md", "digits, held-out")) == [
        plane,
        sphere,
        softmax,
    ]
    rows = [
        [f"{float(row[column].split()[0]):.1f}" for column in ("accuracy, %", "mean error, °")]
        for row in benchmark("rotated_digits")
    ]
    paper, point, heads = rows
    assert re.findall(r"\d+\.\d", readme("rotated digits on S²")) == [*point, *heads]
    assert re.findall(
        r"\d+\.\d", row_of("docs/explanation/results.md", "rotated digits on S²")
    ) == [
        *point,
        *paper,
        *heads,
    ]
    for start, row in zip(
        ("two targets, the paper | 97.", "one point, margin 0.1 | 99.", "two heads, softmax"),
        benchmark("rotated_digits"),
        strict=True,
    ):
        quoted = [row["accuracy, %"], row["mean error, °"]]
        line = row_of("docs/explanation/learning.md", start)
        assert [part.strip() for part in line.split("|")[2:5]] == [
            *(re.sub(r"± 0", "± ", text) for text in quoted),
            row["rate"],
        ]


def test_the_page_of_results_quotes_cifar_100():
    means = {
        row["output space"].partition(" ")[0]: row["test accuracy, mean %"]
        for row in benchmark("cifar100")
    }
    expected = [f"{float(means[name]):.1f}" for name in ("Eq.", "cosine", "softmax")]
    assert (
        re.findall(r"\d\d\.\d", row_of("docs/explanation/results.md", "CIFAR-100 in five epochs"))
        == expected
    )
    found = cells()
    shown = [f"{found[SHORT, FREE, f'D = {dim}'][0]:.1f}" for dim in (100, 25, 10, 5)]
    softmax = f"{found[SHORT, SOFTMAX, 'D = 100'][0]:.1f}"
    assert re.findall(
        r"\d\d\.\d", row_of("docs/explanation/results.md", "the same with normalized")
    ) == [
        *shown,
        softmax,
    ]
    errors = {
        row["output"]: row["ECE"]
        for row in benchmark("calibration")
        if row["fitted"] == "temperature"
    }
    assert re.findall(r"\d\.\d", row_of("docs/explanation/results.md", "expected calibration")) == [
        f"{float(errors[name]):.1f}" for name in ("sphere, D = 10 (Eq. 1)", "softmax cross-entropy")
    ]


def test_the_page_of_exports_quotes_the_runtime():
    rows = benchmark("runtime")
    for row in rows:
        *shown, install, torch_install = row.values()
        line = row_of("docs/how-to/export.md", row["data"])
        assert [part.strip() for part in line.strip("|").split("|")] == shown
        assert f"takes {install} MB, torch's {torch_install}." in document("docs/how-to/export.md")
    assert len(rows) == 2


def test_equation_6_by_dimension_is_as_the_documents_say():
    """By the loss itself the authors' prototypes are better at D = 50 and 100, on their own word
    vectors.
    """
    found = {
        (row["prior"][:5], int(row["D"]), row["prototypes"]): float(row["Eq. 6"])
        for row in benchmark("prior")
        if row["prototypes"] in ("authors", "ours")
    }
    theirs = [
        key[:2] for key in found if key[2] == "authors" and found[key] < found[(*key[:2], "ours")]
    ]
    assert theirs == [("their", 50), ("their", 100)]
    for name in ("results.md", "priors.md"):
        text = (ROOT / "docs" / "explanation" / name).read_text(encoding="utf-8")
        for dim in (50, 100):
            assert f"{found['their', dim, 'authors']:.3f}".lstrip("0") in text
            assert f"{found['their', dim, 'ours']:.3f}".lstrip("0") in text
