"""Numbers from records: means, spreads, divergence, and verdicts."""

import csv
from dataclasses import asdict

import numpy as np
import pytest

from reproduction.cell import paper_cell
from reproduction.experiment import Entry, Experiment, find_experiment
from reproduction.grid import differences, make_grid, told
from reproduction.records import FORMAT, pack, write_record
from reproduction.reports import to_csv
from reproduction.summaries import paired_interval, summarize

OURS, THEIRS = paper_cell(dim=3, prototypes="ours"), paper_cell(dim=3, prototypes="one-hot")
ROWS = {"ours": OURS, "theirs": THEIRS}


def make_experiment(measure="class/accuracy"):
    entries = [Entry("ours", "3", OURS, measure), Entry("theirs", "3", THEIRS, measure)]
    return Experiment("own", "Own", lambda scale: entries, compare=("theirs",))


def verdicts(summary):
    return [made.verdict for made in summary.comparisons]


def write(results, cell, value, state="done", measure="class/accuracy", spread=None):
    record = {
        "format": FORMAT,
        "address": cell.address,
        "cell": asdict(cell),
        "state": state,
        "epochs": [],
    }
    measures = {measure: value, f"{measure}_std": spread} if state == "done" else {}
    write_record(results, "own", record | {"protocol": {"test": 400}, "measures": measures})


def test_mean_spread_and_difference_are_those_of_the_textbook(tmp_path):
    ours, theirs = [0.5, 0.53, 0.58], [0.4, 0.45, 0.46]
    for seed in range(3):
        write(tmp_path, OURS.but(seed=seed), ours[seed])
        write(tmp_path, THEIRS.but(seed=seed), theirs[seed])
    first, second = summarize(make_experiment(), "full", tmp_path)
    assert first.mean == pytest.approx(53.666666666)
    assert first.std == first.error == pytest.approx(4.0414518843)  # n - 1 below
    (compared,) = first.comparisons
    assert compared.gaps == pytest.approx({0: 10.0, 1: 8.0, 2: 12.0})
    assert (compared.against.entry.row, compared.verdict) == ("theirs", "better")
    assert second.comparisons == ()


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([0.4151, 0.4151, 0.4151], "better"),
        ([0.3849, 0.3849, 0.3849], "worse"),
        ([0.4149, 0.4149, 0.4149], "inconclusive"),  # all seeds agree, by too little
        ([0.45, 0.45, 0.399], "inconclusive"),  # enough, but one seed says otherwise
        ([0.45, 0.45], ""),  # a seed is not done
    ],
)
def test_a_verdict_needs_every_seed_and_more_than_a_point_and_a_half(ours, verdict, tmp_path):
    for seed in range(3):
        write(tmp_path, THEIRS.but(seed=seed), 0.4)
    for seed, value in enumerate(ours):
        write(tmp_path, OURS.but(seed=seed), value)
    assert verdicts(summarize(make_experiment(), "full", tmp_path)[0]) == [verdict]


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([0.475] * 5, "better"),  # three times 2.4969 points, of 400 test images
        ([0.4748] * 5, "inconclusive"),
        (
            [0.41, 0.45, 0.48, 0.51, 0.55],
            "inconclusive",
        ),  # the same mean as the first, of seeds that spread
        ([0.3] * 5, "worse"),
    ],
)
def test_of_heads_a_verdict_needs_three_standard_errors(ours, verdict, tmp_path):
    entries = [
        Entry(row, "3", cell.but(scale="head"), "class/accuracy") for row, cell in ROWS.items()
    ]
    for seed, value in enumerate(ours):
        write(tmp_path, entries[0].cell.with_seed(seed), value)
        write(tmp_path, entries[1].cell.with_seed(seed), 0.4)
    first = summarize(
        Experiment("own", "Own", lambda scale: entries, compare=("theirs",)), "head", tmp_path
    )[0]
    assert verdicts(first) == [verdict]


@pytest.mark.parametrize("made_for", ["cpu", "full"])
def test_no_verdict_is_given_at_scale_cpu(made_for, tmp_path):
    """Whatever scale its cells are of: those of short runs are of the paper's images."""
    entries = [
        Entry(row, "3", cell.but(scale=made_for), "class/accuracy") for row, cell in ROWS.items()
    ]
    for seed in range(3):
        for entry, value in zip(entries, (0.5, 0.1), strict=True):
            write(tmp_path, entry.cell.but(seed=seed), value)
    experiment = Experiment("own", "Own", lambda scale: entries, num_seeds=3, compare=("theirs",))
    (compared,) = summarize(experiment, "cpu", tmp_path)[0].comparisons
    assert compared.verdict == ""
    assert compared.difference == pytest.approx(40)


@pytest.mark.parametrize(
    ("ours", "spread", "verdict"),
    [
        (40.0, 30.0, "better"),  # by 5 years: three standard errors of 30 / 20 are 4.5
        (40.0, 34.0, "inconclusive"),
        (50.0, 30.0, "worse"),
        (40.0, None, ""),  # records that do not say how errors vary
    ],
)
@pytest.mark.parametrize("scale", ["full", "head"])
def test_an_error_is_judged_by_three_standard_errors(scale, ours, spread, verdict, tmp_path):
    entries = [Entry(row, "3", cell.but(scale=scale), "year/mae") for row, cell in ROWS.items()]
    for seed in range(5):
        write(tmp_path, entries[0].cell.with_seed(seed), ours, measure="year/mae", spread=spread)
        write(tmp_path, entries[1].cell.with_seed(seed), 45.0, measure="year/mae", spread=30.0)
    experiment = Experiment("own", "Own", lambda scale: entries, compare=("theirs",))
    first, second = summarize(experiment, scale, tmp_path)
    assert verdicts(first) == [verdict]
    assert first.comparisons[0].difference == 45 - ours  # less of an error is better
    if scale == "head":
        assert second.error == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        (44.0, 60.0, "neither beats the constant answer"),
        (60.0, 44.0, "neither beats the constant answer"),
        (40.0, 60.0, "better"),
        (60.0, 40.0, "worse"),
    ],
)
def test_no_verdict_unless_one_beats_the_constant_answer(ours, theirs, verdict, tmp_path):
    entries = [Entry(row, "3", cell.but(scale="head"), "year/mae") for row, cell in ROWS.items()]
    constant = Entry("Constant answer", "3", OURS.but(job="constant"), "year/mae", num_seeds=1)
    write(tmp_path, constant.cell, 43.8, measure="year/mae", spread=30.0)
    for seed in range(5):
        for entry, value in zip(entries, (ours, theirs), strict=True):
            write(tmp_path, entry.cell.with_seed(seed), value, measure="year/mae", spread=30.0)
    experiment = Experiment("own", "Own", lambda scale: [*entries, constant], compare=("theirs",))
    first, _, last = summarize(experiment, "head", tmp_path)
    assert verdicts(first) == [verdict]
    assert verdicts(last) == [""]


def test_a_row_is_compared_with_every_row_that_its_table_names(tmp_path):
    third = THEIRS.but(dim=4)
    entries = [
        Entry(row, "3", cell, "class/accuracy") for row, cell in (ROWS | {"third": third}).items()
    ]
    for seed in range(3):
        for entry, value in zip(entries, (0.5, 0.4, 0.6), strict=True):
            write(tmp_path, entry.cell.but(seed=seed), value)
    experiment = Experiment("own", "Own", lambda scale: entries, compare=("theirs", "third"))
    assert [verdicts(summary) for summary in summarize(experiment, "full", tmp_path)] == [
        ["better", "worse"],
        ["worse"],
        ["better"],
    ]
    (line,) = list(csv.DictReader(to_csv(make_grid(experiment, "full", tmp_path)).splitlines()))[:1]
    assert (line["against"], line["verdict"]) == ("theirs; third", "better; worse")
    assert [float(gap) for gap in line["difference"].split("; ")] == pytest.approx([10, -10])


def test_at_scale_medium_test_images_are_part_of_the_spread(tmp_path):
    cell = OURS.but(scale="medium")
    for seed, value in enumerate((0.5, 0.53, 0.58)):
        write(tmp_path, cell.with_seed(seed), value)
    entry = Entry("ours", "3", cell, "class/accuracy")
    experiment = Experiment("own", "Own", lambda scale: [entry])
    (found,) = summarize(experiment, "medium", tmp_path)
    share = found.mean / 100
    line = next(csv.DictReader(to_csv(make_grid(experiment, "medium", tmp_path)).splitlines()))
    assert (float(line["std"]), float(line["error"])) == (found.std, found.error)
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
    (compared,) = found.comparisons
    assert (compared.gaps, compared.verdict) == ({1: pytest.approx(20.0)}, "")


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
        "train examples at most 3600",
        "image size 24",
        "backbone resnet-8 (paper: resnet-3463)",
        "epochs 8 (paper: 250)",
    ):
        assert part in line


def test_an_interval_holds_the_difference_nineteen_times_of_twenty():
    """Over seeds, over test images, or over both, whatever varies more."""
    rng = np.random.default_rng(0)
    for seed_spread, image_spread in ((0.05, 0.0), (0.0, 1.0), (0.03, 1.0)):
        held = 0
        for _ in range(400):
            gaps = rng.normal(0.2, 1, (5, 300)) + rng.normal(0, seed_spread, (5, 1))
            low, high = paired_interval(gaps + rng.normal(0, image_spread, 300))
            held += low <= 0.2 <= high
        assert 0.92 <= held / 400 <= 0.995


def test_an_interval_of_many_seeds_is_that_of_a_bootstrap_over_seeds_and_images():
    rng = np.random.default_rng(0)
    gaps = rng.normal(0, 1, (60, 60)) + rng.normal(0, 1, (60, 1)) + rng.normal(0, 1, 60)
    means = [
        gaps[np.ix_(rng.integers(60, size=60), rng.integers(60, size=60))].mean()
        for _ in range(2_000)
    ]
    low, high = paired_interval(gaps)
    drawn = np.quantile(means, (0.025, 0.975))
    assert high - low == pytest.approx(drawn[1] - drawn[0], rel=0.15)


@pytest.mark.parametrize(
    ("better_on", "verdict"), [(30, "better"), (0, "inconclusive"), (-30, "worse")]
)
@pytest.mark.parametrize("measure", ["class/accuracy", "year/mae"])
def test_a_verdict_is_by_pairs_of_images_where_they_are_stored(
    measure, better_on, verdict, tmp_path
):
    """Their means are nearer than the old rule can tell apart."""
    entries = [Entry(row, "3", cell.but(scale="head"), measure) for row, cell in ROWS.items()]
    rng = np.random.default_rng(0)
    for seed in range(5):
        theirs = rng.random(400) < 0.6
        ours = theirs.copy()
        ours ^= rng.random(400) < 0.1  # as often better as worse
        changed = rng.choice(np.flatnonzero(ours == (better_on < 0)), abs(better_on), replace=False)
        ours[changed] = better_on > 0
        for entry, right in zip(entries, (ours, theirs), strict=True):
            found = right if entry.percent else 1.0 - right
            record = {"state": "done", "epochs": [], "protocol": {"test": 400}, "format": FORMAT}
            cell = entry.cell.with_seed(seed)
            record |= {"measures": {measure: found.mean()}, "outcomes": {measure: pack(found)}}
            write_record(tmp_path, "own", record | {"address": cell.address, "cell": asdict(cell)})
    experiment = Experiment("own", "Own", lambda scale: entries, compare=("theirs",))
    (compared,) = summarize(experiment, "head", tmp_path)[0].comparisons
    assert compared.verdict == verdict
    low, high = compared.interval
    assert low < compared.difference < high
    assert f"; {low:+.1f} to {high:+.1f}" in told(compared)
