import json
from importlib import import_module

import pytest
import torch
from safetensors.torch import save_file

from hyperproto import Prototypes, place

NAMES = ("cat", "dog", "fox")


def test_new_points_are_searched_for_and_the_certificate_says_what_is_left():
    placed = place(4, 3)
    more = placed.extend(4, effort="fast")  # the tetrahedron becomes a cube
    assert torch.equal(more.vectors[:4], placed.vectors)
    assert more.certificate.max_cosine == pytest.approx(1 / 3, abs=1e-6)
    assert (
        "The 4 old prototypes stay: maximum cosine -0.3333 before, 0.3333 now"
        in more.certificate.note
    )
    assert more.certificate.bound < 1 / 3  # that of eight points, not of four
    assert "0.2612 is known for 8 placed together" in more.certificate.note


def test_a_prior_says_where_the_new_class_goes():
    vectors = {
        "cat": [1, 0.1, 0],
        "dog": [1, 0, 0.1],
        "car": [0, 1, 0],
        "bus": [0, 1, 0.2],
        "lynx": [1, 0.2, 0],
    }
    placed = place(["cat", "dog", "car", "bus"], 4)
    more = placed.extend(["lynx"], prior=vectors)
    cosines = more.vectors[4] @ more.vectors[:4].T
    assert cosines[:2].min() > cosines[2:].max()
    assert torch.equal(more.vectors[:4], placed.vectors)
    assert more.certificate.prior_agreement.prior == "vectors (5 of 5 classes)"


def test_a_file_with_reserved_points_loads_without_them(tmp_path):
    path = tmp_path / "p.safetensors"
    placed = place(NAMES, 3)
    certificate = placed.certificate.to_dict() | {
        "reserved": 2,
        "max_cosine_with_reserve": 0.5,
    }  # as 0.1 wrote it
    header = json.dumps(
        {"format": "hyperproto.prototypes/2", "certificate": certificate, "names": NAMES}
    )
    tensors = {"vectors": placed.vectors, "reserve": torch.eye(2, 3, dtype=torch.float64)}
    save_file(tensors, path, metadata={"prototypes": header})
    loaded = Prototypes.load(path)
    assert torch.equal(loaded.vectors, placed.vectors)
    assert loaded.certificate == placed.certificate
    assert loaded.extend(["owl"], effort="fast").num_classes == 4


def test_classes_are_removed_and_the_others_stay():
    placed = place(NAMES, 3)
    fewer = placed.remove(["dog"])
    assert fewer.names == ("cat", "fox")
    assert torch.equal(fewer.vectors, placed.vectors[[0, 2]])
    assert fewer.certificate.method.endswith("; 1 removed")
    assert place(4, 3).remove([0]).num_classes == 3
    assert placed.remove([]) is placed


def test_classes_are_renamed():
    placed = place(NAMES, 3)
    assert placed.rename({"dog": "cat", "cat": "dog"}).names == ("dog", "cat", "fox")
    assert torch.equal(placed.rename({"fox": "vixen"}).vectors, placed.vectors)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda p: p.extend(["dog"]), 'New classes must be new; "dog" exists already'),
        (
            lambda p: p.extend(2),
            "New classes must have names, as the old ones do; got the number 2",
        ),
        (lambda p: p.extend("owl"), 'got one string, "owl"'),
        (lambda p: p.extend([]), "must be at least 1; got 0. Name at least one new class"),
        (lambda p: p.extend(["owl"], prior_weight=2.0), "`prior_weight` must come with `prior`"),
        (lambda p: p.extend(["owl"], effort="fst"), 'Unknown effort "fst".*Did you mean "fast"'),
        (
            lambda p: p.append(["owl"], torch.eye(2, 3), method="by hand"),
            r"`vectors` must have shape \(1, 3\)",
        ),
        (lambda p: p.remove(["dgo"]), 'Unknown class "dgo".*Did you mean "dog"'),
        (lambda p: p.remove(["cat", "dog"]), "must leave at least 2 classes; removing 2 leaves 1"),
        (lambda p: p.remove("cat"), 'got one string, "cat"'),
        (lambda p: p.rename({"owl": "bat"}), 'Unknown class "owl"'),
        (lambda p: p.rename({"cat": "dog"}), 'must differ; got "dog" 2 times'),
        (lambda p: place(3, 3).rename({"cat": "dog"}), "must have names; got only their number"),
        (lambda p: place(3, 3).extend(["owl"]), "Give their number, 1"),
        (lambda p: place(3, 3).remove([3]), "`classes` must be ids below 3; got 3"),
    ],
)
def test_what_cannot_be_gets_a_sentence(change, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        change(place(NAMES, 3))


def test_of_very_many_prototypes_every_pair_with_a_new_one_is_measured(monkeypatch):
    placed = place(30, 3, effort="fast")
    near = torch.nn.functional.normalize(placed.vectors[7] + 0.01 * placed.vectors[8], dim=0)[None]
    module = import_module("hyperproto.codes.certificate")
    monkeypatch.setattr(module, "can_measure", lambda count, dim: False)
    monkeypatch.setattr(module, "SAMPLE", 1)
    more = placed.append(1, near, method="by hand")
    assert more.certificate.max_cosine == pytest.approx(
        float((near @ placed.vectors.T).max()), abs=1e-14
    )
    assert more.certificate.measured == "every pair with a new point; old pairs before (all pairs)"
