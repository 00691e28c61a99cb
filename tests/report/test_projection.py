import numpy as np
import pytest

from hyperproto.codes.certificate import polygon
from hyperproto.report import project


def directions(count: int, dim: int, seed: int = 0) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(count, dim))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def flock(groups: int = 6, each: int = 5, dim: int = 20) -> np.ndarray:
    """Classes in tight groups: a picture that keeps neighbors must keep these."""
    near = np.repeat(directions(groups, dim), each, axis=0) + 0.1 * directions(
        groups * each, dim, seed=1
    )
    return near / np.linalg.norm(near, axis=1, keepdims=True)


@pytest.mark.parametrize("dim", [2, 3])
def test_two_and_three_dimensions_are_drawn_as_they_are(dim):
    vectors = directions(9, dim)
    projection = project(vectors, dim)
    assert np.array_equal(projection.points, vectors)
    assert projection.is_exact
    assert projection.error == 0
    assert projection.sentence == f"{dim} dimensions, drawn as they are."


def test_more_dimensions_are_projected_and_the_sentence_carries_the_error():
    projection = project(directions(30, 10))
    assert projection.points.shape == (30, 2)
    assert not projection.is_exact
    assert f"off by {projection.error:.0f}° on average" in projection.sentence
    assert (
        f"{projection.neighbors_kept:.0%} are among its 5 nearest here (by chance 17%)"
        in projection.sentence
    )


def test_the_error_is_the_mean_difference_of_angle_and_distance():
    vectors = directions(12, 6)
    projection = project(vectors, 3)
    off = []
    for i in range(12):
        for j in range(i):
            angle = np.arccos(vectors[i] @ vectors[j])
            off.append(abs(angle - np.linalg.norm(projection.points[i] - projection.points[j])))
    assert projection.error == pytest.approx(np.degrees(np.mean(off)))


def test_tight_groups_stay_together():
    projection = project(flock())
    assert projection.neighbors_kept > 0.7
    groups = projection.points.reshape(6, 5, 2)
    middles = groups.mean(axis=1)
    nearest = np.linalg.norm(groups[:, :, None] - middles, axis=3).argmin(axis=2)
    assert np.array_equal(nearest, np.repeat(np.arange(6)[:, None], 5, axis=1))


def test_neighbors_are_kept_better_than_by_principal_axes(monkeypatch):
    vectors = directions(40, 8)
    laid_out = project(vectors)
    monkeypatch.setattr("hyperproto.report.projection.LAID_OUT", 20)
    assert laid_out.neighbors_kept > project(vectors).neighbors_kept


def test_distances_that_fit_are_found_again():
    projection = project(np.eye(3, 6))  # an equilateral triangle
    assert projection.error < 0.1


def test_the_picture_is_the_same_every_time():
    vectors = directions(20, 7)
    assert np.array_equal(project(vectors).points, project(vectors).points)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_few_classes_and_classes_on_one_spot_have_a_picture(count):
    assert np.isfinite(project(np.eye(count, 6)).points).all()
    same = np.repeat(np.eye(1, 6), count, axis=0)
    assert np.isfinite(project(same).points).all()


def test_many_classes_are_drawn_along_principal_axes(monkeypatch):
    monkeypatch.setattr("hyperproto.report.projection.LAID_OUT", 20)
    monkeypatch.setattr("hyperproto.report.projection.MEASURED", 10)
    tall = np.column_stack([polygon(30), 1e-3 * directions(30, 4)])
    projection = project(tall)
    assert "along its principal axes, measured on 10 of them" in projection.sentence
    assert np.allclose(
        np.linalg.norm(projection.points, axis=1).std(), 0, atol=0.01
    )  # the polygon again
    assert projection.neighbors_kept == 1


def test_mistakes_are_explained():
    with pytest.raises(ValueError, match="`dim` must be 2 or 3"):
        project(np.eye(4), 4)
    with pytest.raises(
        ValueError, match=r"`vectors` must be finite, of shape .*; got shape \(3,\)"
    ):
        project(np.ones(3))
