"""The numbers that documents quote are those of the records and tables in ``results``."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "results" / "reports"


def cells():
    """Return mean and spread of every place of every report, by name, row and column."""
    found = {}
    for path in sorted(REPORTS.glob("*.csv")):
        with path.open(encoding="utf-8") as file:
            for line in csv.DictReader(file):
                if line["mean"]:
                    std = float(line["std"]) if line["std"] else None
                    found[path.stem, line["row"], line["column"]] = (float(line["mean"]), std)
    return found


def benchmark(name):
    """Return the lines of a benchmark's table."""
    (path,) = (ROOT / "results").glob(f"{name}-*.csv")
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def readme(start):
    """Return the one line of README's table that starts so."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(f"| {start}")]
    return line.replace("**", "")


def test_every_mean_with_a_spread_in_the_page_of_claims_is_a_records():
    known = {(f"{mean:.1f}", f"{std:.1f}") for mean, std in cells().values() if std is not None}
    text = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    quoted = re.findall(r"(\d*\.\d) ± (\d*\.\d)", text)
    assert len(quoted) > 60
    strange = [pair for pair in quoted if tuple(f"{float(value):.1f}" for value in pair) not in known]
    assert strange == []


SHORT, FIRST, SIXTH = ("past-short-runs-cpu", "table1-cpu", "table6-cpu")
FREE, SOFTMAX = "Sphere, free norm", "Softmax CE, 100 outputs"
YEARS = "Creation year (MAE): {}"


@pytest.mark.parametrize(
    ("start", "report", "column", "rows"),
    [
        ("CIFAR-100, 5 epochs, 3 seeds: D = 100", SHORT, "D = 100", (FREE, SOFTMAX)),
        ("the same at D = 25, a quarter", SHORT, "D = 25", (FREE, SOFTMAX)),
        ("paper's Table 1", FIRST, "CIFAR-100 100", ("Our placement", "Authors' prototypes", "One-hot", "Word2vec")),
        ("the same at D = 25 |", FIRST, "CIFAR-100 25", ("Our placement", "This paper", "Word2vec")),
        ("year with style", SIXTH, "no weight", (YEARS.format("This paper"), YEARS.format("constant answer"))),
    ],
)
def test_readme_quotes_the_records(start, report, column, rows):
    found = cells()
    quoted = re.findall(r"\d+\.\d", readme(start).split("|", 2)[2])
    assert quoted == [f"{found[report, row, column][0]:.1f}" for row in rows]


def test_readme_quotes_the_benchmarks():
    auroc = {(row["output space"], row["score"]): row["AUROC"].split()[0] for row in benchmark("open_set")}
    scored = [
        ("sphere, D = 10 (Eq. 1)", "cosine and length"),
        ("sphere, D = 10, cosine softmax", "cosine and length"),
    ]
    expected = [f"{float(auroc[key]):.1f}" for key in (*scored, ("softmax cross-entropy", "largest probability"))]
    assert re.findall(r"\d\d\.\d", readme("unknown digits")) == expected
    faster = {(row["batch"], row["ours"]): row["times faster"] for row in benchmark("loss")}
    quoted = re.findall(r"\d\.\d+", readme("the loss alone"))
    fused = "squared_cosine_loss"
    assert quoted == [faster["128", fused], faster["128", "Space.loss"], faster["1024", fused]]
    better = [row["better"] for row in benchmark("authors_prototypes")]
    assert f"better in all {len(better)}" in readme("separation")
    assert set(better) == {"True"}
    steps = {row["what"]: float(row["ours / theirs"]) for row in benchmark("million_classes")}
    nearest = "10 nearest of 1,000,000: outputs {}, threads {}"
    assert f"{steps['squared cosine: a step at K = 1,000,000']:.2f}" in readme("time of a step")
    expected = [f"{steps[nearest.format(*case)]:.1f}" for case in ((1, 1), (128, 1), (128, 2), (1, 2))]
    assert re.findall(r"\d\.\d", readme("the 10 nearest")) == expected


def test_equation_6_by_dimension_is_as_the_documents_say():
    """By the loss itself the authors' prototypes are better at D = 50 and 100, on their own word vectors."""
    found = {
        (row["prior"][:5], int(row["D"]), row["prototypes"]): float(row["Eq. 6"])
        for row in benchmark("prior")
        if row["prototypes"] in ("authors", "ours")
    }
    theirs = [key[:2] for key in found if key[2] == "authors" and found[key] < found[(*key[:2], "ours")]]
    assert theirs == [("their", 50), ("their", 100)]
    for name in ("results.md", "priors.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        for dim in (50, 100):
            assert f"{found['their', dim, 'authors']:.3f}".lstrip("0") in text
            assert f"{found['their', dim, 'ours']:.3f}".lstrip("0") in text
