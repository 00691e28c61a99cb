"""Tables with words, dates and gaps go straight into the estimators."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import hyperproto as hp
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.schema import from_plain
from hyperproto.data.preprocessing import Standardizer, TablePreprocessing
from hyperproto.data.readers import describe_data
from hyperproto.data.tables import read_table
from hyperproto.estimators import (
    HypersphericalClassifier,
    HypersphericalMultiTask,
    HypersphericalRegressor,
)
from hyperproto.runtime.tables import MOST_CATEGORIES, ColumnCode, TableEncoder, frame_columns
from hyperproto.spec import RunSpec, TrainSettings
from hyperproto.training import read_run, train

PARTS = [
    "size",
    "size is empty",
    "color=blue",
    "color=red",
    "old",
    "seen day",
    "seen weekday",
    "seen hour",
]


@pytest.fixture
def frame():
    draw = np.random.default_rng(0)
    color = draw.choice(["red", "blue"], 80)
    size = np.where(draw.random(80) < 0.2, np.nan, draw.normal(size=80))
    when = pd.Timestamp("2024-01-01 06:00") + pd.to_timedelta(draw.integers(0, 400, 80), unit="h")
    return pd.DataFrame({"size": size, "color": color, "old": draw.random(80) < 0.5, "seen": when})


def test_each_kind_of_column_becomes_numbers(frame):
    frame.loc[0] = [np.nan, "green", True, pd.Timestamp("2024-01-03 13:30")]
    encoder = TableEncoder.fit(frame_columns(frame))
    assert list(encoder.outputs) == PARTS
    day = (pd.Timestamp("2024-01-03 13:30") - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    found = encoder.encode(frame_columns(frame))[0]
    np.testing.assert_allclose(
        found, [np.nanmedian(frame["size"]), 1, 0, 0, 1, day, 2, 13]
    )  # green occurs once
    again = from_plain(TableEncoder, json.loads(json.dumps(asdict(encoder))))
    assert again == encoder


def test_durations_are_seconds():
    frame = pd.DataFrame(
        {"took": pd.to_timedelta([90, 30, None, 60], unit="s"), "kind": list("abab")}
    )
    arrow = pyarrow.Table.from_pandas(frame)
    for table in (frame, arrow):
        encoder = TableEncoder.fit(frame_columns(table))
        assert encoder.outputs == ("took", "took is empty", "kind=a", "kind=b")
        assert encoder.encode(frame_columns(table))[:, 0].tolist() == [90, 30, 60, 60]


@pytest.mark.parametrize("kind", [HypersphericalClassifier, HypersphericalRegressor])
def test_plain_arrays_hold_finite_numbers(kind):
    X, y = np.array([[0.0, 1], [2, 3], [1, 1], [3, 0]] * 5), np.array([0, 1, 0, 1] * 5)
    kind(epochs=1).fit(X.astype(object), y)
    gap = X.copy()
    gap[2, 1] = np.nan
    for values in (gap, gap.astype(object)):
        with pytest.raises(ValueError, match="contains NaN"):
            kind(epochs=1).fit(values, y)
    kind(epochs=1).fit(pd.DataFrame(gap), y)
    words = X.astype(object)
    words[0, 0] = "red"
    for values in (words, words.tolist(), np.array([["red", "blue"]] * 20)):
        with pytest.raises(
            InputError,
            match="^`X` must hold numbers; got 'red'. Words may be in tables with named columns",
        ):
            kind(epochs=1).fit(values, y)
    with pytest.raises(InputError, match="^`X` must hold numbers; got 'red'"):
        kind(epochs=1).fit(pd.DataFrame(X), y).predict(pd.DataFrame(words))


def test_very_many_categories_are_hashed():
    names = {"name": [f"number {index}" for index in range(2 * MOST_CATEGORIES)] * 2}
    encoder = TableEncoder.fit(names)
    rows = encoder.encode(names)
    assert rows.shape == (4 * MOST_CATEGORIES, MOST_CATEGORIES)
    assert (rows.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(rows[0], encoder.encode({"name": ["number 0"]})[0])


def test_categories_of_pandas_stay_categories_where_they_look_like_numbers():
    frame = pd.DataFrame(
        {"code": pd.Categorical([1, 2, 1, 2]), "count": pd.array([1, None, 3, 4], dtype="Int64")}
    )
    encoder = TableEncoder.fit(frame_columns(frame))
    assert encoder.outputs == ("code=1", "code=2", "count", "count is empty")


@pytest.mark.parametrize(
    "kind", [HypersphericalClassifier, HypersphericalRegressor, HypersphericalMultiTask]
)
def test_estimators_take_tables_and_keep_how_when_saved(kind, frame, tmp_path):
    y = (
        (frame["color"] == "red")
        .astype(float if kind is HypersphericalRegressor else str)
        .to_numpy()
    )
    model = kind(random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.9
    model.save(tmp_path / "model")
    loaded = hp.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert loaded.n_features_in_ == 4
    table = pyarrow.Table.from_pandas(frame)
    np.testing.assert_array_equal(loaded.predict(table), model.predict(frame))


def test_what_training_has_not_seen_is_handled(frame):
    y = frame["color"].to_numpy()
    model = HypersphericalClassifier(random_state=0).fit(frame, y)
    other = frame.assign(color="green", size=np.nan, more=1)[
        ["more", "seen", "old", "color", "size"]
    ]
    assert set(model.predict(other)) <= {"red", "blue"}  # in another order, with a column too many
    with pytest.raises(ValueError, match='must have a column "old"'):
        model.predict(frame.drop(columns="old"))
    with pytest.raises(
        ValueError, match="Column \"size\" must hold finite numbers.*'big' in row 1"
    ):
        model.predict(frame.assign(size="big"))
    with pytest.raises(TypeError, match="must be a table with named columns"):
        model.predict(np.zeros((3, 4)))


def test_many_rows_are_binned_and_learn_what_has_thresholds(tmp_path):
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": draw.random(4800) * 9, "color": draw.choice(["red", "blue"], 4800)}
    )
    y = np.where(frame["size"].astype(int) % 3 == 1, "middle", "side")
    model = HypersphericalClassifier(epochs=3, replay=2, random_state=0).fit(frame[:4000], y[:4000])
    assert [len(knots) for knots in model.inputs_.knots] == [5, 0, 0]
    assert model.network_.config["in_features"] == 3 + 4
    assert tuple(model.network_.config["hidden"]) == (100, 100)
    assert model.settings_.batch_size == 125
    few = HypersphericalClassifier(epochs=3, random_state=0).fit(frame[:3999], y[:3999])
    assert few.inputs_.knots == ()
    assert model.score(frame[4000:], y[4000:]) > 0.85 > few.score(frame[4000:], y[4000:])
    model.save(tmp_path / "model")
    back = hp.load(tmp_path / "model")
    np.testing.assert_array_equal(back.cosines(frame), model.cosines(frame))
    pytest.importorskip("onnxruntime")
    model.export(tmp_path / "exported", frame)
    found = hp.runtime.Predictor(tmp_path / "exported").predict_proba(frame)
    np.testing.assert_allclose(found, model.predict_proba(frame), atol=1e-4)  # float32


def test_many_rows_are_binned_in_the_same_way_on_the_command_line(tmp_path):
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": draw.normal(size=4000).astype(np.float32), "age": draw.integers(0, 90, 4000)}
    )
    kind = np.where(frame["size"] > 0, "big", "small")
    frame.assign(kind=kind).to_csv(tmp_path / "t.csv", index=False)
    spec = describe_data(tmp_path / "t.csv", classes=["kind"], held_out=0.0)
    run = train(RunSpec(data=spec, train=TrainSettings(epochs=1)), tmp_path / "run", progress=False)
    model = HypersphericalClassifier(epochs=1, random_state=0).fit(frame, kind)
    assert run.network.config == model.network_.config
    stored = read_run(tmp_path / "run")
    assert stored.settings == {**model.settings_.to_dict(), "seed": 0}
    knots = stored.preprocessing["scaling"]["knots"]
    np.testing.assert_allclose(
        np.concatenate(knots), np.concatenate(model.inputs_.knots), rtol=1e-6
    )


def test_a_table_of_numbers_alone_is_taken_as_it_is():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    y = (frame["a"] > 0).to_numpy()
    one, other = (
        HypersphericalClassifier(random_state=0).fit(X, y) for X in (frame, frame.to_numpy())
    )
    assert one.encoder_ is None
    np.testing.assert_array_equal(one.cosines(frame), other.cosines(frame.to_numpy()))


WORDS = [f"word{index}" for index in range(1200)]


def write_texts(path):
    """Write a table of texts with more different words than there are rows, and return the texts
    and their kinds.
    """
    draw = np.random.default_rng(0)
    kinds = draw.choice(["a", "b", "c"], 120)
    texts = [f"{' '.join(draw.choice(WORDS, 30))} {kind}{kind}" for kind in kinds]
    pd.DataFrame({"text": texts, "kind": kinds}).to_csv(path, index=False)
    return texts, kinds


def test_a_text_gets_the_same_network_and_settings_on_the_command_line(tmp_path):
    texts, kinds = write_texts(tmp_path / "texts.csv")
    spec = describe_data(tmp_path / "texts.csv", text="text", classes=["kind"], held_out=0.0)
    run = train(RunSpec(data=spec, train=TrainSettings(epochs=1)), tmp_path / "run", progress=False)
    rows = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    model = HypersphericalClassifier(epochs=1, random_state=0).fit(rows, kinds)
    assert run.network.config == model.network_.config
    assert run.network.config["dropout"] == 0.5
    stored = read_run(tmp_path / "run").settings
    assert stored == {**model.settings_.to_dict(), "seed": 0}


def test_numbers_with_gaps_are_the_same_inputs_on_the_command_line(tmp_path):
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": draw.normal(size=80).round(3), "age": draw.integers(0, 90, 80).astype(float)}
    )
    kind = np.where(frame["size"] > 0, "big", "small")
    frame.loc[::7, "age"] = np.nan
    frame.assign(kind=kind).to_csv(tmp_path / "t.csv", index=False)
    source = read_table(tmp_path / "t.csv", classes=["kind"], held_out=0)
    model = HypersphericalClassifier(epochs=1, random_state=0).fit(frame, kind)
    assert source.preprocessing.encoder == model.encoder_
    assert source.preprocessing.encoder.outputs == ("size", "age", "age is empty")
    mine, theirs = source.preprocessing.scaling, model.inputs_
    np.testing.assert_allclose(
        [mine.mean, mine.scale], [theirs.mean, theirs.scale], rtol=1e-6
    )  # read as float32


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"kind": "number"}, "`fill` must have 1 numbers for number; got 0"),
        ({"kind": "date", "fill": [0.0]}, "`fill` must have 3 numbers for date; got 1"),
        ({"kind": "text", "fill": [1.0], "categories": ["a", "b"]}, "`fill` must have 2 numbers"),
        ({"kind": "categories", "categories": ["a", "a"]}, "`categories` must differ"),
        ({"kind": "categories", "buckets": 10**9}, "`buckets` must be from 0 to 256"),
    ],
)
def test_a_stored_column_that_contradicts_itself_is_refused(values, sentence):
    with pytest.raises(ValueError, match=sentence):
        from_plain(ColumnCode, {"name": "a", **values})


def test_a_stored_text_is_the_only_column_and_only_divided():
    text = ColumnCode("t", "text", (1.0,), categories=("a",))
    with pytest.raises(ValueError, match="must be the only one"):
        TableEncoder((text, ColumnCode("n", "number", (0.0,))))
    with pytest.raises(ValueError, match="must only be divided"):
        TablePreprocessing(TableEncoder((text,)), Standardizer((1.0,), (1.0,)))


def test_free_text_as_a_column_warns_and_alone_gets_a_sentence():
    texts = pd.Series([f"this is message number {i}" for i in range(40)])
    y = np.arange(40) % 2
    with pytest.warns(
        UserWarning, match='^"said" says something else in nearly every row.*TfidfVectorizer'
    ):
        HypersphericalClassifier(epochs=1).fit(
            pd.DataFrame({"said": texts, "size": np.arange(40) % 7}), y
        )
    for given in (texts, list(texts)):
        with pytest.raises(
            ValueError, match="must be a table of numbers.* got texts.*TfidfVectorizer"
        ):
            HypersphericalClassifier().fit(given, y)


class Column(list):
    """A column as polars has it: a type that is a number or not, and ``to_list``."""

    dtype = property(lambda self: self)

    def is_numeric(self):
        return all(isinstance(cell, float) for cell in self)

    def to_list(self):
        return list(self)


class EagerFrame(dict):
    columns = property(lambda self: list(self))


class LazyFrame(EagerFrame):
    columns = property(lambda self: pytest.fail("its columns were computed"))

    def collect(self):
        return EagerFrame(self)


def test_a_frame_of_polars_is_read_once_it_is_in_memory(frame):
    cells = frame.drop(columns="size").astype(object)
    kinds = {name: Column(cells[name].tolist()) for name in cells}
    kinds["numbers"] = Column([0.5] * len(frame))
    found = frame_columns(EagerFrame(kinds))
    assert isinstance(found["numbers"], np.ndarray)
    expected = TableEncoder.fit(frame_columns(frame.drop(columns="size").assign(numbers=0.5)))
    assert TableEncoder.fit(found) == expected
    with pytest.raises(InputTypeError, match="in memory") as wrong:
        HypersphericalClassifier().fit(LazyFrame(kinds), np.arange(len(frame)) % 2)
    assert "collect" in wrong.value.advice


@pytest.mark.parametrize("names", [["a", "a", "b"], [1, "b", "1"]])
def test_two_columns_of_one_name_get_a_sentence(names):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=names)
    with pytest.raises(InputError, match="different names") as wrong:
        HypersphericalClassifier().fit(table, np.arange(20) % 2)
    assert wrong.value.got == f'"{names[0]}" 2 times'


def test_a_table_of_polars_is_learned_from_as_one_of_pandas_is(frame):
    polars = pytest.importorskip("polars")
    y = np.arange(len(frame)) % 2
    for table in (frame, frame.select_dtypes("float").fillna(0.0)):
        same = polars.DataFrame(
            {name: frame_columns(table)[name] for name in table}, nan_to_null=True
        )
        ours, theirs = (
            HypersphericalClassifier(epochs=1, random_state=0).fit(X, y).decision_function(X)
            for X in (table, same)
        )
        np.testing.assert_allclose(theirs, ours, atol=1e-6)
        with pytest.raises(InputTypeError):
            HypersphericalClassifier().fit(same.lazy(), y)


def test_complex_columns_are_refused():
    table = pd.DataFrame({"a": np.ones(20) * 1j, "b": np.arange(20)})
    with pytest.raises(InputTypeError) as wrong:
        HypersphericalClassifier().fit(table, np.arange(20) % 2)
    assert (wrong.value.argument, str(wrong.value.got)) == ('Column "a"', "complex128")


def test_a_column_that_is_missing_at_prediction_is_named_with_the_nearest(frame):
    model = HypersphericalClassifier(epochs=1).fit(frame, np.arange(len(frame)) % 2)
    with pytest.raises(InputError) as wrong:
        model.predict(frame.rename(columns={"size": "sice"}))
    assert wrong.value.rule == 'have a column "size", as in training'
    assert "sice" in wrong.value.advice
