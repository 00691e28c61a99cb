"""The numbers that documents quote are those of the records and tables in ``results``, each by its
row and column.
"""

import csv
import re
from functools import cache
from pathlib import Path

import pytest

from reproduction.grid import make_grid
from reproduction.reports import read_sections
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
    pages = (RESULTS / "reports").glob("*.md")
    grids = {
        f"{page.stem}-{scale}": make_grid(find(page.stem), scale, RESULTS)
        for page in pages
        for scale in read_sections(page)
    }
    return {
        (stem, *place): (summary.mean, summary.error)
        for stem, grid in grids.items()
        for place, summary in grid.cells.items()
        if summary.mean is not None
    }


def rendered(report, template, found):
    """Return a template with its numbers."""

    def number(match):
        mean, error = found[report, match[1], match[2]]
        return f"{mean:.1f}" + (f" ± {error:.1f}" if match[3] else "")

    return re.sub(r"<([^<>|]+?) \| ([^<>|]+)>(±?)", number, template)


def document(name):
    """Return a document's text, every space alike, without the tables that a command writes."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r"<!-- table: .*?<!-- end -->", "", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", text)


def test_the_page_of_claims_says_what_the_records_say_and_nothing_else():
    found, text = cells(), document("docs/explanation/reproduction.md")
    for sentence in (rendered(report, template, found) for report, template in QUOTES):
        assert sentence in text, sentence
        text = text.replace(sentence, "", 1)
    text = text.replace("the sign ± means", "", 1)
    (year,) = [line for line in benchmark("own_features") if line["data"] == "paintings: year"]
    plain = f"the same features has {year['same network, no sphere']} ("
    assert plain in text
    text = text.replace(plain, "", 1)
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
            shares = [f"{mean / softmax:.3f}" for mean in (means[row], learned)]
            assert all(share in text for share in shares), shares


def test_the_page_has_the_agreement_of_the_report():
    report = (RESULTS / "reports" / "beyond-agreement.md").read_text(encoding="utf-8")
    lines = [line.replace("*", "").replace("  ", " ") for line in report.splitlines()]
    rows = [line.replace("  ", " ") for line in lines if re.search(r"\d\.\d\d \|", line)]
    assert len(rows) == 3
    assert all(row in document("docs/explanation/reproduction.md") for row in rows)


BIRDS_PRIOR = "Free norm, axes of the prior kept"
SHARES = [
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
    told = template.format(f"{share:.2f}")
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
    assert f"at 0.90 one seed has {seeds[0]} years and the other {seeds[1]}" in text


def benchmark(name):
    """Return the lines of a benchmark's table."""
    (path,) = (ROOT / "results").glob(f"{name}-*.csv")
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


SHORT = "beyond-short-runs-cpu"
SOFTMAX = "Softmax CE, 100 outputs"


def test_the_page_of_results_quotes_the_time_of_a_loss():
    times = {(row["batch"], row["ours"]): row["ours, µs"] for row in benchmark("loss")}
    through, alone = (times["1024", ours] for ours in ("Space.loss", "squared_cosine_loss"))
    text = document("docs/explanation/results.md")
    assert f"{through} µs against {alone} at batch 1024" in text


def test_the_page_of_exports_quotes_the_runtime():
    for row in benchmark("runtime"):
        said = "takes {install, MB} MB, torch's {torch's, MB}.".format_map(row)
        assert said in document("docs/how-to/export.md")


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
            assert f"{found['their', dim, 'authors']:.3f}" in text
            assert f"{found['their', dim, 'ours']:.3f}" in text
