import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto.codes.measure import row_blocks
from hyperproto.priors import Prior, from_similarity
from hyperproto.report import write_placement_page
from hyperproto.report.pages import certificate_rows
from hyperproto.report.placement_page import find_neighbors, overlap_sentence
from hyperproto.report.projection import nearest
from tests.report.test_projection import directions

NAMES = ["cat", "dog", "car", "bus", "oak", "elm"]
STRANGE = ["<b>", "@FIGURE@", "a & b", "$x$", '"quoted"', "</script>"]


def prior(known=(True,) * 6) -> Prior:
    """Three pairs that belong together; everything else is far, and a little different."""
    similarity = 0.01 * np.arange(36).reshape(6, 6)
    similarity = (similarity + similarity.T) / 2
    for i in (0, 2, 4):
        similarity[i, i + 1] = similarity[i + 1, i] = 0.9
    return Prior(similarity, np.array(known), "by hand")  # the diagonal is ignored


def placed(vectors, names=NAMES) -> hp.Prototypes:
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return hp.Prototypes.from_tensor(torch.from_numpy(vectors), names, method="by hand")


def test_nearest_agrees_with_sorting_every_row():
    similarity = directions(30, 30) @ directions(30, 30).T
    ids, values, _ = nearest(similarity, np.arange(30), 4)
    for i in range(30):
        order = sorted((j for j in range(30) if j != i), key=lambda j: -similarity[i, j])
        assert ids[i].tolist() == order[:4]
        assert values[i] == pytest.approx(similarity[i, order[:4]])


def test_blocks_change_nothing(monkeypatch):
    vectors = directions(23, 5)
    given = placed(vectors, None), from_similarity(vectors @ vectors.T), 3
    whole, blocks = find_neighbors(*given), []

    def few_rows(count, columns):
        blocks.extend(row_blocks(count, columns, entries=50))
        return blocks

    monkeypatch.setattr("hyperproto.report.placement_page.row_blocks", few_rows)
    assert find_neighbors(*given) == whole
    assert len(blocks) > 5
    assert whole["prior"] == whole["placement"]


def test_ties_come_in_the_order_of_the_classes_and_are_marked():
    found = find_neighbors(hp.place(4, 3), None, 2)
    assert [[i for i, _ in near] for near in found["placement"]] == [[1, 2], [0, 2], [0, 1], [0, 1]]
    assert found["tied"] == [True] * 4
    assert found["prior"] == [None] * 4


def test_neighbors_of_both_sides_and_what_they_share():
    vectors = (
        np.eye(6) + 0.5 * np.eye(6)[[1, 0, 4, 5, 2, 3]]
    )  # cat and dog are near; car with oak, bus with elm
    found = find_neighbors(placed(vectors), prior(), 1)
    assert (found["prior"][0], found["placement"][0]) == ([[1, 0.9]], [[1, 0.8]])
    assert (found["prior"][2][0][0], found["placement"][2][0][0]) == (3, 4)
    sentence = "Of the 1 nearest in the prior, 33% are among the 1 nearest in the placement (mean of 6 classes; "
    assert overlap_sentence(found) == sentence + "by chance 20%)."


def test_a_class_outside_the_prior_has_no_neighbors_there():
    found = find_neighbors(
        placed(directions(6, 4)), prior([True, False, True, True, True, True]), 5
    )
    assert found["prior"][1] is None
    assert all(i != 1 for near in found["prior"] if near for i, _ in near)
    assert any(i == 1 for near in found["placement"] for i, _ in near)


def test_mistakes_are_explained():
    with pytest.raises(
        ValueError, match="`prior` must be for the 6 classes that were placed; got one for 5"
    ):
        find_neighbors(placed(directions(6, 4)), from_similarity(np.eye(5)), 2)
    with pytest.raises(ValueError, match="`k` must be at least 1"):
        find_neighbors(placed(directions(6, 4)), None, 0)


def data_of(page: str) -> dict:
    return json.loads(re.search(r"const data = (.*);\n", page).group(1))


def test_the_page_carries_everything_it_needs(tmp_path):
    prototypes = hp.place(STRANGE, 5, method="random")
    prototypes = replace(
        prototypes, certificate=replace(prototypes.certificate, note="From <words>.")
    )
    path = tmp_path / "placed.html"
    write_placement_page(prototypes, path, title="A & <B>", prior=prior(), k=2)
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
