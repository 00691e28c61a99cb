"""The interactive pages in a real browser."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

import hyperproto as hp
from hyperproto.report import SphereView, write_placement_page, write_run_page, write_sphere_page
from hyperproto.report.pages import CLASS_COLORS, SCENE
from tests.evaluation.conftest import image_run  # noqa: F401  # fixture
from tests.report.test_placement import STRANGE, prior
from tests.report.test_sphere_view import make_view

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--virtual-time-budget=3000",
    "--window-size=1100,800",
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium here: install it (Debian: apt-get install chromium)"
    ),
]


MOVE_THE_POINTER = """<script>
  let moved = 0;
  setInterval(() => {  // as a hand does, around the middle of the plot
    const box = element("sphere").querySelector("canvas").getBoundingClientRect();
    const x = box.left + box.width / 2 + moved++ % 3, y = box.top + box.height / 2;
    const move = new MouseEvent("mousemove", { clientX: x, clientY: y, bubbles: true, view: window });
    document.elementFromPoint(x, y).dispatchEvent(move);
  }, 100);
  const before = show;
  show = i => { before(i); document.title = "pointed at"; };
</script>"""


def visit(address, profile, *flags):
    command = [CHROMIUM, *FLAGS, *flags, f"--user-data-dir={profile}", "--dump-dom", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=400, check=True).stdout


def test_the_page_draws_the_sphere_and_shows_the_point_it_is_asked_for(tmp_path):
    write_sphere_page(make_view(), tmp_path / "sphere.html", title="A sphere")
    page = visit(f"file://{tmp_path}/sphere.html#point=37", tmp_path / "profile")
    assert re.search(
        r'id="class">&lt;b&gt;<', page
    )  # 37 % 3 == 1, and its name is text, not markup
    assert re.search(r'id="number">point 37<', page)
    assert re.search(r'id="value">angle in degrees: 96.5<', page)
    column, row = 37 % 32, 37 // 32
    assert f"background-position: -{column * 160}px -{row * 160}px" in page
    assert 'class="gl-container"' in page or "gl-canvas" in page  # plotly drew the scene


def test_what_lies_behind_the_sphere_is_pale_and_the_pointer_finds_what_is_in_front(tmp_path):
    eye = np.array([SCENE["scene"]["camera"]["eye"][axis] for axis in "zxy"])
    near = eye / np.linalg.norm(eye)
    blue, orange = "#0072B2", "#E69F00"  # of the first and the second class
    assert CLASS_COLORS[:2] == (blue, orange)
    for place, seen in ((near, True), (-near, False)):
        points = place + 0.02 * np.random.default_rng(0).normal(size=(200, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        view = SphereView(
            points, np.ones(200, dtype=int), np.array([[1.0, 0], [-1, 0]]), ("a", "b")
        )
        write_sphere_page(view, tmp_path / "sphere.html", title="Depth")
        page = (tmp_path / "sphere.html").read_text()
        (tmp_path / "sphere.html").write_text(page.replace("</body>", MOVE_THE_POINTER + "</body>"))
        address, picture = f"file://{tmp_path}/sphere.html", tmp_path / "picture.png"
        assert (
            "<title>pointed at<" in visit(address, tmp_path / "profile", f"--screenshot={picture}")
        ) == seen
        middle = np.array(Image.open(picture).convert("RGB").crop((300, 200, 450, 450))).astype(int)
        strong = np.abs(middle - [0xE6, 0x9F, 0x00]).max(axis=2) < 60
        assert (strong.sum() > 200) == seen
        assert seen or strong.sum() == 0


def test_the_slider_shows_the_epoch_it_is_asked_for(tmp_path):
    points = np.stack([np.eye(3), -np.eye(3), np.eye(3)[[1, 2, 0]]])
    view = SphereView(points, np.arange(3), np.eye(3), ("a", "b", "c"))
    write_sphere_page(view, tmp_path / "sphere.html", title="Epochs")
    page = (tmp_path / "sphere.html").read_text()
    first = "trace => trace.customdata && [trace.x[0], trace.y[0], trace.z[0]]"
    tell = f"<script>document.title = JSON.stringify(element('sphere').data.map({first}));</script>"
    (tmp_path / "sphere.html").write_text(page.replace("</body>", tell + "</body>"))
    page = visit(f"file://{tmp_path}/sphere.html#epoch=2", tmp_path / "profile")
    assert re.search(r'id="after">after epoch 2<', page)
    shown = json.loads(re.search(r"<title>(.*?)</title>", page).group(1))
    assert np.array_equal([place for place in shown if place], view.frames[1])


def test_the_report_of_a_run_draws_every_figure(tmp_path, image_run):  # noqa: F811
    write_run_page(image_run.folder, tmp_path / "page.html", image_run.data)
    page = visit(f"file://{tmp_path}/page.html", tmp_path / "profile")
    assert page.count('class="plot-container plotly"') == 3  # loss, accuracy, reliability
    assert page.count("<figure>") > 0


@pytest.mark.parametrize("dim", [2, 5])
def test_the_page_of_a_placement_shows_the_neighbors_of_the_class_it_is_asked_for(tmp_path, dim):
    prototypes = hp.place(STRANGE, dim, method="random")
    write_placement_page(prototypes, tmp_path / "placed.html", title="Placed", prior=prior(), k=5)
    page = visit(f"file://{tmp_path}/placed.html#class=%3Cb%3E&search=FIG", tmp_path / "profile")
    assert re.search(r'id="class">&lt;b&gt;<', page)  # a name is text, not markup
    assert re.search(r'id="shared">5 of 5 shared<', page)
    first = re.search(
        r'<ol id="prior"><li><span class="shared" tabindex="0" role="button">(.*?)</span>'
        r"<span>(.*?)</span>",
        page,
    )
    assert first.groups() == ("@FIGURE@", "0.900")
    assert re.search(r'<ol id="placement-list">(<li>.*?</li>){5}</ol>', page)
    rows = re.search(r'<tbody id="rows">(.*?)</tbody>', page).group(1)
    assert rows.count("<tr") == 6
    assert rows.count('<tr hidden="">') == 5  # the search leaves one
    assert (
        "gl-canvas" in page or "gl-container" in page or 'class="scatterlayer' in page
    )  # plotly drew


def test_the_page_of_a_placement_works_without_a_prior(tmp_path):
    write_placement_page(hp.place(["a", "b", "c"], 2), tmp_path / "placed.html", title="Placed")
    page = visit(f"file://{tmp_path}/placed.html#class=b", tmp_path / "profile")
    assert re.search(r'id="class">b<', page)
    assert re.search(r'<ol id="placement-list">(<li>.*?</li>){2}</ol>', page)
    assert re.search(r'<div id="prior-side" hidden="">', page)
