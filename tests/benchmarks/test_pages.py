"""Pages have the numbers of ``python -m benchmarks joint`` and ``pretrained``."""

import csv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_measured_numbers():
    (path,) = (ROOT / "results").glob("joint-*.csv")
    page = (ROOT / "docs" / "reference" / "baselines.md").read_text(encoding="utf-8")
    lines = {
        line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("| ")
    }
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["data"] for row in rows} == {
        "mpg",
        "penguins",
        "diamonds",
        "paintings",
        "rotated-mnist",
    }
    for row in rows:
        assert f"| {row['accuracy, %']} % / {row['mean error']} |" in lines[row["data"]], row[
            "space"
        ]


def test_the_page_on_training_has_what_a_folder_of_images_gets():
    (path,) = (ROOT / "results").glob("pretrained-*.csv")
    page = (ROOT / "docs" / "how-to" / "training.md").read_text(encoding="utf-8")
    with path.open(encoding="utf-8", newline="") as file:
        ours, peer = csv.DictReader(file)
    assert f"{ours['test accuracy, %']} % in {ours['seconds']} s on 2 cores" in page
    assert f"have {peer['test accuracy, %']} %" in page
