import json
import math
from importlib import import_module

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from hyperproto import Prototypes, Space, place
from hyperproto.codes.measure import max_cosine
from hyperproto.spaces import Classes

NAMES = ("cat", "dog", "fox")


def test_room_is_kept_and_measured():
    placed = place(NAMES, 2, reserve=6)
    assert placed.names == NAMES
    assert placed.vectors.shape == (3, 2)
    assert placed.reserve.shape == (6, 2)
    certificate = placed.certificate
    assert certificate.reserved == 6
    assert certificate.max_cosine == pytest.approx(math.cos(2 * math.pi / 9 * 3))  # every third of nine
    assert certificate.max_cosine_with_reserve == pytest.approx(math.cos(2 * math.pi / 9))
    everything = torch.cat([placed.vectors, placed.reserve]).numpy()
    assert max_cosine(everything) == pytest.approx(certificate.max_cosine_with_reserve, abs=1e-14)
    assert place(3, 2).reserve is None


def test_reserved_points_are_given_out_first_and_old_rows_stay_bit_for_bit():
    placed = place(NAMES, 3, reserve=2)
    more = placed.extend(["owl"])
    assert more.names == (*NAMES, "owl")
    assert torch.equal(more.vectors[:3], placed.vectors)
    assert torch.equal(more.vectors[3], placed.reserve[0])
    assert torch.equal(more.reserve, placed.reserve[1:])
    assert more.certificate.reserved == 1
    most = more.extend(["bat", "ant"], effort="fast")
    assert most.reserve is None
    assert most.certificate.max_cosine_with_reserve is None
    assert torch.equal(most.vectors[:4], more.vectors)
    assert torch.equal(most.vectors[4], placed.reserve[1])
    assert "1 at reserved points, 1 by a search" in most.certificate.method


def test_without_reserve_new_points_are_searched_for_and_the_certificate_says_what_is_left():
    placed = place(4, 3)
    more = placed.extend(4, effort="fast")  # the tetrahedron becomes a cube
    assert torch.equal(more.vectors[:4], placed.vectors)
    assert more.certificate.max_cosine == pytest.approx(1 / 3, abs=1e-6)
    assert "The 4 old prototypes stay: maximum cosine -0.3333 before, 0.3333 now" in more.certificate.note
    assert more.certificate.bound < 1 / 3  # that of eight points, not of four
    assert "0.2612 is known for 8 placed together" in more.certificate.note


def test_a_prior_says_where_the_new_class_goes_and_takes_the_room_nearest_to_it():
    vectors = {"cat": [1, 0.1, 0], "dog": [1, 0, 0.1], "car": [0, 1, 0], "bus": [0, 1, 0.2], "lynx": [1, 0.2, 0]}
    placed = place(["cat", "dog", "car", "bus"], 4, reserve=4)
    more = placed.extend(["lynx"], prior=vectors)
    cosines = more.vectors[4] @ more.vectors[:4].T
    assert cosines[:2].min() > cosines[2:].max() + 0.1
    assert torch.equal(more.vectors[:4], placed.vectors)
    assert more.certificate.prior_agreement.prior == "vectors (5 of 5 classes)"
    nearest = (placed.reserve @ more.vectors[4]).argmax()
    assert torch.equal(more.reserve, torch.cat([placed.reserve[:nearest], placed.reserve[nearest + 1 :]]))


def test_a_placement_with_a_prior_keeps_room_too():
    similarity = np.array([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]])
    placed = place(NAMES, 3, prior=similarity, reserve=2, effort="fast")
    cosines = placed.vectors @ placed.vectors.T
    assert cosines[0, 1] > cosines[0, 2]
    assert placed.reserve.shape == (2, 3)
    assert placed.certificate.prior_agreement is not None


def test_a_file_keeps_the_reserve_and_older_files_have_none(tmp_path):
    path = tmp_path / "p.safetensors"
    placed = place(NAMES, 3, reserve=2)
    placed.save(path)
    loaded = Prototypes.load(path)
    assert torch.equal(loaded.reserve, placed.reserve)
    assert loaded.certificate == placed.certificate
    certificate = placed.certificate.to_dict()
    del certificate["reserved"], certificate["max_cosine_with_reserve"]  # as versions before wrote it
    header = json.dumps({"format": "hyperproto.prototypes/2", "certificate": certificate, "names": NAMES})
    save_file({"vectors": load_file(path)["vectors"]}, path, metadata={"prototypes": header})
    older = Prototypes.load(path)
    assert older.reserve is None
    assert older.certificate.reserved == 0
    assert older.extend(["owl"], effort="fast").num_classes == 4


def test_a_space_keeps_the_reserve_of_its_prototypes():
    placed = place(NAMES, 3, reserve=2)
    space = Space(3, Classes(placed))
    assert torch.equal(space.prototypes.reserve, placed.reserve)
    assert "reserve" not in " ".join(space.state_dict())
    other = {name: tensor.flip(0) for name, tensor in space.state_dict().items()}
    space.load_state_dict(other)
    assert space.prototypes.reserve is None  # it was room beside other points


def test_classes_are_removed_and_the_others_stay():
    placed = place(NAMES, 3, reserve=1)
    fewer = placed.remove(["dog"])
    assert fewer.names == ("cat", "fox")
    assert torch.equal(fewer.vectors, placed.vectors[[0, 2]])
    assert torch.equal(fewer.reserve, placed.reserve)
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
        (lambda p: p.extend(2), "New classes must have names, as the old ones do; got the number 2"),
        (lambda p: p.extend("owl"), 'got one string, "owl"'),
        (lambda p: p.extend([]), "must name at least one new class"),
        (lambda p: p.extend(["owl"], prior_weight=2.0), "`prior_weight` must come with `prior`"),
        (lambda p: p.extend(["owl"], effort="fst"), 'Unknown effort "fst".*Did you mean "fast"'),
        (lambda p: p.append(["owl"], torch.eye(2, 3), method="by hand"), r"`vectors` must have shape \(1, 3\)"),
        (lambda p: p.remove(["dgo"]), 'Unknown class "dgo".*Did you mean "dog"'),
        (lambda p: p.remove(["cat", "dog"]), "must leave at least 2 classes; removing 2 leaves 1"),
        (lambda p: p.remove("cat"), 'got one string, "cat"'),
        (lambda p: p.rename({"owl": "bat"}), 'Unknown class "owl"'),
        (lambda p: p.rename({"cat": "dog"}), 'must differ; got "dog" 2 times'),
        (lambda p: place(3, 3).rename({"cat": "dog"}), "must have names; got only their number"),
        (lambda p: place(3, 3).extend(["owl"]), "Give their number, 1"),
        (lambda p: place(3, 3).remove([3]), "`classes` must be ids below 3; got 3"),
        (lambda p: Prototypes(p.vectors, p.certificate, None, torch.eye(2)), "must have the 3 dimensions"),
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
    assert more.certificate.max_cosine == pytest.approx(float((near @ placed.vectors.T).max()), abs=1e-14)
    assert more.certificate.measured == "every pair with a new point; old pairs before (all pairs)"
