"""Scale "medium" takes its learning rates from a search on held-out images, the same for every loss."""

from dataclasses import asdict, replace

import pytest

from hyperproto._core.errors import InputError
from hyperproto.reproduction.cell import FORMAT, write_record
from hyperproto.reproduction.experiment import find_experiment
from hyperproto.reproduction.rates import SEARCHED, loss_of, trials, with_best_rate

BEST = {"Equation 1": 1, "Softmax CE": 0, "Cosine softmax": 2}  # places among the three rates


@pytest.fixture
def results(tmp_path):
    for loss, best in BEST.items():
        for index, cell in enumerate(trials(loss).values()):
            score = {"class/accuracy": 0.3 if index == best else 0.2}
            known = {"format": FORMAT, "address": cell.address, "cell": asdict(cell), "state": "done"}
            write_record(tmp_path, "past-rates", known | {"measures": score, "protocol": {}})
    return tmp_path


def test_every_loss_has_three_trials_on_the_same_held_out_images():
    every = [cell for loss in SEARCHED for cell in trials(loss).values()]
    assert len({cell.address for cell in every}) == 9
    assert {(cell.run.data.valid_examples, cell.run.train.epochs, cell.scale) for cell in every} == {
        (5_000, 10, "medium")
    }
    assert all(loss_of(cell) == loss for loss in SEARCHED for cell in trials(loss).values())
    assert find_experiment("past-rates").cells("medium") == every


def test_the_best_trial_decides(results):
    for loss, (cell, rates) in SEARCHED.items():
        assert with_best_rate(cell.but(lr=None), results).run.train.lr == rates[BEST[loss]]
        assert with_best_rate(cell.but(lr=0.7), results).run.train.lr == 0.7


def test_without_the_search_the_command_is_named(results, tmp_path):
    path = next((results / "cells" / "past-rates").glob(f"{trials('Equation 1')[0.1].address}.json"))
    path.unlink()
    with pytest.raises(
        InputError, match="learning rate of Equation 1; got 2 of 3 trials. Run hyperproto reproduce past-"
    ):
        find_experiment("table3").cells("medium", results)


@pytest.mark.parametrize(("name", "count"), [("table1", 6 * 3), ("table3", 8 * 3), ("table4", 3 * 3 + 2 * 5)])
def test_cells_have_the_rate_of_their_loss(name, count, results):
    cells = find_experiment(name).cells("medium", results)
    assert len(cells) == count
    for cell in cells:
        loss = loss_of(cell)
        assert cell.run.train.lr == SEARCHED[loss][1][BEST[loss]]
        assert cell.run.train.reduction == ("sum" if loss == "Equation 1" else "mean")


def test_tables_share_softmax_and_the_papers_cells(results):
    first, fourth = (find_experiment(name).cells("medium", results) for name in ("table1", "table4"))
    assert len({cell.address for cell in first} & {cell.address for cell in fourth}) == 6


def test_a_table_without_cells_of_a_scale_says_so(results):
    with pytest.raises(InputError, match='`scale` must be one that table7 has cells of; got "medium"'):
        find_experiment("table7").cells("medium", results)


def test_a_trial_that_diverged_is_not_chosen(results):
    (best,) = [cell for rate, cell in trials("Softmax CE").items() if rate == SEARCHED["Softmax CE"][1][0]]
    known = {"format": FORMAT, "address": best.address, "cell": asdict(best), "state": "diverged", "measures": {}}
    write_record(results, "past-rates", known | {"protocol": {}})
    cell = replace(SEARCHED["Softmax CE"][0]).but(lr=None)
    assert with_best_rate(cell, results).run.train.lr != SEARCHED["Softmax CE"][1][0]
