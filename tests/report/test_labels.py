import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hyperproto.report.placement_picture import _draw_names, halves
from tests.report.test_projection import directions


@pytest.mark.parametrize("seed", range(4))
def test_no_two_names_meet_and_those_without_room_are_counted(seed):
    figure = Figure(figsize=(4, 4), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 1), ylim=(0, 1))
    points = np.random.default_rng(seed).uniform(size=(60, 2))
    left_out = _draw_names(axes, points, [f"class {i}" for i in range(60)], ["black"] * 60)
    boxes = [text.get_window_extent() for text in axes.texts]
    assert 0 < left_out == 60 - len(boxes) < 30
    for i, box in enumerate(boxes):
        assert 0 <= box.x0 < box.x1 <= 400
        assert not box.count_overlaps(boxes[:i])


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
