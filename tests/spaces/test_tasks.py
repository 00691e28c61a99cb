import math

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

from hyperproto import Classes, Prototypes, Range, Space, place
from hyperproto._core.errors import InputError
from hyperproto.losses import CosineSoftmax
from hyperproto.tasks import task_from_dict


def test_classes_from_a_count_names_or_prototypes():
    assert (Classes(3).num_classes, Classes(3).names) == (3, None)
    assert (Classes(["a", "b"]).num_classes, Classes(["a", "b"]).names) == (2, ("a", "b"))
    held = Classes(place(["a", "b", "c"], 2))
    assert (held.num_classes, held.names) == (3, ("a", "b", "c"))


def test_names_and_ids_translate_both_ways():
    task = Classes(["cat", "dog"])
    assert task.encode(["dog", None, "cat"]).tolist() == [1, -1, 0]
    assert task.decode(np.array([1, -1, 0])).tolist() == ["dog", None, "cat"]
    assert Classes(3).decode(np.array([2])).tolist() == [2]
    with pytest.raises(InputError) as refused:
        task.encode(["dgo"])
    assert refused.value.got == '"dgo" (1 unseen in 1 of 1 rows)'
    assert 'Did you mean "dog"?' in refused.value.advice
    assert task.encode(["dgo", "cat"], unseen="missing").tolist() == [-1, 0]
    with pytest.raises(InputError):
        Classes(3).encode(["cat"])


@pytest.mark.parametrize(
    "values",
    [
        np.array(["b", "a"]),
        np.array(["b", "a"], dtype=object),
        np.array([3, -1], dtype=np.int16),
        np.array([0.5, -1.0]),
        np.array([True, False]),
        np.array(["2001-01-01", "1999-01-01"], dtype="datetime64[D]"),
    ],
)
def test_classes_come_back_in_the_dtype_they_had(values):
    task = Classes.fit(values)
    assert task.values.dtype == values.dtype
    assert np.array_equal(task.decode(task.encode(values)), values)
    assert Classes.fit(["b", "a", None]).values.dtype.kind == "U"  # as cells of a table


def test_labels_that_are_no_classes_get_a_sentence():
    with pytest.raises(InputError, match="one class") as refused:
        Classes.fit(np.zeros(3))
    assert refused.value.argument == "y"
    with pytest.raises(TypeError) as mixed:
        Classes.fit(np.array(["a", 1], dtype=object))
    assert mixed.value.got == ["int", "str"]
    with pytest.raises(InputError) as short:
        Classes(3, labels=np.array([1, 2]))
    assert short.value.argument == "labels"


def test_bad_classes_get_a_sentence():
    with pytest.raises(ValueError, match='Unknown loss "squared"'):
        Classes(3, loss="squared")
    with pytest.raises(TypeError, match="`loss` must be one of hp.losses.SquaredCosine"):
        Classes(3, loss=torch.nn.MSELoss())
    with pytest.raises(ValueError, match="`weight` must be finite and greater than 0; got 0"):
        Classes(3, weight=0)
    with pytest.raises(
        ValueError, match="`class_weight` must have 3 weights, one per class; got 2"
    ):
        Classes(3, class_weight=[1, 2])
    with pytest.raises(ValueError, match="`class_weight` must be finite and at least 0; got -2"):
        Classes(2, class_weight=[1, -2])


def test_a_task_keeps_what_it_was_given():
    names = ["a", "b", "c"]
    task = Classes(names, class_weight=torch.tensor([1.0, 2.0, 3.0]))
    names.append("d")
    assert task.num_classes == 3
    assert task.class_weight == (1.0, 2.0, 3.0)
    assert Classes(np.array(["x", "y"])).names == ("x", "y")


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_labels_of_any_integer_dtype_pass(dtype):
    Classes(3).check(torch.tensor([0, 1, 2], dtype=dtype), "y")


def test_ids_that_are_no_class_are_not_decoded():
    with pytest.raises(ValueError, match=r"got -2 in row 0"):
        Space(2, Classes(["a", "b"])).decode(torch.tensor([-2]))


def test_range_maps_bounds_to_poles_and_the_middle_to_the_equator():
    cosines = Range(1500, 1900).to_cosine(torch.tensor([1500.0, 1700.0, 1900.0]))
    assert cosines.tolist() == [-1, 0, 1]
    assert Range(1500, 1900).to_cosine(torch.tensor([1500, 1700])).tolist() == [-1, 0]


def test_margin_keeps_targets_away_from_the_poles():
    task = Range(0, 10, margin=0.1)
    assert task.to_cosine(torch.tensor([0.0, 5.0, 10.0])).tolist() == pytest.approx([-0.9, 0, 0.9])
    cosines = torch.tensor([-1.0, -0.9, 0.0, 0.9, 1.0])
    assert task.from_cosine(cosines).tolist() == pytest.approx([0, 0, 5, 10, 10], abs=1e-6)


def test_clip_takes_values_beyond_the_bounds_for_the_bounds():
    task = Range(0, 10, outside="clip")
    values = torch.tensor([-5.0, 12.0])
    task.check(values, "y")
    assert task.to_cosine(values).tolist() == [-1, 1]
    with pytest.raises(
        ValueError, match="`y` must be finite, or NaN where missing; got inf in row 0"
    ):
        task.check(torch.tensor([math.inf]), "y")


def test_numbers_translate_both_ways():
    assert np.isnan(Range(0, 1).encode([0.5, None])[1])
    assert Space(2, Range(0, 1)).decode(torch.tensor([0.5, math.nan])) == [0.5, None]


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        ((1, 1), ValueError, "`low` must be less than `high`; got 1 and 1"),
        ((0, math.inf), ValueError, "`high` must be finite; got inf"),
        (("a", 1), TypeError, "`low` must be a number; got 'a'"),
        ((0, 1, 1.0), ValueError, r"`margin` must lie in \[0, 1\); got 1"),
        ((0, 1, 0.0, "warn"), ValueError, 'Unknown rule for targets outside "warn"'),
    ],
)
def test_bad_ranges_get_a_sentence(arguments, kind, sentence):
    with pytest.raises(kind, match=sentence):
        Range(*arguments)


def test_labels_and_numbers_out_of_range_are_named():
    with pytest.raises(
        ValueError,
        match=r"class ids in \[0, 3\), or -1 where missing; got 3 in row 1 \(2 of 4 rows\)",
    ):
        Classes(3).check(torch.tensor([0, 3, -1, -2]), "y")
    with pytest.raises(
        ValueError, match=r"`year` must lie in \[0, 10\]; got 11 in row 2 \(1 of 3 rows\)"
    ):
        Range(0, 10).check(torch.tensor([0.0, math.nan, 11.0]), "year")
    with pytest.raises(TypeError, match="`y` must be class ids of an integer dtype"):
        Classes(3).check(torch.tensor([0.5]), "y")


@pytest.mark.parametrize(
    "task",
    [
        Classes(["a", "b"], loss=CosineSoftmax(4.0), weight=0.5, class_weight=[1.0, 2.0]),
        Classes(4),
        Range(0, 2, margin=0.25, outside="clip", weight=3.0),
    ],
)
def test_a_task_survives_being_written_down(task):
    again = task_from_dict(task.to_dict())
    assert again.to_dict() == task.to_dict()


def test_a_task_is_rebuilt_around_stored_prototypes():
    stored = Prototypes.one_hot(["a", "b"], 4)
    assert task_from_dict(Classes(["a", "b"]).to_dict(), stored).classes is stored


def test_balanced_weights_are_those_of_scikit_learn_once_the_classes_are_counted():
    labels = torch.tensor([0, 0, 0, 0, 2, 2, -1])
    space = Space(3, Classes(4, class_weight="balanced"))
    with pytest.raises(
        ValueError,
        match=r'must be numbers before a loss is computed; got "balanced". .*space.balance',
    ):
        space.loss(torch.ones(7, 3), labels)
    space.balance(labels)
    expected = compute_class_weight("balanced", classes=np.array([0, 2]), y=labels[:6].numpy())
    assert space.tasks["target"].class_weight == (expected[0], 1.0, expected[1], 1.0)
    told = Space(3, Classes(space.prototypes, class_weight=space.tasks["target"].class_weight))
    z = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    assert space.loss(z, labels) == told.loss(z, labels)
    with pytest.raises(ValueError, match='Unknown class weight "balance". Choose from: "balanced"'):
        Classes(2, class_weight="balance")
