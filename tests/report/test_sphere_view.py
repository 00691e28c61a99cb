import json
import re

import numpy as np
import pytest
from PIL import Image

import hyperproto as hp
from hyperproto._core.errors import require
from hyperproto.codes.certificate import polygon
from hyperproto.report import SphereView, draw_sphere, write_sphere_page
from hyperproto.report.pages import CLASS_COLORS
from hyperproto.report.sphere_view import _figure


def make_view(n: int = 70) -> SphereView:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 3))
    return SphereView(
        points=points / np.linalg.norm(points, axis=1, keepdims=True),
        labels=np.arange(n) % 3,
        values=np.linspace(0, 180, n),
        prototypes=polygon(3),
        names=("a", "<b>", "c"),
        value_name="angle in degrees",
        images=rng.integers(0, 255, size=(n, 8, 8), dtype=np.uint8),
    )


def test_the_pole_points_up():
    view = make_view()
    assert np.array_equal(view.xyz[:, 2], view.points[:, 0])
    assert np.allclose(view.prototypes_xyz[:, 2], 0)
    with pytest.raises(ValueError, match="`points` must lie on S²"):
        SphereView(np.ones((2, 4)), np.zeros(2, dtype=int), np.ones((1, 2)), ("a",))
    with pytest.raises(ValueError, match="`values` must be as many as the 2 points; got 3"):
        SphereView(
            np.ones((2, 3)), np.zeros(2, dtype=int), np.ones((1, 2)), ("a",), values=np.ones(3)
        )


def test_prototypes_off_the_equator_turn_as_the_points_do():
    corner = np.eye(3)
    view = SphereView(corner, np.arange(3), corner, ("a", "b", "c"))
    assert np.array_equal(view.prototypes_xyz, view.xyz)


def test_the_picture_is_a_png_that_shows_something(tmp_path):
    draw_sphere(make_view(), tmp_path / "sphere.png")
    image = Image.open(tmp_path / "sphere.png").convert("RGB")
    assert image.width > 1000
    assert len(set(image.resize((200, 100)).get_flattened_data())) > 50


def test_the_page_carries_everything_it_needs(tmp_path):
    write_sphere_page(make_view(), tmp_path / "sphere.html", title="Points & <spheres>")
    page = (tmp_path / "sphere.html").read_text()
    assert "<title>Points &amp; &lt;spheres&gt;</title>" in page
    assert "Plotly.newPlot" in page
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="http', page)  # nothing is fetched
    facts = json.loads(re.search(r"const data = (.*);\n", page).group(1))
    assert (len(facts["labels"]), facts["names"], facts["frames"]) == (70, ["a", "<b>", "c"], [])
    assert facts["sheet"].startswith("data:image/png;base64,")
    assert "@" + "DATA" not in page


def test_the_legend_has_a_cloud_for_each_class_and_all_points_are_in_one():
    view = make_view()
    traces = _figure(view)["data"]
    clouds = [trace for trace in traces if "customdata" in trace]
    legend = traces[-3:]  # switches the clouds, and keeps its colors whatever theirs are
    assert [entry["legendgroup"] for entry in legend] == [cloud["legendgroup"] for cloud in clouds]
    assert [entry["marker"]["color"] for entry in legend] == list(CLASS_COLORS[:3])
    assert not any("coloraxis" in entry["marker"] for entry in legend)
    assert [trace["name"] for trace in clouds] == ["a", "&lt;b&gt;", "c"]
    assert sorted(i for trace in clouds for i in trace["customdata"]) == list(range(70))
    for index, trace in enumerate(clouds):
        assert set(view.labels[trace["customdata"]]) == {index}
        drawn = np.column_stack([trace[axis] for axis in "xyz"])
        assert np.allclose(drawn, view.xyz[trace["customdata"]], atol=1e-4)


def test_the_page_keeps_every_epoch_and_the_certificate(tmp_path):
    placed = hp.place(["a", "b", "</script>"], 3)
    points = np.stack([np.eye(3), placed.vectors.numpy()])
    view = SphereView(
        points, np.arange(3), placed.vectors.numpy(), placed.names, certificate=placed.certificate
    )
    write_sphere_page(view, tmp_path / "sphere.html", title="Epochs")
    page = (tmp_path / "sphere.html").read_text()
    facts = json.loads(re.search(r"const data = (.*);\n", page).group(1))
    assert facts["epochs"] == [1, 2]
    assert np.allclose(np.transpose(facts["frames"], (0, 2, 1)), view.frames, atol=1e-3)
    assert f"<th>method</th><td>{placed.certificate.method}</td>" in page
    assert page.count("</script>") == page.count("<script")  # no name ends a script


def test_a_missing_extra_is_answered_by_the_line_to_type(monkeypatch):
    with pytest.raises(
        ImportError, match=r'Drawing needs no_such_plotter.*pip install "hyperproto\[plots\]"'
    ):
        require("no_such_plotter", extra="plots", purpose="Drawing")
