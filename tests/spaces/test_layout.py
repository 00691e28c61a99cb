import pytest
import torch

from hyperproto import Classes, Prototypes, Range, place
from hyperproto.spaces.space import assign_axes

LINE = Classes(Prototypes.from_tensor(torch.tensor([[1.0], [-1.0]]), method="two points on a line"))


def test_one_range_and_one_class_task_is_the_paper():
    axes = assign_axes(47, {"style": Classes(46), "year": Range(1000, 1932)})
    assert axes == {"year": slice(0, 47), "style": slice(1, 47)}


def test_several_ranges_are_spherical_coordinates():
    axes = assign_axes(4, {"a": Range(0, 1), "b": Range(0, 1), "c": Range(0, 1)})
    assert axes == {"a": slice(0, 4), "b": slice(1, 4), "c": slice(2, 4)}


def test_class_tasks_get_blocks_of_their_own():
    axes = assign_axes(20, {"small": Classes(3), "year": Range(0, 1), "large": Classes(100)})
    assert axes == {"year": slice(0, 20), "small": slice(1, 3), "large": slice(3, 20)}
    even = assign_axes(10, {"a": Classes(50), "b": Classes(50)})
    assert even == {"a": slice(0, 5), "b": slice(5, 10)}
    roomy = assign_axes(11, {"a": Classes(3), "b": Classes(3)})
    assert roomy == {"a": slice(0, 6), "b": slice(6, 11)}


def test_given_prototypes_take_their_dimension():
    axes = assign_axes(9, {"a": Classes(place(3, 2)), "b": Classes(5)})
    assert axes == {"a": slice(0, 2), "b": slice(2, 9)}


@pytest.mark.parametrize(
    ("dim", "tasks", "sentence"),
    [
        (1, {"a": Classes(2)}, "`dim` must be at least 2; got 1"),
        (2, {"a": Range(0, 1), "b": Range(0, 1)}, "`dim` must be at least 3 for 2 ranges; got 2"),
        (
            2,
            {"a": Range(0, 1), "b": Classes(3)},
            "A block of one axis has no directions.*Raise `dim` by at least 1",
        ),
        (3, {"a": Classes(3), "b": Classes(3)}, "must leave the tasks 4 axes.*got 3"),
        (
            3,
            {"a": Classes(place(9, 2))},
            "must leave the given prototypes their 2 axes; got 3. Lower `dim` by 1",
        ),
        (2, {"a": Classes(place(9, 3))}, "must leave the tasks 3 axes.*got 2"),
        (2, {"a": Range(0, 1), "b": LINE}, "A block of one axis has no directions"),
    ],
)
def test_layouts_that_cannot_work_are_refused_with_the_reason(dim, tasks, sentence):
    with pytest.raises(ValueError, match=sentence):
        assign_axes(dim, tasks)
