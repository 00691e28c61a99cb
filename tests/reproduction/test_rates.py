"""Scale "medium" takes its learning rates from a search on held-out images, the same for every
loss.
"""

from dataclasses import asdict, replace

import pytest

from hyperproto._core.errors import InputError
from hyperproto._core.files import read_json_lines, write_json_lines
from reproduction.cell import at_scale
from reproduction.experiment import find_experiment
from reproduction.grid import make_grid
from reproduction.rates import SEARCHED, loss_of, score, trials, with_best_rate
from reproduction.records import FORMAT, records_file, write_record
from reproduction.runner import make_plan
from tests.reproduction.helpers import find

LATE = ", clamped only at test"
BEST = {
    "Equation 1": 1,
    "Softmax CE": 0,
    "Cosine softmax": 1,
    "Free norm": 2,
}  # places among the three rates


def search(loss):
    return trials(at_scale(SEARCHED[loss][0], "medium"))


def rates(cell):
    return [trial.run.train.lr for trial in trials(cell)]


@pytest.fixture
def results(tmp_path):
    for loss, best in BEST.items():
        for index, cell in enumerate(search(loss)):
            score = {"class/accuracy": 0.3 if index == best else 0.2}
            known = {
                "format": FORMAT,
                "address": cell.address,
                "cell": asdict(cell),
                "state": "done",
            }
            write_record(tmp_path, "beyond-rates", known | {"measures": score, "protocol": {}})
    return tmp_path


def test_every_loss_has_trials_on_the_same_held_out_images():
    every = [cell for loss in SEARCHED for cell in search(loss)]
    assert len({cell.address for cell in every}) == 4 + 4 + 3 + 3
    assert {
        (cell.run.data.valid_examples, cell.run.train.epochs, cell.scale) for cell in every
    } == {(5_000, 10, "medium")}
    assert all(loss_of(cell) == loss for loss in SEARCHED for cell in search(loss))
    cells = find("beyond-rates").cells("medium")
    assert {cell.address for cell in every} == {
        cell.address for cell in cells if cell.run.data.reader.startswith("cifar")
    }
    assert {(cell.run.data.reader, cell.run.data.valid_examples) for cell in cells} == {
        *(("cifar-100", 5_000), ("omniart", 1_000), ("rotated-mnist", 5_000))
    }


def test_the_best_trial_decides(results):
    for loss, (full, rates) in SEARCHED.items():
        cell = at_scale(full, "medium")
        assert with_best_rate(cell, results).run.train.lr == rates[BEST[loss]]
        assert with_best_rate(cell.but(lr=0.7), results).run.train.lr == 0.7


def test_without_the_search_a_cell_waits_for_it(results, small_places):
    lacking = search("Equation 1")[2]
    path = records_file(results, "beyond-rates")
    write_json_lines(path, [r for r in read_json_lines(path) if r["address"] != lacking.address])
    places = replace(small_places, results=results)
    plan = make_plan(find_experiment("table3"), "medium", places)
    assert {loss_of(cell) for cell in plan.todo} == {"Softmax CE", "Free norm"}
    assert {str(error).partition(" must ")[2] for _, error in plan.skipped} == {
        "hold the search for the learning rate of Equation 1. The same command runs it where its data are here."
    }
    assert make_plan(find_experiment("table3").searches("medium"), "medium", places).todo == (
        lacking,
    )


def test_heads_are_searched_for_every_loss_data_set_and_number_of_dimensions():
    cells = find("beyond-rates").cells("head")
    assert {cell.scale for cell in cells} == {"head"}
    assert {
        cell.run.data.valid_examples for cell in cells if cell.run.data.reader == "cifar-100"
    } == {5_000}
    assert {
        cell.run.data.valid_examples for cell in cells if cell.run.data.reader != "cifar-100"
    } == {1_000}
    assert {cell.seed for cell in cells} == {0}
    asked = [entry.cell for entry in find_experiment("table1").entries("head")]
    searched = {cell.address for cell in cells}
    assert all(trial.address in searched for cell in asked for trial in trials(cell))
    few = next(cell for cell in asked if cell.run.space.dim == 3)
    assert {(trial.run.space.dim, trial.run.space.prototypes) for trial in trials(few)} == {
        (5, "data-driven")
    }
    assert rates(few) == [0.3, 1.0, 3.0, 10.0]
    assert rates(asked[0]) == [0.03, 0.1, 0.3, 1.0]  # softmax
    assert (asked[0].run.train.epochs, trials(asked[0])[0].run.train.epochs) == (10, 5)
    means = [
        entry.cell
        for entry in find_experiment("figure-deepncm").entries("head")
        if "NCM" in entry.row
    ]
    assert len(means) == 3
    assert all(trials(cell) == trials(means[0]) for cell in means)  # one search
    assert rates(means[0]) == rates(asked[0])
    heads = {entry.row: entry.cell for entry in find_experiment("table6").entries("head")}
    two, style = (
        heads[f"Art style (accuracy): MTL baseline{end}"]
        for end in ("", f"{LATE}, this task alone")
    )
    assert (min(rates(two)), min(rates(style))) == (0.001, 0.03)  # squared error bears less
    assert (max(rates(two)), max(rates(style))) == (1.0, 1.0)  # of paintings more are tried
    assert max(rates(heads["Art style (accuracy): This paper"])) == 30.0


def test_a_trial_is_judged_by_accuracy_and_a_year_counts_as_a_point():
    assert score({"class/accuracy": 0.5}) > score({"class/accuracy": 0.4}) > score({})
    assert score({"school/accuracy": 0.51, "year/mae": 41.0}) == pytest.approx(
        score({"school/accuracy": 0.5, "year/mae": 40.0})
    )


@pytest.mark.parametrize(
    ("name", "count"),
    [("table1", 6 * 3), ("table3", 12 * 3), ("table4", 4 * 3 + 2 * 5), ("beyond-long", 4)],
)
def test_cells_have_the_rate_of_their_loss(name, count, results):
    cells = find(name).cells("medium", results)
    assert len(cells) == count
    for cell in cells:
        loss = loss_of(cell)
        assert cell.run.train.lr == SEARCHED[loss][1][BEST[loss]]
        assert cell.run.train.reduction == ("sum" if loss == "Equation 1" else "mean")


def test_tables_share_softmax_and_the_papers_cells(results):
    first, fourth = (find(name).cells("medium", results) for name in ("table1", "table4"))
    assert len({cell.address for cell in first} & {cell.address for cell in fourth}) == 6


def test_a_table_without_cells_of_a_scale_says_so(results):
    with pytest.raises(
        InputError, match='`scale` must be one that table7 has cells of; got "medium"'
    ):
        find_experiment("table7").cells("medium", results)


def test_a_trial_that_diverged_is_not_chosen(results):
    best = search("Softmax CE")[0]
    known = {
        "format": FORMAT,
        "address": best.address,
        "cell": asdict(best),
        "state": "diverged",
        "measures": {},
    }
    write_record(results, "beyond-rates", known | {"protocol": {}})
    cell = at_scale(SEARCHED["Softmax CE"][0], "medium")
    assert with_best_rate(cell, results).run.train.lr != SEARCHED["Softmax CE"][1][0]


def test_two_heads_without_a_weight_take_the_best_on_held_out_images(tmp_path):
    """So that the sphere, which has none, is compared with the best of theirs; no trial is made for
    it alone.
    """
    entries = find_experiment("table6").entries("head")
    (cell,) = {
        entry.cell.address: entry.cell for entry in entries if entry.row.endswith("rate searched")
    }.values()
    late = [entry.cell for entry in entries if entry.row.endswith(f"baseline{LATE}")]
    assert {trial.address for trial in trials(cell)} == {
        trial.address for two in late for trial in trials(two)
    }
    for trial in trials(cell):
        good = (trial.run.train.lr, trial.run.space.task_weight) == (0.03, 0.5)
        known = {
            "format": FORMAT,
            "address": trial.address,
            "cell": asdict(trial),
            "state": "done",
            "protocol": {},
        }
        measures = {"school/accuracy": 0.5 if good else 0.4, "year/mae": 40.0}
        write_record(tmp_path, "beyond-rates", known | {"measures": measures})
    best = with_best_rate(cell, tmp_path)
    assert (best.run.train.lr, best.run.space.task_weight) == (0.03, 0.5)
    weighed = {
        two.run.space.task_weight: with_best_rate(two, tmp_path).run.space.task_weight
        for two in late
    }
    assert weighed == {0.1: 0.1, 0.5: 0.5}
    assert best.address in {with_best_rate(two, tmp_path).address for two in late}


def test_reports_say_where_the_best_rate_is_the_largest_or_smallest(results):
    (note,) = [
        note
        for note in make_grid(find_experiment("table1"), "medium", results).notes
        if "rates" in note
    ]
    assert note.endswith("tried: Equation 1 0.01, Softmax CE 0.01*.")


def test_medium_asks_for_the_paintings_longer_runs_and_rotated_digits():
    """Rows 4 to 6 of the plan: 30 epochs at 48 pixels, 100 epochs with one seed, and 20 epochs of
    all images.
    """
    paintings = {
        entry.row: entry.cell
        for name in ("table5", "table6")
        for entry in find(name).entries("medium")
    }
    assert {
        (cell.run.train.epochs, cell.run.data.image_size)
        for cell in paintings.values()
        if cell.job == "train"
    } == {(30, 48)}
    assert {
        "MSE",
        "This paper",
        f"MSE{LATE}",
        "Constant answer",
        "Creation year (MAE): This paper",
    } <= set(paintings)
    longer = find("beyond-long")
    assert [
        (entry.cell.run.space.dim, entry.cell.run.train.epochs)
        for entry in longer.entries("medium")
    ] == [*((None, 100), (100, 100), (25, 100), (25, 100))]
    assert longer.seeds("medium") == (0,)
    digits = [entry.cell for entry in find_experiment("figure-rotated-mnist").entries("medium")]
    assert {cell.run.train.epochs for cell in digits if cell.job == "train"} == {20}
    assert {cell.run.data.train_examples for cell in digits} == {None}


def test_a_loss_without_a_search_is_answered():
    with pytest.raises(
        InputError, match="`scale` must be one at which a rate of Deep NCM is searched"
    ):
        find_experiment("figure-deepncm").cells("medium")
