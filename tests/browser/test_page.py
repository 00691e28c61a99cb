"""The interactive pages in a real browser."""

import re
import shutil
import subprocess

import pytest

import hyperproto as hp
from hyperproto.report import write_placement_page, write_sphere_page
from tests.report.test_placement import STRANGE, prior
from tests.report.test_sphere_view import make_view

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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
    "--virtual-time-budget=6000",
    "--window-size=1100,800",
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: install it (Debian: apt-get install chromium)"),
]


def visit(address, profile):
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_the_page_draws_the_sphere_and_shows_the_point_it_is_asked_for(tmp_path):
    write_sphere_page(make_view(), tmp_path / "sphere.html", title="A sphere")
    page = visit(f"file://{tmp_path}/sphere.html#point=37", tmp_path / "profile")
    assert re.search(r'id="class">&lt;b&gt;<', page)  # 37 % 3 == 1, and its name is text, not markup
    assert re.search(r'id="number">point 37<', page)
    assert re.search(r'id="value">angle in degrees: 96.5<', page)
    column, row = 37 % 32, 37 // 32
    assert f"background-position: -{column * 160}px -{row * 160}px" in page
    assert 'class="gl-container"' in page or "gl-canvas" in page  # plotly drew the scene


@pytest.mark.parametrize("dim", [2, 5])
def test_the_page_of_a_placement_shows_the_neighbors_of_the_class_it_is_asked_for(tmp_path, dim):
    prototypes = hp.place(STRANGE, dim, method="random")
    write_placement_page(prototypes, tmp_path / "placed.html", title="Placed", prior=prior(), k=5)
    page = visit(f"file://{tmp_path}/placed.html#class=%3Cb%3E&search=FIG", tmp_path / "profile")
    assert re.search(r'id="class">&lt;b&gt;<', page)  # a name is text, not markup
    assert re.search(r'id="shared">5 of 5 shared<', page)
    first = re.search(r'<ol id="prior"><li><span class="shared">(.*?)</span><span>(.*?)</span>', page)
    assert first.groups() == ("@FIGURE@", "0.900")
    assert re.search(r'<ol id="placement-list">(<li>.*?</li>){5}</ol>', page)
    rows = re.search(r'<tbody id="rows">(.*?)</tbody>', page).group(1)
    assert rows.count("<tr") == 6
    assert rows.count('<tr hidden="">') == 5  # the search leaves one
    assert "gl-canvas" in page or "gl-container" in page or 'class="scatterlayer' in page  # plotly drew


def test_the_page_of_a_placement_works_without_a_prior(tmp_path):
    write_placement_page(hp.place(["a", "b", "c"], 2), tmp_path / "placed.html", title="Placed")
    page = visit(f"file://{tmp_path}/placed.html#class=b", tmp_path / "profile")
    assert re.search(r'id="class">b<', page)
    assert re.search(r'<ol id="placement-list">(<li>.*?</li>){2}</ol>', page)
    assert re.search(r'<div id="prior-side" hidden="">', page)
