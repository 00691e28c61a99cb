import json
import re

import numpy as np
import pytest
from PIL import Image

from hyperproto._core.errors import require
from hyperproto.codes.certificate import polygon
from hyperproto.report import SphereView, draw_sphere, write_sphere_page


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
        SphereView(np.ones((2, 4)), *[np.ones(2)] * 2, np.ones((2, 2)), ("a",), "x", np.ones((2, 8, 8)))


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
    assert len(facts["names"]) == 70
    assert facts["sheet"].startswith("data:image/png;base64,")
    assert "@" + "DATA" not in page


def test_a_missing_extra_is_answered_by_the_line_to_type(monkeypatch):
    with pytest.raises(ImportError, match=r'Drawing needs no_such_plotter.*pip install "hyperproto\[plots\]"'):
        require("no_such_plotter", extra="plots", purpose="Drawing")
