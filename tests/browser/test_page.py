"""The interactive page in a real browser."""

import re
import shutil
import subprocess

import pytest

from hyperproto.report import write_sphere_page
from tests.report.test_sphere import make_view

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
