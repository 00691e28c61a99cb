import json
import re
from dataclasses import replace

import pytest

import hyperproto as hp
from hyperproto.report import write_placement_page
from hyperproto.report.pages import certificate_rows
from tests.report.test_neighbors import NAMES, prior

STRANGE = ["<b>", "@FIGURE@", "a & b", "$x$", '"quoted"', "</script>"]


def test_a_group_for_each_class_is_asked_for(tmp_path):
    with pytest.raises(ValueError, match="`groups` must give one group for each of the 6 classes; got 2"):
        write_placement_page(hp.place(NAMES, 3), tmp_path / "placed.html", title="T", groups=["a", "b"])


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


def test_the_certificate_is_listed_with_its_prior():
    rows = certificate_rows(hp.place(NAMES, 3, prior=prior(), effort="fast").certificate)
    assert rows["prior"].startswith("by hand, weight ")
    assert rows["optimal"].startswith("not proved")
