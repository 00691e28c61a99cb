import io

import numpy as np
import pytest
import torch
from rich.console import Console

import hyperproto as hp
from hyperproto.codes.measure import row_blocks
from hyperproto.priors import Prior, from_similarity
from hyperproto.report import compare_neighbors, print_neighbors, prior_groups
from hyperproto.report.neighbors import nearest
from tests.report.test_projection import directions

NAMES = ["cat", "dog", "car", "bus", "oak", "elm"]


def prior(known=(True,) * 6, source="by hand") -> Prior:
    """Three pairs that belong together; everything else is far, and a little different."""
    similarity = 0.01 * np.arange(36).reshape(6, 6)
    similarity = (similarity + similarity.T) / 2
    for i in (0, 2, 4):
        similarity[i, i + 1] = similarity[i + 1, i] = 0.9
    return Prior(similarity, np.array(known), source)  # the diagonal is ignored


def placed(vectors, names=NAMES) -> hp.Prototypes:
    return hp.Prototypes.from_tensor(torch.from_numpy(vectors), names, method="by hand")


def nearest_by(similarity, k):
    return nearest(similarity, np.arange(len(similarity)), k)


def printed(table, **options) -> str:
    text = io.StringIO()
    print_neighbors(table, Console(file=text, width=160), **options)
    return text.getvalue()


def test_nearest_agrees_with_sorting_every_row():
    similarity = directions(30, 30) @ directions(30, 30).T
    ids, values, _ = nearest_by(similarity, 4)
    for i in range(30):
        order = sorted((j for j in range(30) if j != i), key=lambda j: -similarity[i, j])
        assert ids[i].tolist() == order[:4]
        assert values[i] == pytest.approx(similarity[i, order[:4]])


def test_blocks_change_nothing(monkeypatch):
    vectors = directions(23, 5)
    prior = from_similarity(vectors @ vectors.T)
    whole = compare_neighbors(placed(vectors, None), prior, k=3)
    whole_ids, _, _ = nearest_by(vectors @ vectors.T, 3)
    blocks = []

    def few_rows(count, columns):
        blocks.extend(row_blocks(count, columns, entries=50))
        return blocks

    monkeypatch.setattr("hyperproto.report.neighbors.row_blocks", few_rows)
    assert compare_neighbors(placed(vectors, None), prior, k=3) == whole
    assert len(blocks) > 5
    assert all(row.shared == {n.name for n in row.prior} for row in whole.rows)
    assert [[int(n.name) for n in row.placement] for row in whole.rows] == whole_ids.tolist()


def test_ties_come_in_the_order_of_the_classes_and_are_said():
    table = compare_neighbors(hp.place(4, 3), k=2)
    assert [[n.name for n in row.placement] for row in table.rows] == [["1", "2"], ["0", "2"], ["0", "1"], ["0", "1"]]
    assert all(row.tied for row in table.rows)
    assert "* others are as near as the last one listed" in printed(table)


def test_both_sides_and_what_they_share():
    vectors = (
        np.eye(6) + 0.5 * np.eye(6)[[1, 0, 4, 5, 2, 3]]
    )  # cat and dog are near; car stands with oak, bus with elm
    table = compare_neighbors(placed(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)), prior(), k=1)
    cat, car = table.rows[0], table.rows[2]
    assert cat.prior == (("dog", pytest.approx(0.9)),)
    assert cat.placement == (("dog", pytest.approx(0.8)),)
    assert cat.shared == {"dog"}
    assert (car.prior[0].name, car.placement[0].name, car.shared) == ("bus", "oak", frozenset())
    assert table.overlap == pytest.approx(2 / 6)
    assert table.chance == pytest.approx(1 / 5)


def test_only_the_classes_asked_for_are_answered():
    table = compare_neighbors(placed(directions(6, 4)), prior(), classes=["oak", "cat"], k=2)
    assert [row.name for row in table.rows] == ["oak", "cat"]
    assert table.rows[0].prior[0].name == "elm"


def test_a_class_outside_the_prior_has_no_prior_and_is_nobodys():
    known = [True, False, True, True, True, True]
    table = compare_neighbors(placed(directions(6, 4)), prior(known), k=5)
    assert table.rows[1].prior is None
    assert all(n.name != "dog" for row in table.rows for n in row.prior or ())
    assert any(n.name == "dog" for row in table.rows for n in row.placement)
    assert "not in the prior" in printed(table)


def test_the_printed_table_ticks_shared_names_and_says_what_it_leaves_out():
    table = compare_neighbors(hp.place(NAMES, 3, method="random"), prior(), k=5)
    text = printed(table, limit=2)
    assert "dog" in text
    assert "✓" in text
    assert "5 of 5" in text  # five of five others
    assert "4 more classes" in text
    assert "100% are among the 5 nearest in the placement (mean of 6 classes; by chance 100%)" in text
    assert "shared" not in printed(compare_neighbors(placed(directions(6, 4))))


def test_a_name_is_text_not_markup():
    table = compare_neighbors(placed(directions(3, 3), ["[red]a", "[/]", "c"]), k=2)
    assert "[red]a" in printed(table)


def test_groups_follow_the_prior():
    groups = prior_groups(prior(), NAMES, num_groups=3)
    assert groups == ("cat, dog", "cat, dog", "car, bus", "car, bus", "oak, elm", "oak, elm")
    known = [True, True, True, True, False, True]
    assert prior_groups(prior(known), NAMES, num_groups=2)[4] == "not in the prior"


def test_mistakes_are_explained():
    prototypes = placed(directions(6, 4))
    with pytest.raises(ValueError, match=r'must be among the 6 class names; got "cta". Did you mean "cat"'):
        compare_neighbors(prototypes, classes=["cta"])
    with pytest.raises(ValueError, match="`prior` must be for the 6 classes that were placed; got one for 5"):
        compare_neighbors(prototypes, from_similarity(np.eye(5)))
    with pytest.raises(ValueError, match="`k` must be at least 1"):
        compare_neighbors(prototypes, k=0)
    with pytest.raises(ValueError, match="`names` must name the 5 classes of the prior; got 6"):
        prior_groups(from_similarity(np.eye(5)), NAMES)
