import copy
from dataclasses import dataclass

import pytest

from hyperproto._core.errors import HyperprotoError
from hyperproto._core.schema import from_plain
from hyperproto.data.preprocessing import ImagePreprocessing, preprocessing_from_dict
from hyperproto.spec import DataSpec, NetworkSpec, RunSpec, TrainSettings

RUN = RunSpec(
    data=DataSpec(reader="table", path="/t.csv", options={"classes": ["a"]}, tasks=("a",))
)
COLUMN = {
    "name": "a",
    "kind": "number",
    "fill": [0.0],
    "gaps": True,
    "categories": [],
    "buckets": 0,
}
TABLE = {
    "kind": "table",
    "encoder": {"columns": [COLUMN]},
    "scaling": {"mean": [0.0, 1.0], "scale": [1.0, 2.0]},
}
IMAGES = {"kind": "images", "size": 32, "mean": [0.5], "std": [0.5], "resize": None}
STRANGE = [None, True, -1, 10**30, 1e999, "text", "", [], [[]], {}, {"a": 1}, [None]]


def places(values, path=()):
    """Yield the path to every value in nested plain values."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield (*path, key)
            yield from places(value, (*path, key))


@pytest.mark.parametrize(
    ("plain", "build"),
    [
        (RUN.to_dict(), RunSpec.from_dict),
        (TABLE, preprocessing_from_dict),
        (IMAGES, preprocessing_from_dict),
    ],
    ids=["run", "table", "images"],
)
def test_every_value_of_a_wrong_kind_is_our_own_error(plain, build):
    build(copy.deepcopy(plain))
    refused = 0
    for path in places(plain):
        for strange in STRANGE:
            changed = copy.deepcopy(plain)
            *outer, last = path
            inner = changed
            for key in outer:
                inner = inner[key]
            inner[last] = strange
            try:
                build(changed)
            except HyperprotoError:
                refused += 1
        inner.pop(last)
        try:
            build(changed)
        except HyperprotoError:
            refused += 1
    assert refused > 5 * len(list(places(plain)))


def test_what_comes_out_is_typed():
    assert RunSpec.from_dict(RUN.to_dict()) == RUN
    assert preprocessing_from_dict(IMAGES) == ImagePreprocessing(32, (0.5,), (0.5,))
    made = from_plain(
        RunSpec, {"data": {"reader": "digits"}, "train": {"epochs": 3}, "network": NetworkSpec()}
    )
    assert (made.train, made.data.tasks) == (TrainSettings(epochs=3), ())


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([], "A RunSpec must be described by its fields; got list"),
        ({}, "`data` must be given for a RunSpec"),
        (
            {"data": {"reader": "digits"}, "train": []},
            "A TrainSettings must be described by its fields; got list",
        ),
        ({"data": {"reader": 3}}, "`reader` must be text; got 3"),
        ({"data": {"reader": "digits", "tasks": "ab"}}, "`tasks` must be a list; got 'ab'"),
        ({"data": {"reader": "digits", "keep": ["memory"]}}, "Unknown keep .*Choose from"),
        (
            {"data": {"reader": "digits", "skip_corrupt": 1}},
            "`skip_corrupt` must be true or false; got 1",
        ),
        (
            {"data": {"reader": "digits"}, "trian": {}},
            'Unknown field of RunSpec "trian".*Did you mean "train"',
        ),
    ],
)
def test_the_error_names_the_field(values, sentence):
    with pytest.raises(HyperprotoError, match=sentence):
        from_plain(RunSpec, values)


def test_numbers_of_a_file_are_those_of_the_machine():
    @dataclass
    class Sizes:
        share: float
        count: int = 0

    assert type(from_plain(Sizes, {"share": 10**30}).share) is float
    with pytest.raises(ValueError, match="`count` must be at most"):
        from_plain(Sizes, {"share": 0.5, "count": 10**30})
