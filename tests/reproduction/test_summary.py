"""Numbers from records: means, spreads, divergence, and verdicts."""

from dataclasses import asdict

import pytest

from hyperproto.reproduction.cell import FORMAT, paper_cell, write_record
from hyperproto.reproduction.experiment import Entry, Experiment, find_experiment
from hyperproto.reproduction.grid import differences, summarize

OURS, THEIRS = paper_cell(dim=3, prototypes="ours"), paper_cell(dim=3, prototypes="one-hot")
ROWS = {"ours": OURS, "theirs": THEIRS}


def make_experiment(measure="class/accuracy"):
    entries = [Entry("ours", "3", OURS, measure), Entry("theirs", "3", THEIRS, measure)]
    return Experiment("own", "Own", lambda scale: entries, compare=("theirs",))


def write(results, cell, value, state="done", measure="class/accuracy"):
    record = {"format": FORMAT, "address": cell.address, "cell": asdict(cell), "state": state, "epochs": []}
    write_record(
        results, "own", record | {"protocol": {"test": 400}, "measures": {measure: value} if state == "done" else {}}
    )


def test_mean_spread_and_difference_are_those_of_the_textbook(tmp_path):
    ours, theirs = [0.5, 0.53, 0.58], [0.4, 0.45, 0.46]
    for seed in range(3):
        write(tmp_path, OURS.but(seed=seed), ours[seed])
        write(tmp_path, THEIRS.but(seed=seed), theirs[seed])
    first, second = summarize(make_experiment(), "full", tmp_path)
    assert first.mean == pytest.approx(53.666666666)
    assert first.std == first.error == pytest.approx(4.0414518843)  # n - 1 below
    assert first.gaps == pytest.approx({0: 10.0, 1: 8.0, 2: 12.0})
    assert (first.against, first.verdict) == ("theirs", "better")
    assert (second.against, second.gaps, second.verdict) == ("", {}, "")


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([0.416, 0.416, 0.416], "better"),
        ([0.384, 0.384, 0.384], "worse"),
        ([0.414, 0.414, 0.414], "cannot be told"),  # all seeds agree, by too little
        ([0.45, 0.45, 0.399], "cannot be told"),  # enough, but one seed says otherwise
        ([0.45, 0.45], ""),  # a seed is not done
    ],
)
def test_a_verdict_needs_every_seed_and_more_than_a_point_and_a_half(ours, verdict, tmp_path):
    for seed in range(3):
        write(tmp_path, THEIRS.but(seed=seed), 0.4)
    for seed, value in enumerate(ours):
        write(tmp_path, OURS.but(seed=seed), value)
    assert summarize(make_experiment(), "full", tmp_path)[0].verdict == verdict


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([0.48] * 5, "better"),  # three times 2.5 points, of 400 test images
        ([0.47] * 5, "cannot be told"),
        ([0.41, 0.45, 0.48, 0.51, 0.55], "cannot be told"),  # the same mean as the first, of seeds that spread
        ([0.3] * 5, "worse"),
    ],
)
def test_of_heads_a_verdict_needs_three_standard_errors(ours, verdict, tmp_path):
    entries = [Entry(row, "3", cell.but(scale="head"), "class/accuracy") for row, cell in ROWS.items()]
    for seed, value in enumerate(ours):
        write(tmp_path, entries[0].cell.with_seed(seed), value)
        write(tmp_path, entries[1].cell.with_seed(seed), 0.4)
    first = summarize(Experiment("own", "Own", lambda scale: entries, compare=("theirs",)), "head", tmp_path)[0]
    assert first.verdict == verdict


@pytest.mark.parametrize(("scale", "measure"), [("cpu", "class/accuracy"), ("full", "year/mae")])
def test_no_verdict_is_given_on_short_runs_or_on_errors(scale, measure, tmp_path):
    entries = [Entry(row, "3", cell.but(scale=scale), measure) for row, cell in ROWS.items()]
    for seed in range(3):
        for entry, value in zip(entries, (0.5, 0.1), strict=True):
            write(tmp_path, entry.cell.but(seed=seed), value, measure=measure)
    first = summarize(Experiment("own", "Own", lambda scale: entries, compare=("theirs",)), scale, tmp_path)[0]
    assert first.verdict == ""
    assert first.difference == pytest.approx(-0.4 if measure == "year/mae" else 40)  # less of an error is better


def test_at_scale_medium_test_images_are_part_of_the_spread(tmp_path):
    cell = OURS.but(scale="medium")
    for seed, value in enumerate((0.5, 0.53, 0.58)):
        write(tmp_path, cell.with_seed(seed), value)
    entry = Entry("ours", "3", cell, "class/accuracy")
    (found,) = summarize(Experiment("own", "Own", lambda scale: [entry]), "medium", tmp_path)
    share = found.mean / 100
    assert found.error == pytest.approx((found.std**2 + 100**2 * share * (1 - share) / 400) ** 0.5)


def test_errors_are_not_shares(tmp_path):
    write(tmp_path, OURS, 12.5, measure="year/mae")
    held = summarize(make_experiment("year/mae"), "full", tmp_path)[0]
    assert held.mean == 12.5
    assert held.std is None


def test_only_seeds_that_both_have_are_paired(tmp_path):
    for seed in (0, 1):
        write(tmp_path, OURS.but(seed=seed), 0.5 + 0.1 * seed)
    for seed in (1, 2):
        write(tmp_path, THEIRS.but(seed=seed), 0.4)
    found = summarize(make_experiment(), "full", tmp_path)[0]
    assert (found.gaps, found.verdict) == ({1: pytest.approx(20.0)}, "")


def test_what_diverged_is_counted_and_not_averaged(tmp_path):
    write(tmp_path, OURS.but(seed=0), 0.5)
    write(tmp_path, OURS.but(seed=1), None, state="diverged")
    held = summarize(make_experiment(), "full", tmp_path)[0]
    assert (held.mean, held.diverged, len(held.values), len(held.records)) == (50.0, 1, 1, 2)


def test_nothing_done_is_nothing(tmp_path):
    held = summarize(make_experiment(), "full", tmp_path)[0]
    assert (held.mean, held.std, held.values, held.diverged) == (None, None, {}, 0)


def test_differences_name_what_the_scale_changes():
    assert differences(find_experiment("table1"), "full") == []
    (line,) = differences(find_experiment("table5"), "cpu")
    assert line.startswith("omniart: ")
    for part in (
        "train examples 3600",
        "image size 24",
        "backbone resnet-8 (paper: resnet-3463)",
        "epochs 8 (paper: 250)",
    ):
        assert part in line
