"""The runtime by itself: no torch, one sentence for whatever is wrong, and the same answers from
every thread.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save
from sklearn.feature_extraction.text import TfidfVectorizer

from hyperproto.runtime import InputError, ModelError, Predictor
from hyperproto.runtime.answers import rank
from hyperproto.runtime.cli import main
from hyperproto.runtime.csv_files import read_table
from hyperproto.runtime.session import ELSEWHERE
from hyperproto.runtime.tables import ColumnCode
from tests.serve.models import NAMES, write_model

ROWS = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)


def test_predicting_loads_no_torch(exported):
    code = (
        "import sys; from hyperproto.runtime import Predictor; "
        f"Predictor({str(exported)!r}).answer([[0.1, 0.2, 0.3]]); "
        "assert not {'torch', 'sklearn', 'scipy', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_answers_are_plain_values(exported):
    answer = Predictor(exported).answer({"a": 1, "b": -0.5, "c": 2}, top=2)[0]
    assert json.loads(json.dumps(answer)) == answer
    kind = answer["predictions"]["kind"]
    assert list(kind) == ["name", "cosine", "probability", "calibrated", "outlier", "top", "set"]
    assert kind["calibrated"] is True
    assert kind["top"][0]["name"] == kind["name"]
    assert np.linalg.norm(answer["point"]) == pytest.approx(1, abs=1e-6)


def test_threads_share_one_predictor(exported):
    predictor = Predictor(exported, threads=1)
    wanted = predictor.predict_proba(ROWS)["kind"]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: predictor.predict_proba(ROWS)["kind"], range(40)):
            assert np.array_equal(found, wanted)


def test_one_row_and_many_agree(exported, monkeypatch):
    predictor = Predictor(exported)
    many = predictor.scores(ROWS)["kind"]
    monkeypatch.setattr("hyperproto.runtime.predictor.AT_ONCE", 7)  # rows by twos
    np.testing.assert_allclose(predictor.scores(ROWS)["kind"], many, atol=1e-6)
    single = np.concatenate([predictor.scores(row[None])["kind"] for row in ROWS])
    np.testing.assert_allclose(single, many, atol=1e-6)


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ([[1, 2]], r"`inputs` must have shape \(n, 3\); got \(1, 2\)"),
        ([], "must have shape"),
        ([[1, 2, float("nan")]], r"must be finite; got NaN or infinity in 1 of 1 rows"),
        ([["a", "b", "c"]], "must be numbers"),
        ([{"a": 1, "b": 2}], 'Row 1 must have a value for "c"'),
        (np.zeros((0, 3)), "must be at least one"),
        (pd.DataFrame({"a": [1.0], "b": [2.0]}), '`inputs` must have a column "c"'),
    ],
)
def test_inputs_that_do_not_fit_get_a_sentence(exported, inputs, sentence):
    with pytest.raises((InputError, TypeError), match=sentence):
        Predictor(exported).predict(inputs)


def _change(folder, change):
    described = json.loads((folder / "model.json").read_text())
    change(described)
    (folder / "model.json").write_text(json.dumps(described))


def _swap(described, name, content, folder):
    (folder / name).write_bytes(content)
    described["files"][name] = {
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _swap_prototypes(folder, content):
    _change(folder, lambda described: _swap(described, "prototypes.safetensors", content, folder))


DAMAGE = {
    "no JSON": lambda f: (f / "model.json").write_text("{"),
    "deep": lambda f: (f / "model.json").write_text("[" * 100_000),
    "another format": lambda f: _change(f, lambda d: d.update(format="hyperproto.model/99")),
    "no tasks": lambda f: _change(f, lambda d: d.update(tasks=[])),
    "a name twice": lambda f: _change(f, lambda d: d["tasks"][0].update(classes=["a", "a", "b"])),
    "a list for a name": lambda f: _change(
        f, lambda d: d["tasks"][0].update(classes=[["a"], "b", "c"])
    ),
    "a class more": lambda f: _change(f, lambda d: d["tasks"][0]["classes"].append("fish")),
    "a huge input": lambda f: _change(f, lambda d: d["inputs"].update(shape=[2**40], names=None)),
    "another width": lambda f: _change(f, lambda d: d["inputs"].update(shape=[4], names=None)),
    "another file": lambda f: _change(
        f, lambda d: d["files"].update({"../x": d["files"]["model.onnx"]})
    ),
    "a changed graph": lambda f: (f / "model.onnx").write_bytes(
        b"x" + (f / "model.onnx").read_bytes()[1:]
    ),
    "no graph": lambda f: (f / "model.onnx").unlink(),
    "a pipe": lambda f: ((f / "model.onnx").unlink(), os.mkfifo(f / "model.onnx")),
    "no graph of ONNX": lambda f: _change(f, lambda d: _swap(d, "model.onnx", b"not a graph", f)),
    "prototypes of nothing": lambda f: (f / "prototypes.safetensors").write_bytes(b""),
    "prototypes that are no tensors": lambda f: _swap_prototypes(f, b"x"),
    "prototypes of another task": lambda f: _swap_prototypes(f, save({"other": np.eye(3, 4)})),
    "a prototype less": lambda f: _swap_prototypes(f, save({"kind": np.eye(2, 4)})),
    "one number for a prototype": lambda f: _swap_prototypes(f, save({"kind": np.ones(3)})),
    "a number without rows": lambda f: _swap_prototypes(f, save({"kind": np.array(1.0)})),
    "prototypes without numbers": lambda f: _swap_prototypes(f, save({"kind": np.zeros((3, 0))})),
    "whole numbers": lambda f: _swap_prototypes(f, save({"kind": np.eye(3, 4, dtype=np.int64)})),
    "a prototype that is NaN": lambda f: _swap_prototypes(
        f, save({"kind": np.full((3, 4), np.nan)})
    ),
    "a prototype that is huge": lambda f: _swap_prototypes(
        f, save({"kind": np.full((3, 4), 1e38, np.float32)})
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_folder_that_is_not_a_model_gets_a_sentence(exported, tmp_path, damage):
    folder = shutil.copytree(exported, tmp_path / "model")
    Predictor(folder)
    DAMAGE[damage](folder)
    with pytest.raises(ModelError) as caught:
        Predictor(folder)
    assert str(caught.value).startswith(('"', "The"))


def test_prototypes_are_those_that_were_stored(exported):
    stored = load_file(exported / "prototypes.safetensors")["kind"]
    assert np.array_equal(Predictor(exported).prototypes("kind", [2, 0]), stored[[2, 0]])


def test_a_damaged_prototype_is_refused_when_it_is_read(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "model")
    stored = load_file(folder / "prototypes.safetensors")["kind"]
    stored[2] = np.inf
    _swap_prototypes(folder, save({"kind": stored}))
    predictor = Predictor(folder)
    predictor.prototypes("kind", [0, 1])
    with pytest.raises(
        ModelError, match='must hold a unit vector for each of the 3 classes of "kind"'
    ):
        predictor.prototypes("kind", [1, 2])
    (folder / "prototypes.safetensors").unlink()
    with pytest.raises(ModelError, match="must be readable prototypes"):
        predictor.prototypes("kind", [0])


@pytest.mark.parametrize(
    ("task", "ids", "sentence"),
    [
        ("size", [0], 'Unknown task with prototypes "size". Choose from: "kind"'),
        ("kind", [3], "`ids` must be from 0 to 2"),
        ("kind", [-1], "`ids` must be at least 0"),
        ("kind", [], "at least one"),
        ("kind", [0.5], "whole number"),
    ],
)
def test_prototypes_of_no_class_get_a_sentence(exported, task, ids, sentence):
    with pytest.raises((InputError, TypeError), match=sentence):
        Predictor(exported).prototypes(task, ids)


def test_a_graph_cannot_name_other_files(exported, tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx")
    folder = shutil.copytree(exported, tmp_path / "model")
    graph = onnx.load(folder / "model.onnx")
    weights = next(tensor for tensor in graph.graph.initializer if tensor.raw_data)
    (tmp_path / "secret").write_bytes(weights.raw_data)
    onnx.external_data_helper.set_external_data(weights, location="secret")
    weights.ClearField("raw_data")
    monkeypatch.chdir(tmp_path)  # where onnxruntime would look
    _change(folder, lambda d: _swap(d, "model.onnx", graph.SerializeToString(), folder))
    with pytest.raises(ModelError, match="hold all of its numbers itself"):
        Predictor(folder)


@pytest.mark.parametrize("key", [b"\n\x08location", b"\x8a\x00\x88\x80\x00location"])
def test_other_files_are_found_in_any_length_of_varints(key):
    assert ELSEWHERE.search(b"..." + key)
    assert not ELSEWHERE.search(b"\n\x13location/prediction")


def test_no_folder_at_all(tmp_path):
    with pytest.raises(ModelError, match=r"hyperproto export RUN -o FOLDER makes one"):
        Predictor(tmp_path / "nothing")


def test_the_command_prints_a_line_for_each_row(exported, tmp_path, capsys):
    table = tmp_path / "rows.csv"
    table.write_text("a,b,c,other\n1,2,3,x\n0, -1 ,2,y\n")
    main(["predict", str(exported), str(table), "--top", "1"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["row"] for line in lines] == [1, 2]
    wanted = Predictor(exported).predict([[1, 2, 3], [0, -1, 2]])
    assert [line["predictions"]["kind"]["name"] for line in lines] == wanted["kind"].tolist()
    with pytest.raises(SystemExit) as caught:
        main(["predict", str(exported), str(tmp_path / "photo.jpg")])
    assert caught.value.code == 2
    assert "must be a table" in capsys.readouterr().err


def test_tables_are_read_as_training_reads_them(tmp_path):
    from hyperproto.data.table_files import read_rows

    table = tmp_path / "t.tsv"
    table.write_text('a\tb\n 1 \t"x\ty"\nNA\t\n', encoding="utf-8-sig")
    assert (
        read_table(table) == read_rows(table) == [{"a": "1", "b": "x\ty"}, {"a": None, "b": None}]
    )
    table.write_text("a\ta\n1\t2\n")
    with pytest.raises(InputError) as wrong:
        read_table(table)
    assert wrong.value.got == '"a" 2 times'


def test_words_weigh_to_the_bit_what_scikit_learn_says():
    texts = [
        "Red red RED apples",
        "",
        "naïve Ünïcode 123 a b",
        "apples, pears; apples' end",
        "unknown",
    ] * 3
    fitted = TfidfVectorizer(sublinear_tf=True).fit(texts)
    words, weights = fitted.get_feature_names_out().tolist(), fitted.idf_.tolist()
    new = [*texts, "nothing of this", "pears Pears red"]
    rows = ColumnCode("t", "text", tuple(weights), categories=tuple(words)).encode(new)
    wanted = fitted.transform(new).astype(np.float32)
    assert np.array_equal(rows.to_dense(), wanted.toarray())
    assert np.array_equal(rows.columns, wanted.indices)


def test_the_best_classes_come_first_and_equals_by_their_ids():
    scores = np.array([[0.5, 0.9, 0.5, 0.9], [0.0, 0.0, 0.0, 1.0]])
    values, ids = rank(scores, 3)
    assert ids.tolist() == [[1, 3, 0], [3, 0, 1]]
    assert values[0].tolist() == [0.9, 0.9, 0.5]


class Session:
    """A graph that gives what it is told."""

    def __init__(self, **outputs):
        self.outputs = outputs

    def run(self, names, inputs):
        return [self.outputs[name.partition("/")[2] or name] for name in names]


def test_a_graph_that_gives_other_than_it_says_is_refused(tmp_path):
    predictor = Predictor(write_model(tmp_path / "model"))
    good = {
        "prediction": np.array([0, 3]),
        "point": np.eye(3, dtype=np.float32)[:2],
        "value": np.zeros(2, dtype=np.float32),
    }
    rows = np.zeros((2, 5), dtype=np.float32)
    predictor._session._session = Session(**good)
    assert predictor.predict(rows)["kind"].tolist() == [NAMES[0], NAMES[3]]
    bad = {
        "prediction": [np.array([0, 99]), np.array([0, -1]), np.array([0])],
        "value": [np.zeros(1, dtype=np.float32), np.zeros((2, 2), dtype=np.float32)],
        "point": [np.eye(3, dtype=np.float32)],
    }
    for name, values in bad.items():
        for value in values:
            predictor._session._session = Session(**{**good, name: value})
            with pytest.raises(ModelError, match="model.onnx"):
                predictor.predict(rows)
