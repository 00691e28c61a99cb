"""Descriptions of spaces as runs store them are read, and written again as they were."""

import hyperproto as hp
from hyperproto.baselines import space_from_dict

CLASSES = {"task": "classes", "classes": ["a", "b", "c"], "weight": 1.0, "class_weights": None}
RANGE = {
    "task": "range",
    "low": 0.0,
    "high": 180.0,
    "margin": 0.1,
    "outside": "clip",
    "weight": 1.0,
}
RANGE["loss"] = "squared"


def stored(kind, dim, *tasks, bare=False, **options):
    return {"kind": kind, "dim": dim, "bare": bare, "tasks": list(tasks), **options}


def classes(loss, name="target", **loss_options):
    return {"name": name, **CLASSES, "loss": {"name": loss, **loss_options}}


def test_spheres_are_read_and_written_as_they_were():
    for loss, expected in [
        (classes("squared_cosine"), hp.losses.SquaredCosine()),
        (classes("cosine_softmax", scale=16.0), hp.losses.CosineSoftmax(16.0)),
        (classes("free_norm_softmax", gain=1.0), hp.losses.FreeNormSoftmax()),
        (classes("power_cosine", q=0.5, floor=1e-4), hp.losses.PowerCosine()),
        (
            classes("sampled_cosine_softmax", scale=16.0, negatives=0),
            hp.losses.SampledCosineSoftmax(16.0),
        ),
    ]:
        before = stored("sphere", 2, loss, bare=True)
        space = space_from_dict(before, {})
        assert type(space) is hp.Space
        assert space.tasks["target"].loss == expected
        assert space.to_dict() == before


def test_other_spaces_are_read_and_written_as_they_were():
    both = [classes("squared_cosine", name="kind"), {"name": "angle", **RANGE}]
    for before, kind in [
        (stored("conventional", 4, *both, clamp="test", width=1), hp.baselines.ConventionalSpace),
        (stored("conventional", 5, *both, clamp="train", width=2), hp.baselines.ConventionalSpace),
    ]:
        space = space_from_dict(before, {})
        assert type(space) is kind
        assert space.dim == before["dim"]
        assert space.to_dict() == before
