"""An exported model answers as torch does, whatever it was made from."""

import numpy as np
import pandas as pd
import pyarrow
import pytest
import torch
from PIL import Image
from scipy import sparse

import hyperproto as hp
from hyperproto._core.errors import InputError, StorageError
from hyperproto.baselines import ConventionalSpace
from hyperproto.cli.main import main
from hyperproto.data import ImagePreprocessing, Standardizer
from hyperproto.data.readers import describe_data
from hyperproto.estimators import (
    HypersphericalClassifier,
    HypersphericalMultiTask,
    HypersphericalRegressor,
)
from hyperproto.evaluation import calibrate_run, export_run, predict_files
from hyperproto.export import export_model, folder
from hyperproto.models import create_backbone
from hyperproto.runtime import Predictor
from hyperproto.spec import NetworkSpec, RunSpec, TrainSettings
from hyperproto.training import train
from tests.core.test_files import full_disk
from tests.data import layouts

pytestmark = pytest.mark.filterwarnings("ignore")  # what the exporter warns of is not ours
RNG = np.random.default_rng(0)
X = RNG.normal(loc=(0, 18000, 0), size=(90, 3))  # of which float32 would lose the second column
SIDE, HEIGHT = np.where(X[:, 0] > 0, 3, 7), 5 * X[:, 2]


def close(found, wanted, within=1e-5):
    np.testing.assert_allclose(
        np.asarray(found, dtype=float), np.asarray(wanted, dtype=float), atol=within, rtol=0
    )


def test_a_classifier_keeps_labels_probabilities_sets_outliers_and_rejections(tmp_path):
    model = HypersphericalClassifier(epochs=3, calibrate=True, reject=0.3, random_state=0).fit(
        X, SIDE
    )
    exported = model.export(tmp_path / "model", X)
    assert exported.difference < 1e-6
    assert exported.rows == len(X)
    predictor = Predictor(tmp_path / "model")
    differ = predictor.predict(X) != model.predict(X)
    assert differ.sum() <= 1  # the very example whose score is the threshold
    assert -1 in predictor.predict(X)  # the label of what is rejected
    close(predictor.predict_proba(X), model.predict_proba(X))
    close(predictor.scores(X), model.cosines(X))
    for rows in (X, 100 * X):
        close(predictor.outlier_score(rows), model.outlier_score(rows))
    close(predictor.transform(X), model.transform(X))
    for coverage in (0.9, 0.5):
        assert np.array_equal(
            predictor.conformal_sets(X, coverage), model.conformal_sets(X, coverage)
        )
    with pytest.raises(
        InputError, match=r"`coverage` must be one that the model was exported with: 0.9, 0.5"
    ):
        predictor.conformal_sets(X, 0.42)
    with pytest.raises(InputError, match=r"must predict numbers"):
        predictor.intervals(X)
    best = predictor.top_k(X[:4], 1)
    assert best.names[:, 0].tolist() == model.classes_[model.cosines(X[:4]).argmax(axis=1)].tolist()


def test_a_full_disk_is_a_sentence_and_leaves_no_folder(tmp_path):
    model = HypersphericalClassifier(epochs=1, random_state=0).fit(X, SIDE)
    with (
        full_disk(),
        pytest.raises(
            StorageError, match=r"written \(File too large\); got a disk with .* Make room"
        ),
    ):
        model.export(tmp_path / "model", X)
    assert not any(tmp_path.iterdir())


def test_sparse_rows_and_a_regressor(tmp_path):
    rows = sparse.random(90, 40, density=0.1, format="csr", random_state=0)
    model = HypersphericalClassifier(epochs=2, random_state=0).fit(rows, SIDE)
    model.export(tmp_path / "sparse", rows)
    close(Predictor(tmp_path / "sparse").predict_proba(rows), model.predict_proba(rows))
    number = HypersphericalRegressor(epochs=2, calibrate=True, random_state=0).fit(X, HEIGHT)
    number.export(tmp_path / "number", X)
    predictor = Predictor(tmp_path / "number")
    close(predictor.predict(X), number.predict(X))
    close(predictor.intervals(X, 0.8), number.predict_interval(X, 0.8))
    with pytest.raises(InputError, match="must have classes; got only numbers"):
        predictor.predict_proba(X)


def test_a_table_with_words_dates_and_gaps_is_given_as_rows(tmp_path):
    table = pyarrow.table(
        {
            "size": [None if row % 7 == 0 else value for row, value in enumerate(X[:, 0].tolist())],
            "color": [("red", "green", None)[row % 3] for row in range(len(X))],
            "day": [f"2020-01-{row % 28 + 1:02}" for row in range(len(X))],
        }
    )
    y = np.stack([np.where(SIDE == 3, "up", "down").astype(object), HEIGHT.astype(object)], axis=1)
    model = HypersphericalMultiTask(epochs=2, calibrate=True, random_state=0).fit(table, y)
    model.export(tmp_path / "model", table)
    predictor, wanted = Predictor(tmp_path / "model"), model.predict(table)
    for inputs in (table, table.to_pylist()):
        found = predictor.predict(inputs)
        assert found["0"].tolist() == wanted[:, 0].tolist()
        close(found["1"], wanted[:, 1])
    assert predictor.predict(table.to_pylist()[0])["0"].shape == (1,)
    gaps = [dict.fromkeys(table.column_names, gap) for gap in (None, float("nan"), pd.NaT)]
    assert len(set(predictor.predict(gaps)["0"].tolist())) == 1  # records of pandas have such gaps
    with pytest.raises(InputError, match='Row 1 must have a value for "day"'):
        predictor.predict({"size": 1.0, "color": "red"})


def test_a_run_of_the_command_line_predicts_files_as_before(tmp_path, capsys):
    rows = [
        [a, ("red", "green")[i % 2], ("left", "right")[i % 2], i]
        for i, a in enumerate(X[:40, 0].round(3))
    ]
    table = layouts.write_csv(tmp_path / "t.csv", ["a", "word", "side", "height"], rows)
    data = describe_data(table, "table", classes=["side"], ranges=["height"])
    train(
        RunSpec(data=data, train=TrainSettings(epochs=2, batch_size=8)),
        tmp_path / "run",
        progress=False,
    )
    main(["export", str(tmp_path / "run"), "-o", str(tmp_path / "bare")])
    assert "It is not calibrated: " in capsys.readouterr().out
    main(["predict", str(tmp_path / "bare"), str(table), "--format", "csv", "--top", "1"])
    assert capsys.readouterr().out.startswith("file,row,side,side/cosine,height\n")
    calibrate_run(tmp_path / "run", reject=0.2)
    main(["export", str(tmp_path / "run"), "-o", str(tmp_path / "model")])
    assert capsys.readouterr().out.endswith("0 predictions differ.\n")
    main(["predict", str(tmp_path / "model"), str(table), "--format", "csv"])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("file,row,side,side/cosine,side/probability")
    answers = Predictor(tmp_path / "model").answer(pyarrow.Table.from_pylist(_cells(rows)))
    for mine, theirs in zip(answers, predict_files(tmp_path / "run", [table]).rows, strict=True):
        side, wanted = mine["predictions"]["side"], theirs["predictions"]["side"]
        assert (side["name"], side["set"], side["unknown"]) == (
            wanted["name"],
            wanted["set"],
            wanted["unknown"],
        )
        close([side["probability"], side["cosine"]], [wanted["probability"], wanted["cosine"]])
        for part in ("value", "low", "high"):
            close(mine["predictions"]["height"][part], theirs["predictions"]["height"][part], 1e-4)
    with pytest.raises(SystemExit):
        main(["export", str(tmp_path / "run"), "-o", str(tmp_path / "model")])
    assert "must be new or empty" in capsys.readouterr().err
    main(
        [
            "export",
            str(tmp_path / "run"),
            "-o",
            str(tmp_path / "model"),
            "--overwrite",
            "--data",
            str(table),
        ]
    )
    assert "on 40 rows" in capsys.readouterr().out


def _cells(rows):
    return [{"a": a, "word": word} for a, word, _, _ in rows]


def test_texts_and_image_files(tmp_path):
    texts = [f"{('a red', 'the green')[i % 2]} apple no {i % 5}" for i in range(30)]
    table = layouts.write_csv(tmp_path / "t.csv", ["text", "kind"], [[t, t[:3]] for t in texts])
    spec = RunSpec(
        data=describe_data(table, "table", text="text", classes=["kind"]),
        train=TrainSettings(epochs=2),
    )
    train(spec, tmp_path / "run", progress=False)
    export_run(tmp_path / "run", tmp_path / "text")
    found = Predictor(tmp_path / "text").answer(texts)
    for mine, theirs in zip(found, predict_files(tmp_path / "run", [table]).rows, strict=True):
        close(mine["predictions"]["kind"]["cosine"], theirs["predictions"]["kind"]["cosine"])
    pixels = layouts.noise(np.arange(8), 8, 24)
    for index in range(8):  # not square, and JPEG, so that scaling and decoding matter
        path = tmp_path / "photos" / "ab"[index % 2] / f"{index}.{('png', 'jpg')[index // 4]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[index].transpose(1, 2, 0)).resize((90, 70)).save(path)
    network = NetworkSpec(backbone="resnet-8", weights="none")
    spec = RunSpec(
        data=describe_data(tmp_path / "photos"),
        network=network,
        train=TrainSettings(epochs=1, batch_size=4),
    )
    train(spec, tmp_path / "photo-run", progress=False)
    export_run(tmp_path / "photo-run", tmp_path / "images")
    files = sorted((tmp_path / "photos").rglob("*.*"))
    wanted = predict_files(tmp_path / "photo-run", files).rows
    predictor = Predictor(tmp_path / "images")
    for inputs in (files, [file.read_bytes() for file in files]):
        for mine, theirs in zip(predictor.answer(inputs), wanted, strict=True):
            close(mine["predictions"]["class"]["cosine"], theirs["predictions"]["class"]["cosine"])
    with pytest.raises(InputError, match=r"must have at most 100 pixels; got 90 x 70"):
        Predictor(tmp_path / "images", most_pixels=100).predict(files[0])


@pytest.mark.parametrize(
    "space",
    [
        hp.Space(6, kind=hp.Classes(4), size=hp.Range(0, 9, margin=0.1), separate=False),
        ConventionalSpace(kind=hp.Classes(4), size=hp.Range(0, 9), width=3),
    ],
    ids=lambda space: space.kind,
)
def test_a_run_of_fit_in_any_space(tmp_path, space):
    torch.manual_seed(0)
    x = torch.randn(40, 5)
    targets = {"kind": torch.arange(40) % 4, "size": torch.linspace(0, 9, 40)}
    targets = {name: targets[name] for name in space.tasks}
    run = hp.fit(
        create_backbone("mlp", out_dim=space.dim, in_features=5), space, (x, targets), epochs=2
    )
    run.export(tmp_path / "model", x)
    predictor = Predictor(tmp_path / "model")
    with torch.no_grad():
        wanted = space.predict(run.network.eval()(x))
        scores = space.scores(run.network(x))["kind"]
    found = predictor.predict(x.numpy())
    assert found["kind"].tolist() == wanted["kind"].tolist()
    if "size" in space.tasks:
        close(found["size"], wanted["size"], 1e-4)
    close(predictor.scores(x.numpy())["kind"], scores)
    assert (predictor.answer(x[:1].numpy())[0]["point"] is None) == (space.kind == "conventional")


def test_a_model_that_disagrees_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "AGREE", -1.0)
    space = hp.Space(3, hp.Classes(3))
    network = create_backbone("mlp", out_dim=3, in_features=2)
    with pytest.raises(InputError, match="give the same answers by onnxruntime as by torch"):
        export_model(tmp_path / "model", network, space, np.ones((2, 2), dtype=np.float32))
    assert not (tmp_path / "model").exists()


def test_what_cannot_be_exported_gets_a_sentence(tmp_path):
    space = hp.Space(3, hp.Classes(3))

    class Odd(torch.nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    rows = np.ones((2, 3), dtype=np.float32)
    with pytest.raises(InputError, match="The network must be one that torch can export"):
        export_model(tmp_path / "model", Odd(), space, rows)
    with pytest.raises(InputError, match="must be real rows to compare"):
        export_model(tmp_path / "model", torch.nn.Identity(), space, rows[:0])


def test_the_graph_scales_as_training_does():
    from hyperproto.data.augment import normalize
    from hyperproto.export.graph import preparation

    scaling = Standardizer.fit(X)
    graph = preparation(scaling, 2, torch.float64)(torch.from_numpy(X))
    assert torch.equal(graph, scaling(X))
    heavy = np.column_stack([np.exp(2 * X[:, 0]), X[:, 1]])
    bent = Standardizer.fit(heavy, how="robust")
    assert bent.bend[0] > 0
    torch.testing.assert_close(
        preparation(bent, 2, torch.float64)(torch.from_numpy(heavy)), bent(heavy)
    )
    binned = Standardizer.fit(np.exp(2 * RNG.normal(size=(4000, 2))), how="binned")
    assert len(binned.bins[0]) == 8
    assert torch.equal(
        preparation(binned, 2, torch.float32)(torch.from_numpy(heavy)), binned(heavy)
    )
    images = ImagePreprocessing(4, mean=(0.1, 0.5, 0.3), std=(0.2, 0.3, 0.4))
    pixels = RNG.integers(0, 256, size=(2, 4, 4, 3), dtype=np.uint8)
    found = preparation(images, 4, torch.float32)(torch.from_numpy(pixels))
    assert torch.equal(found, normalize(pixels, images.mean, images.std))


def test_what_is_said_of_a_task_that_the_space_lacks_is_refused(tmp_path):
    space, network = hp.Space(3, kind=hp.Classes(4)), torch.nn.Linear(5, 3)
    with pytest.raises(InputError, match='^Unknown task of the space "class". .*: "kind".'):
        export_model(tmp_path / "model", network, space, torch.randn(4, 5), about={"class": {}})
