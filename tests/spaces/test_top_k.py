"""The k nearest prototypes in blocks are those a sort of all cosines gives."""

import copy

import pytest
import torch

import hyperproto as hp
from hyperproto.sphere import normalize
from hyperproto.tasks import prototype_head, top_k


@pytest.fixture(params=[1, 2])
def small_blocks(request, monkeypatch):
    """Many blocks, uneven ones and uneven groups, on tiny data; products as with one thread and as
    with two.
    """
    for name, size in {"ROWS": 3, "SCORES": 21, "ONE_ROW": 14, "WIDTH": 4}.items():
        monkeypatch.setattr(top_k, name, size)
    monkeypatch.setattr(torch, "get_num_threads", lambda: request.param)


def points(n, dim=3, *, seed=0):
    return normalize(
        torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    )


def by_sorting(z, prototypes, k):
    """Sort everything, stably: equals by their ids."""
    values, ids = (z @ prototypes.mT).clamp(-1, 1).sort(dim=1, descending=True, stable=True)
    return values[:, :k], ids[:, :k]


@pytest.mark.parametrize(
    ("n", "num_classes", "k"), [(7, 50, 3), (1, 50, 1), (4, 6, 6), (2, 5, 2), (8, 64, 9)]
)
def test_blocks_give_what_sorting_all_cosines_gives(small_blocks, n, num_classes, k):
    z, prototypes = points(n), points(num_classes, seed=1)
    values, ids = top_k.nearest_prototypes(z, prototypes, k)
    expected, expected_ids = by_sorting(z, prototypes, k)
    assert torch.equal(ids, expected_ids)
    assert torch.allclose(values, expected, rtol=0, atol=1e-15)


def test_equals_come_by_their_ids_within_a_block_and_across_blocks(small_blocks):
    prototypes = points(3).repeat(11, 1)  # each one eleven times, three places apart
    z = points(3)
    _, ids = top_k.nearest_prototypes(z, prototypes, 11)
    assert ids.tolist() == [list(range(row, 33, 3)) for row in range(3)]
    assert top_k.nearest_prototypes(z, prototypes, 2).ids.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_scores_that_rise_from_block_to_block_are_all_taken_in(small_blocks):
    angles = torch.linspace(3, 0, 40, dtype=torch.float64)
    prototypes = torch.stack([angles.cos(), angles.sin()], dim=1)
    assert top_k.nearest_prototypes(prototypes[-1:], prototypes, 4).ids.tolist() == [
        [39, 38, 37, 36]
    ]


def test_no_outputs_have_no_neighbors():
    values, ids = top_k.nearest_prototypes(points(0), points(5), 2)
    assert (values.shape, ids.shape) == ((0, 2), (0, 2))


def test_a_space_gives_the_best_classes_by_task_and_leaves_out_ranges():
    space = hp.Space(5, kind=hp.Classes(4), size=hp.Range(0, 1))
    z = points(6, 5)
    found = space.top_k(z, 10)  # all there are
    assert list(found) == ["kind"]
    assert found["kind"].values.shape == (6, 4)
    assert torch.equal(found["kind"].ids[:, 0], space.predict(z)["kind"])
    assert torch.allclose(
        found["kind"].values, space.scores(z)["kind"].sort(descending=True).values
    )


def test_one_unnamed_task_gives_bare_tensors_in_the_precision_of_the_outputs():
    space = hp.Space(3, hp.Classes(6))
    found = space.top_k(points(2).float() * 7, 2)
    assert found.values.dtype == torch.float32
    assert found.values.max() <= 1


def test_many_scores_are_predicted_from_in_blocks(monkeypatch, small_blocks):
    space, z = hp.Space(3, hp.Classes(20)), points(9)
    expected = space.predict(z)
    monkeypatch.setattr(prototype_head.PrototypeHead, "many", lambda head, z: True)
    monkeypatch.setattr(prototype_head.PrototypeHead, "scores", None)  # not so much as asked for
    assert torch.equal(space.predict(z), expected)


def test_one_row_of_many_classes_is_predicted_from_in_blocks_of_rounded_prototypes(monkeypatch):
    space = hp.Space(3, hp.Classes(20))
    expected, z = space.predict(points(1)), points(1).float()
    monkeypatch.setattr(prototype_head, "LARGEST_BLOCK", 19)
    monkeypatch.setattr(prototype_head.PrototypeHead, "scores", None)
    assert torch.equal(space.predict(z), expected)
    head = space.heads[0]
    assert (head._rounded[2].dtype, head.prototypes.dtype) == (torch.float32, torch.float64)
    assert copy.copy(head)._rounded is None  # nor in a file
    assert list(space.state_dict()) == ["heads.0.prototypes"]


def test_a_space_of_numbers_has_no_best_classes():
    with pytest.raises(ValueError, match="A space for top_k must have classes; got only numbers"):
        hp.Space(3, hp.Range(0, 1)).top_k(points(1), 1)


def test_no_direction_is_an_error_and_so_is_no_k():
    space = hp.Space(3, hp.Classes(4))
    with pytest.raises(ValueError, match="`z` must have a direction; got norm 0 in 1 of 2 rows"):
        space.top_k(torch.tensor([[1.0, 0, 0], [0, 0, 0]]), 1)
    with pytest.raises(ValueError, match="`k` must be at least 1; got 0"):
        space.top_k(points(1), 0)
