"""The page of a server, used as a person does."""

import pytest
from PIL import Image

from tests.browser.chromium import CHROMIUM, Browser
from tests.serve.models import write_model
from tests.serve.test_server import running

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium here: install it (Debian: apt-get install chromium)"
    ),
]
STRANGE = ("<img src=x onerror=document.title='broken'>", "b&amp;c")
ANSWER = "document.querySelector('.answer')?.textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


def test_a_dropped_image_is_answered_with_its_confidence_neighbors_and_place(browser, tmp_path):
    Image.new("RGB", (60, 40), "green").save(tmp_path / "green.png")
    (tmp_path / "no.png").write_text("no image")
    with running(write_model(tmp_path / "model", "images", names=STRANGE)) as (_, port):
        browser.call("Page.navigate", url=f"http://127.0.0.1:{port}/")
        browser.wait("document.getElementById('drop')?.getBoundingClientRect().width")
        x, y = browser.run(
            "(r => [r.x + r.width / 2, r.y + 10])(document.getElementById('drop').getBoundingClientRect())"
        )
        files = {"items": [], "files": [str(tmp_path / "green.png")], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            browser.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=files)
        assert browser.wait(ANSWER) in STRANGE  # text, not markup
        assert browser.run("document.title") == "model"
        assert "% (not calibrated)" in browser.run(
            "document.querySelector('.note:not(#about)').textContent"
        )
        assert browser.run("document.querySelectorAll('tbody tr').length") == 2
        names = browser.run(
            "[...document.querySelectorAll('#sphere text')].map(node => node.textContent)"
        )
        assert names[-1] == "this input"
        assert len(names) == 3
        assert browser.run("!document.getElementById('preview').hidden")
        document = browser.call("DOM.getDocument")["root"]["nodeId"]
        file = browser.call("DOM.querySelector", nodeId=document, selector="#file")["nodeId"]
        browser.call("DOM.setFileInputFiles", nodeId=file, files=[str(tmp_path / "no.png")])
        assert "must be an image" in browser.wait("document.getElementById('error').textContent")
        assert not browser.run(ANSWER)
        assert browser.run("document.images.length") == 1  # the preview alone
        browser.run("make('script', document.body, 'document.title = \"broken\"')")
        assert browser.run("document.title") == "model"
        assert browser.run("parseFloat(getComputedStyle(document.body).maxWidth) > 100")  # styled


@pytest.mark.parametrize(
    ("kind", "fields", "body"),
    [
        (
            "table",
            {"[data-column='0']": "30", "[data-column='1']": "clerk"},
            {"age": 30, "job": "clerk"},
        ),
        ("text", {"#text": "sweet and red"}, "sweet and red"),
        ("rows", {"#row": "1, 2 3\n4;5"}, [[1, 2, 3, 4, 5]]),
        ("named", {"[data-column='0']": "1.5", "[data-column='1']": "-2"}, [[1.5, -2]]),
    ],
)
def test_a_row_or_a_text_is_typed_and_answered(browser, tmp_path, kind, fields, body):
    from hyperproto.runtime import Predictor

    folder = write_model(tmp_path / "model", kind)
    with running(folder) as (_, port):
        browser.call("Page.navigate", url=f"http://127.0.0.1:{port}/")
        browser.wait(f"location.port == '{port}' && !!document.getElementById('send')")
        for selector, text in fields.items():
            browser.run(f'document.querySelector("{selector}").focus()')
            browser.call("Input.insertText", text=text)
        browser.run("document.getElementById('send').click()")
        assert (
            browser.wait(ANSWER) == Predictor(folder).answer(body)[0]["predictions"]["kind"]["name"]
        )
        assert "interval: -∞ to ∞" in browser.run("document.getElementById('answers').textContent")
