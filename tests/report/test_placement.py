import json
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import hyperproto as hp
from hyperproto.codes.certificate import PriorAgreement
from hyperproto.report import draw_placement, draw_trade_off, prior_groups, write_placement_page
from hyperproto.report.pages import certificate_rows
from tests.report.test_neighbors import NAMES, prior

STRANGE = ["<b>", "@FIGURE@", "a & b", "$x$", '"quoted"', "</script>"]


def colors_in(path) -> int:
    return len(set(Image.open(path).convert("RGB").resize((300, 300)).get_flattened_data()))


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_picture_names_every_class(tmp_path, dim):
    prototypes = hp.place(NAMES, dim, method="random")
    draw_placement(prototypes, tmp_path / "placed.svg", groups=prior_groups(prior(), NAMES, num_groups=3), title="T")
    text = (tmp_path / "placed.svg").read_text()
    for name in NAMES:
        assert f">{name}</text>" in text
    assert ">cat, dog</text>" in text  # the legend
    assert ("angles are off by" in text) == (dim > 3)


def test_the_picture_is_the_same_every_time(tmp_path):
    for name in ("a.svg", "b.svg"):
        draw_placement(hp.place(NAMES, 5, method="random"), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_png_shows_something_and_strange_names_are_drawn(tmp_path):
    draw_placement(hp.place(STRANGE, 3, method="random"), tmp_path / "placed.png", groups=STRANGE)
    assert colors_in(tmp_path / "placed.png") > 20


def test_names_without_room_are_counted(tmp_path):
    draw_placement(hp.place([f"a class with a long name {i}" for i in range(600)], 2), tmp_path / "placed.svg")
    text = (tmp_path / "placed.svg").read_text()
    assert re.search(r"\d+ of 600 names found no room", text)


def test_mistakes_are_explained(tmp_path):
    with pytest.raises(ValueError, match=r'must be named "\.png" or "\.svg"; got "placed\.pdf"'):
        draw_placement(hp.place(NAMES, 3), tmp_path / "placed.pdf")
    with pytest.raises(ValueError, match="`groups` must give one group for each of the 6 classes; got 2"):
        draw_placement(hp.place(NAMES, 3), tmp_path / "placed.png", groups=["a", "b"])


def data_of(page: str) -> dict:
    return json.loads(re.search(r"const data = (.*);\n", page).group(1))


def test_the_page_carries_everything_it_needs(tmp_path):
    prototypes = hp.place(STRANGE, 5, method="random")
    prototypes = replace(prototypes, certificate=replace(prototypes.certificate, note="From <words>."))
    path = tmp_path / "placed.html"
    write_placement_page(prototypes, path, title="A & <B>", prior=prior(), groups=STRANGE, k=2)
    page = path.read_text()
    assert "<title>A &amp; &lt;B&gt;</title>" in page
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="http', page)  # nothing is fetched
    assert "angles are off by" in page
    assert "<tr><th>note</th><td>From &lt;words&gt;.</td></tr>" in page
    data = data_of(page)
    assert data["names"] == STRANGE  # also the one that looks like a mark of the template
    assert data["prior"][0][0] == [1, 0.9]
    assert len(data["placement"][3]) == 2
    assert "</script>" not in re.search(r"const data = .*;\n", page).group(0)


def test_the_page_lists_the_certificate_and_does_without_a_prior(tmp_path):
    write_placement_page(hp.place(NAMES, 3), tmp_path / "placed.html", title="T")
    page = (tmp_path / "placed.html").read_text()
    assert "<tr><th>maximum cosine</th>" in page
    assert "There is no prior to compare with." in page
    assert data_of(page)["hasPrior"] is False


def test_the_certificate_is_listed_with_prior_and_reserve():
    rows = certificate_rows(hp.place(NAMES, 3, prior=prior(), reserve=2, effort="fast").certificate)
    assert rows["prior"].startswith("by hand, weight ")
    assert rows["reserve"].startswith("room for 2 more")
    assert rows["optimal"].startswith("not proved")


def test_the_trade_off_joins_the_sweep_and_marks_the_rest(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    seen = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (seen.append(self.axes[0]), save(self, *a, **k)))
    points = [(3, 0.4, 0.9, ""), (0, 0.2, 0.5, ""), (1, 0.3, 0.8, ""), (1, 0.25, 0.7, "auto")]
    prototypes = hp.place(6, 4)
    rows = []
    for weight, cosine, ranked, label in points:
        agreement = PriorAgreement("by hand", weight, 0.1, ranked, ranked, 1.0, 0.0, 0.0)
        certificate = replace(prototypes.certificate, max_cosine=cosine, prior_agreement=agreement)
        rows.append((label, replace(prototypes, certificate=certificate)))
    draw_trade_off(rows, tmp_path / "trade.png")
    axes = seen[0]
    sweep, bound = axes.lines
    assert np.allclose(sweep.get_xydata(), [[0.2, 0.5], [0.3, 0.8], [0.4, 0.9]])  # in the order of the weights
    assert bound.get_xdata() == [0.0, 0.0]
    assert axes.get_legend_handles_labels()[1] == ["by weight of the prior", "auto", "lower bound 0.0000"]
    assert colors_in(tmp_path / "trade.png") > 20
