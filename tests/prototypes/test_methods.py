import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto.codes.joint import auto_weight, spectral_layout, target_cosine
from hyperproto.prototypes import methods
from hyperproto.prototypes.explore import sweep_prior_weight

NAMES = [
    "cat",
    "dog",
    "wolf",
    "car",
    "bus",
    "truck",
    "oak",
    "pine",
    "rose",
    "tulip",
    "apple",
    "pear",
]


def vectors(count=12, groups=4, seed=0):
    """Classes in groups: a shared direction, and one of their own."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((groups, 10))[
        np.arange(count) * groups // count
    ] + 0.7 * rng.standard_normal((count, 10))


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.fixture
def prior():
    return cosines(vectors())


def place(prior, dim=4, **options):
    return hp.place(NAMES, dim, prior=prior, effort="fast", workers=1, **options)


def test_a_prior_orders_the_classes_at_some_cost_in_separation(prior):
    plain, ours = hp.place(NAMES, 4, effort="fast", workers=1), place(prior)
    held = ours.certificate.prior_agreement
    assert plain.certificate.prior_agreement is None
    assert held.ranked_by_margin > 0.7
    assert held.spearman > 0.6
    assert plain.certificate.max_cosine <= ours.certificate.max_cosine < 0.8
    assert held.weight == pytest.approx(auto_weight(12, 4))


def test_more_weight_gives_more_meaning_and_less_separation(prior):
    light, heavy = (place(prior, prior_weight=weight).certificate for weight in (0.5, 50.0))
    assert light.prior_agreement.loss > heavy.prior_agreement.loss
    assert light.max_cosine < heavy.max_cosine


def test_weight_zero_is_separation_only(prior):
    plain = hp.place(NAMES, 4, effort="fast", workers=1)
    none = place(prior, prior_weight=0)
    assert torch.equal(plain.vectors, none.vectors)
    assert none.certificate.prior_agreement.weight == 0


def test_assignment_keeps_the_separation_of_the_code_and_means_more(prior):
    none, assigned = place(prior, prior_weight=0), place(prior, method="assign")
    assert assigned.certificate.max_cosine == none.certificate.max_cosine
    assert assigned.certificate.prior_agreement.loss < none.certificate.prior_agreement.loss
    assert {tuple(row) for row in assigned.vectors.tolist()} == {
        tuple(row) for row in none.vectors.tolist()
    }


def test_projection_keeps_the_axes_of_the_prior_and_parts_what_is_too_near(prior):
    ranked, projected = place(prior), place(prior, method="project")
    wished = target_cosine(12, 4)
    assert projected.certificate.max_cosine < wished + 0.01
    layout = spectral_layout(prior, np.arange(12), 12, 4, seed=0)
    near = [(made.vectors.numpy() * layout).sum(axis=1).mean() for made in (projected, ranked)]
    assert near[0] > 0.95
    assert near[0] > near[1]
    assert projected.certificate.prior_agreement.ranked_by_margin > 0.7
    assert torch.equal(projected.vectors, place(prior, method="project").vectors)


def test_projection_places_classes_without_prior_apart_and_refuses_too_many(monkeypatch):
    known = dict(zip(NAMES[:-2], vectors()[:-2], strict=True))
    partly = place(known, missing="free", method="project")
    assert torch.equal(partly.vectors, place(known, missing="free").vectors)
    monkeypatch.setattr(methods, "MATRIX_POINTS", 11)
    with pytest.raises(ValueError, match="at most 11, which it stores every pair of; got 12"):
        place(cosines(vectors()), method="project")


def test_projection_of_similarities_that_no_vectors_have_keeps_like_classes_together():
    signs = np.repeat([1.0, -1.0], 3)
    across = -0.9 * np.outer(signs, signs)  # like the other group, unlike one's own
    np.fill_diagonal(across, 1.0)
    placed = hp.place(6, 3, prior=across, method="project").certificate
    assert placed.prior_agreement.spearman > 0


def test_on_a_circle_projection_is_the_weighed_placement(prior):
    assert torch.equal(place(prior, dim=2, method="project").vectors, place(prior, dim=2).vectors)


def test_assignment_of_a_simplex_says_that_it_means_nothing(prior):
    assert (
        "no assignment can mean anything" in place(prior, dim=11, method="assign").certificate.note
    )


def test_paper_sums_both_equations_with_weight_one(prior, monkeypatch):
    seen = {}
    original = methods.paper_descent

    def fewer(*args, **options):
        seen.update(options)
        return original(*args, **{**options, "steps": 300})

    monkeypatch.setattr(methods, "paper_descent", fewer)
    made = place(prior, method="paper").certificate
    assert seen["weight"] == 1.0
    assert "Eq. 5 + 1 x Eq. 6" in made.method
    assert made.prior_agreement.spearman > 0.3


def test_a_tensor_an_array_and_vectors_by_name_are_the_same_prior(prior):
    by_name = dict(zip(NAMES, vectors(), strict=True))
    made = [place(p).vectors for p in (prior, torch.from_numpy(prior), by_name)]
    assert torch.equal(made[0], made[1])
    torch.testing.assert_close(made[0], made[2], atol=1e-6, rtol=0)


def test_the_seed_fixes_every_bit_for_any_number_of_workers(prior):
    one, two = (hp.place(NAMES, 3, prior=prior, effort="fast", workers=w).vectors for w in (1, 2))
    assert torch.equal(one, two)


def test_a_progress_bar_shows_no_number_that_is_not_known(prior, capsys):
    place(prior, progress=True)
    shown = capsys.readouterr().err
    assert "placing 12 in" in shown
    assert "nan" not in shown


def test_classes_without_prior_are_placed_by_separation_alone():
    known = dict(zip(NAMES[:-2], vectors()[:-2], strict=True))
    with pytest.raises(ValueError, match='"apple".*"pear"'):
        place(known)
    free = place(known, missing="free")
    assert free.num_classes == 12
    assert "10 of 12 classes" in free.certificate.prior_agreement.prior
    assert free.certificate.max_cosine < 0.8
    with pytest.raises(ValueError, match="A prior for an assignment must know every class"):
        place(known, missing="free", method="assign")


def test_more_dimensions_than_classes_are_fine(prior):
    made = place(prior, dim=30)
    assert made.certificate.prior_agreement.spearman > 0.9
    assert auto_weight(12, 30) == auto_weight(12, 11)


def test_the_certificate_is_saved_with_both_sides(prior, tmp_path):
    made = place(prior)
    made.save(tmp_path / "p.safetensors")
    again = hp.Prototypes.load(tmp_path / "p.safetensors")
    assert again.certificate == made.certificate
    assert again.certificate.prior_agreement == made.certificate.prior_agreement


def test_many_classes_are_ranked_by_sampled_anchors_and_it_says_so(monkeypatch):
    monkeypatch.setattr(methods, "ALL_ANCHORS", 40)
    monkeypatch.setattr(methods, "SAMPLED_ANCHORS", 20)
    monkeypatch.setattr(methods, "MEASURED", 30)
    monkeypatch.setattr(methods, "MATRIX_POINTS", 50)
    rows = vectors(120, groups=12)
    made = hp.place(120, 8, prior=rows, effort="fast", workers=1).certificate
    assert "20 sampled anchors, not all 120" in made.note
    assert made.prior_agreement.measured == "all triplets of 30 classes drawn at random"
    assert "tiled descent with ranking" in made.method
    plain = hp.place(120, 8, prior=rows, prior_weight=0, effort="fast", workers=1).certificate
    assert made.prior_agreement.ranked_by_margin > plain.prior_agreement.ranked_by_margin + 0.2
    assert made.max_cosine < 0.95


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"prior_weight": -1.0}, "prior_weight"),
        ({"prior_weight": "heavy"}, '`prior_weight` must be a number from 0 on, or "auto"'),
        (
            {"prior_weight": 2.0, "method": "project"},
            "with method=.project., which has no Equation 6",
        ),
        ({"method": "random"}, "be left out of random placement"),
        ({"method": "assing"}, 'Did you mean "assign"'),
    ],
)
def test_a_mistake_gets_a_sentence(prior, options, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        place(prior, **options)


def test_a_weight_or_an_assignment_needs_a_prior():
    for options in ({"prior_weight": 2.0}, {"method": "assign"}, {"method": "project"}):
        with pytest.raises(ValueError, match="`prior` must be given with `prior_weight`"):
            hp.place(5, 3, **options)


def test_two_classes_have_no_order():
    with pytest.raises(ValueError, match="three classes at least"):
        hp.place(2, 3, prior=np.eye(2))


def test_a_sweep_holds_separation_only_assignment_and_auto(prior):
    rows = sweep_prior_weight(NAMES, 4, prior, effort="fast")
    labels = [label for label, _ in rows]
    assert labels[:2] == ["separation only", "assignment"]
    assert labels.count("auto") == 1
    swept = [
        placed.certificate for _, placed in rows if placed.certificate.prior_agreement.weight > 0
    ]
    assert swept[0].max_cosine < swept[-1].max_cosine
    assert swept[0].prior_agreement.ranked_by_margin < swept[-1].prior_agreement.ranked_by_margin


def test_a_sweep_leaves_assignment_out_where_there_are_too_many_classes(monkeypatch):
    monkeypatch.setattr(methods, "ALL_ANCHORS", 10)
    rows = sweep_prior_weight(12, 4, vectors(), effort="fast", workers=1)
    assert [label for label, _ in rows] == ["separation only", "", "", "auto", "", ""]
