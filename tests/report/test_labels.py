import numpy as np
import pytest

from hyperproto.report.placement_picture import halves, place_labels
from tests.report.test_projection import directions


def boxes_meet(a, b, size_a, size_b) -> bool:
    return bool((np.abs(a - b) < (size_a + size_b) / 2 - 1e-9).all())


@pytest.mark.parametrize("seed", range(8))
def test_no_two_labels_meet_and_all_stay_inside(seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 300, size=(25, 2))
    sizes = np.column_stack([rng.uniform(20, 60, size=25), np.full(25, 10.0)])
    centers = place_labels(points, sizes, (0, 0, 300, 300))
    placed = [i for i in range(25) if not np.isnan(centers[i, 0])]
    assert len(placed) > 20
    for i in placed:
        assert (centers[i] - sizes[i] / 2 >= 0).all()
        assert (centers[i] + sizes[i] / 2 <= 300).all()
        assert not any(boxes_meet(centers[i], centers[j], sizes[i], sizes[j]) for j in placed if j < i)


def test_labels_without_room_are_left_out():
    centers = place_labels(np.zeros((50, 2)), np.full((50, 2), 10.0), (-20, -20, 20, 20))
    assert 0 < np.isnan(centers[:, 0]).sum() < 50


def test_every_class_is_on_one_half_and_equal_areas_stay_equal():
    vectors = directions(4000, 3)
    (_, front, front_ids), (_, back, back_ids) = halves(vectors)
    assert sorted([*front_ids, *back_ids]) == list(range(4000))
    for points in (front, back):
        radii = np.linalg.norm(points, axis=1)
        assert radii.max() <= 1 + 1e-12
        assert abs((radii < 0.5**0.5).mean() - 0.5) < 0.03  # half of the area holds half of the points


def test_neighbors_across_the_rim_meet_left_to_right():
    turn = np.linspace(0, 2 * np.pi, 1000, endpoint=False)
    for vectors in (np.column_stack([np.cos(turn), np.sin(turn), 0 * turn]),):
        (_, front, front_ids), (_, back, back_ids) = halves(vectors)
        on_front, on_back = dict(zip(front_ids, front, strict=True)), dict(zip(back_ids, back, strict=True))
        crossing = [(i, (i + s) % 1000) for i in front_ids for s in (1, 999) if (i + s) % 1000 in on_back]
        assert crossing
        for i, j in crossing:
            assert np.allclose(on_front[i] * [-1, 1], on_back[j], atol=0.02)
