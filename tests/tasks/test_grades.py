import numpy as np
import pytest
import torch
from sklearn.metrics import cohen_kappa_score

import hyperproto as hp
from hyperproto._core.errors import InputError
from hyperproto.tasks import task_from_dict
from hyperproto.tasks.grades import Grades, arc

NAMES = ["poor", "fair", "good", "great", "superb"]


@pytest.mark.parametrize("num_classes", [2, 3, 7])
def test_cosines_fall_with_the_distance_in_ranks(num_classes):
    vectors = hp.Space(8, hp.Grades(num_classes)).prototypes.vectors
    ranks = torch.arange(num_classes, dtype=torch.float64)
    expected = 1 - 2 * (ranks - ranks[:, None]).abs() / (num_classes - 1)
    torch.testing.assert_close(vectors @ vectors.T, expected)


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_in_few_axes_the_nearest_are_the_neighbors(dim):
    vectors = arc(9, dim)
    cosines = vectors @ vectors.T
    assert vectors.shape == (9, dim)
    for k in range(1, 8):
        assert {*np.argsort(-cosines[k])[1:3]} == {k - 1, k + 1}
    np.testing.assert_allclose(cosines[0, -1], cosines[0].min())


def test_the_prediction_has_the_least_expected_error_in_ranks():
    space = hp.Space(4, hp.Grades(5))
    z = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
    shares, ranks = space.probabilities(z), torch.arange(5)
    expected = shares @ (ranks[:, None] - ranks).abs().float()
    chosen = expected.gather(1, space.predict(z)[:, None])
    torch.testing.assert_close(chosen, expected.amin(dim=1, keepdim=True))
    assert (space.predict(z) != shares.argmax(dim=1)).any()


@pytest.mark.parametrize("loss", ["auto", "paper"])
def test_an_output_at_a_prototype_means_its_grade(loss):
    space = hp.Space(4, hp.Grades(NAMES, loss=loss))
    found = space.predict(20 * space.prototypes.vectors.float())
    assert space.decode(found) == NAMES


def test_measures_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    labels, told = rng.integers(0, 5, 100), rng.integers(0, 5, 100)
    both = torch.tensor(told), torch.tensor(np.append(labels[:-1], -1))
    task = hp.Grades(5)
    kappa = cohen_kappa_score(labels[:-1], told[:-1], weights="quadratic")
    assert task.whole_metrics(*both) == {"kappa": pytest.approx(kappa)}
    total, count = task.terms(*both)["rank_error"]
    assert total / count == pytest.approx(np.abs(labels - told)[:-1].mean())
    assert count == 99


def test_the_baseline_is_the_median_grade():
    labels = torch.tensor([0, 4, 3, 3, -1, 4])
    assert hp.Grades(5).baseline(labels).tolist() == [3] * 6


def test_numbers_are_in_order_and_words_must_be_put_in_it():
    assert Grades.fit(["10", "9", "8", "10"]).names == ("8", "9", "10")
    options = Grades.read_option("low, high")
    assert Grades.fit(["high", "low"], **options).names == ("low", "high")
    with pytest.raises(InputError) as caught:
        Grades.fit(["high", "low"], "quality")
    assert caught.value.argument == "quality"


def test_grades_come_back_from_plain_values():
    task = hp.Space(4, hp.Grades(NAMES)).tasks["target"]
    again = task_from_dict(task.to_dict())
    assert type(again) is Grades
    assert again.to_dict() == task.to_dict()
