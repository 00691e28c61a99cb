"""Numbers from records: means, spreads, divergence, and tests in pairs."""

from dataclasses import asdict

import pytest
from scipy.stats import ttest_rel

from hyperproto.reproduction.cell import FORMAT, paper_cell, write_record
from hyperproto.reproduction.experiment import Entry, Experiment, find_experiment
from hyperproto.reproduction.grid import differences, summarize

OURS, THEIRS = paper_cell(dim=3, prototypes="ours"), paper_cell(dim=3, prototypes="one-hot")


def make_experiment(measure="class/accuracy"):
    entries = [Entry("ours", "3", OURS, measure), Entry("theirs", "3", THEIRS, measure)]
    return Experiment("own", "Own", lambda scale: entries, compare=("theirs",))


def write(results, cell, value, state="done", measure="class/accuracy"):
    record = {"format": FORMAT, "address": cell.address, "cell": asdict(cell), "state": state, "epochs": []}
    write_record(results, "own", record | {"protocol": {}, "measures": {measure: value} if state == "done" else {}})


def test_mean_spread_and_test_are_those_of_the_textbook(tmp_path):
    ours, theirs = [0.5, 0.53, 0.58], [0.4, 0.45, 0.46]
    for seed in range(3):
        write(tmp_path, OURS.but(seed=seed), ours[seed])
        write(tmp_path, THEIRS.but(seed=seed), theirs[seed])
    first, second = summarize(make_experiment(), "full", tmp_path)
    assert first.mean == pytest.approx(53.666666666)
    assert first.std == pytest.approx(4.0414518843)  # n - 1 below
    assert first.p_value == pytest.approx(float(ttest_rel(ours, theirs).pvalue))
    assert first.against == "theirs"
    assert (second.against, second.p_value) == ("", None)


def test_errors_are_not_shares(tmp_path):
    write(tmp_path, OURS, 12.5, measure="year/mae")
    held = summarize(make_experiment("year/mae"), "full", tmp_path)[0]
    assert held.mean == 12.5
    assert held.std is None


def test_only_seeds_that_both_have_are_paired_and_one_is_not_enough(tmp_path):
    for seed in (0, 1):
        write(tmp_path, OURS.but(seed=seed), 0.5 + 0.1 * seed)
    for seed in (1, 2):
        write(tmp_path, THEIRS.but(seed=seed), 0.4)
    assert summarize(make_experiment(), "full", tmp_path)[0].p_value is None


def test_equal_gaps_have_no_p_value(tmp_path):
    for seed in range(3):
        write(tmp_path, OURS.but(seed=seed), 0.5)
        write(tmp_path, THEIRS.but(seed=seed), 0.5)
    assert summarize(make_experiment(), "full", tmp_path)[0].p_value is None


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
