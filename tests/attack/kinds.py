"""Every kind of file that the package reads: how a good one is written, and what reads it."""

import gzip
import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import torch
from PIL import Image
from scipy import sparse
from sklearn.base import clone

import hyperproto as hp
from hyperproto._core.errors import HyperprotoError
from hyperproto.cli.place import read_classes
from hyperproto.data import read_source, training_data
from hyperproto.data.readers import describe_data
from hyperproto.estimators import (
    HypersphericalClassifier,
    HypersphericalMultiTask,
    HypersphericalRegressor,
)
from hyperproto.evaluation import calibrate_run, export_run, list_runs, predict_files
from hyperproto.hub import HubModel
from hyperproto.models import create_backbone, load_weights
from hyperproto.priors.accept import as_prior
from hyperproto.runtime import Predictor
from hyperproto.runtime.cli import predict_files as predict_exported
from hyperproto.runtime.csv_files import read_table
from hyperproto.training import NetworkSpec, RunSpec, SpaceSpec, TrainSettings, resume_run, train
from hyperproto.training.folder import stored_spec
from reproduction.cell import paper_cell
from reproduction.experiment import Entry, Experiment
from reproduction.grid import make_grid
from reproduction.records import FORMAT, records_file, write_record
from reproduction.reports import to_markdown
from tests.data import layouts

NAMES = ("cat", "dog", "bird")
COLUMNS: dict[str, Any] = {"classes": ["side"], "ranges": ["height"]}


@dataclass(frozen=True)
class Kind:
    """``write`` fills a folder and returns the file to damage; ``read`` is given the folder and a
    damaged file.
    """

    write: Callable[[Path], Path]
    read: Callable[[Path, Path], Any]


def _bytes(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def _npy(array: Any, name: str = "words.npy", *, zipped: bool = False) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        with (folder / name).open("wb") as file:
            np.savez(file, array) if zipped else np.save(file, array)
        (folder / "words.txt").write_text("\n".join(NAMES) + "\n")
        return folder / name

    return write


def _names_beside(folder: Path) -> Path:
    return _npy(np.eye(3, 4))(folder).with_suffix(".txt")


def _prior(folder: Path, path: Path) -> None:
    as_prior(
        str(path.with_suffix(".npy") if path.suffix == ".txt" and path.stem == "words" else path),
        NAMES,
        3,
    )


def _npy_matrix(folder: Path, path: Path) -> None:
    hp.Prototypes.from_npy(path)


def _image(kind: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        pixels = layouts.noise(np.arange(2), 2, 24)
        for index in range(2):
            layouts.save_image(folder / "b" / f"{index}.png", pixels[index])
            layouts.save_image(folder / "a" / f"{index}.png", pixels[index])
        buffer = io.BytesIO()
        Image.fromarray(pixels[0].transpose(1, 2, 0)).save(buffer, kind)
        (folder / "a" / "x.png").write_bytes(buffer.getvalue())
        return folder / "a" / "x.png"

    return write


def _layout(write: Callable[[Path], Path], name: str) -> Callable[[Path], Path]:
    return lambda folder: write(folder) / name


def _source(folder: Path, path: Path, **options: Any) -> None:
    place = (
        path
        if path.suffix in (".csv", ".tsv", ".parquet") and "omniart" not in str(path)
        else folder
    )
    inner = [below for below in folder.iterdir() if below.is_dir()] if place == folder else []
    source = read_source(inner[0] if len(inner) == 1 else place, **options)
    for split in (source.train, source.test):
        if split is not None:
            training_data(split, source.preprocessing)


def _numbers(folder: Path, *, ending: str = ".csv") -> Path:
    rng = np.random.default_rng(0)
    rows: list[list[object]] = [
        [a, b, ("red", "green", "blue")[i % 3], f"2020-01-{i + 1:02}", ("left", "right")[i % 2], i]
        for i, (a, b) in enumerate(rng.normal(size=(24, 2)).round(3).tolist())
    ]
    path = layouts.write_csv(
        folder / "numbers.csv", ["a", "b", "word", "day", "side", "height"], rows
    )
    if ending == ".tsv":
        text = path.read_text().replace(",", "\t")
        path.rename(path.with_suffix(ending)).write_text(text)
    elif ending == ".parquet":
        from pyarrow import csv, parquet

        parquet.write_table(csv.read_csv(path), path.with_suffix(ending))
        path.unlink()
    return path.with_suffix(ending)


def _vectors(*, binary: bool = False, header: bool = False, packed: bool = False) -> bytes:
    rows = np.random.default_rng(0).normal(size=(3, 5)).astype("<f4")
    lines = b"3 5\n" if header or binary else b""
    for name, row in zip(NAMES, rows, strict=True):
        numbers = row.tobytes() if binary else " ".join(map(str, row)).encode()
        lines += name.encode() + b" " + numbers + b"\n"
    return gzip.compress(lines) if packed else lines


def _taxonomy(folder: Path, path: Path) -> None:
    hp.priors.from_taxonomy(str(path), NAMES)


def _prototypes(folder: Path) -> Path:
    hp.place(NAMES, 3, prior={"pet": ["cat", "dog"], "wild": ["bird"]}, effort="fast").save(
        folder / "p.safetensors"
    )
    return folder / "p.safetensors"


def _load_prototypes(folder: Path, path: Path) -> None:
    found = hp.Prototypes.load(path)
    str(found), found.certificate.to_dict()
    found.save(folder / "again.safetensors")


PLAIN_SPACE = SpaceSpec(dim=3)


def _run(name: str, *, space: SpaceSpec = PLAIN_SPACE, **options: Any) -> Callable[[Path], Path]:
    """Write a calibrated run of two epochs, whose data are beside it."""

    def write(folder: Path) -> Path:
        data = describe_data(_numbers(folder), "table", **(COLUMNS | options))
        spec = RunSpec(data=data, space=space, train=TrainSettings(epochs=2, batch_size=8))
        train(spec, folder / "run")
        calibrate_run(folder / "run", reject=0.1)
        return folder / "run" / name

    return write


def _use_run(folder: Path, path: Path) -> None:
    """List it, predict by it, and train it on as long as it asks for no more than it did."""
    for row in list_runs(folder):
        row.to_dict()
    if path.name == "spec.json":
        (folder / "run" / "config.json").unlink()
        stored_spec(folder / "run")
        return
    if path.name == "config.json" and _epochs(path) > 2:
        return  # as long as it says
    errors: list[Exception] = []
    for use in (
        lambda: predict_files(folder / "run", [folder / "numbers.csv"]),
        lambda: hp.load(folder / "run", which="best"),
        lambda: resume_run(folder / "run", path=folder / "numbers.csv"),
    ):
        try:
            use()
        except (HyperprotoError, FileNotFoundError) as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _epochs(path: Path) -> float:
    try:
        return float(json.loads(path.read_bytes())["settings"]["epochs"])
    except (ValueError, TypeError, LookupError, OverflowError):
        return 0


def _simple(model: Any, prepare: Callable[[Any], Any], *, copies: int = 1) -> Kind:
    """Return the description of an estimator of one column, fitted and used with inputs that are
    prepared.
    """

    def write(folder: Path) -> Path:
        x = np.repeat(_training()[0], copies, axis=0)
        clone(model).fit(prepare(x), x[:, 0] if hasattr(model, "bounds") else x[:, 0] > 0).save(
            folder / "model"
        )
        return folder / "model" / "estimator.json"

    def read(folder: Path, path: Path) -> None:
        found, (x, _) = hp.load(folder / "model"), _training()
        if found.n_features_in_ == 3:
            found.predict(prepare(x))

    return Kind(write, read)


def _add_to_estimator(folder: Path, path: Path) -> None:
    model, (x, _) = hp.load(folder / "model"), _training()
    if model.n_features_in_ == 3:
        model.add_classes(x[:8] + 3, ["new"] * 8)
        model.predict(x)


def _image_run(folder: Path) -> Path:
    _image("PNG")(folder / "data")
    data, network = (
        describe_data(folder / "data", "image-folder"),
        NetworkSpec(backbone="resnet-8", weights="none"),
    )
    settings = TrainSettings(epochs=1, batch_size=4)
    train(
        RunSpec(data=data, network=network, space=SpaceSpec(dim=3), train=settings), folder / "run"
    )
    return folder / "run" / "config.json"


def _use_image_run(folder: Path, path: Path) -> None:
    predict_files(folder / "run", [folder / "data" / "a" / "0.png"])


def _estimator(name: str, *, several: bool = False) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        x, y = _training()
        model: Any = HypersphericalMultiTask(epochs=2, calibrate=True, hidden=(4,), random_state=0)
        if not several:
            model, y = (
                HypersphericalClassifier(
                    epochs=2, calibrate=True, reject=0.2, replay=4, random_state=0
                ),
                y[:, 0],
            )
        model.fit(_with_words(x) if several else x, y).save(folder / "model")
        return folder / "model" / name

    return write


def _training() -> tuple[Any, Any]:
    x = np.random.default_rng(0).normal(size=(60, 3))
    return x, np.stack(
        [np.where(x[:, 0] > 0, "up", "down").astype(object), x[:, 1].astype(object)], axis=1
    )


def _with_words(x: Any) -> Any:
    return pyarrow.table(
        {"a": x[:, 0], "b": x[:, 1], "word": np.where(x[:, 2] > 0, "red", "green")}
    )


def _use_estimator(folder: Path, path: Path) -> None:
    model = hp.load(folder / "model")
    x, _ = _training()
    if model.n_features_in_ != x.shape[1]:
        return  # scikit-learn says what it expects
    x = _with_words(x) if model.encoder_ else x
    model.predict(x)
    model.predict_proba(x)


def _model(name: str) -> Callable[[Path], Path]:
    """Write an exported model of a table with words; its graph and prototypes are those that its
    JSON describes.
    """

    def write(folder: Path) -> Path:
        x, y = _training()
        model = HypersphericalMultiTask(epochs=1, calibrate=True, hidden=(4,), random_state=0)
        model.fit(_with_words(x), y).export(folder / "model", _with_words(x))
        return folder / "model" / name

    return write


def _use_model(folder: Path, path: Path) -> None:
    if path.name != "model.json":  # as if whoever damaged it had corrected the sums
        described = json.loads((folder / "model" / "model.json").read_bytes())
        content = path.read_bytes()
        described["files"][path.name] = {
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        (folder / "model" / "model.json").write_text(json.dumps(described))
    predictor = Predictor(folder / "model", threads=1)
    predictor.answer(_with_words(_training()[0]))
    for task in predictor.model.tasks:
        if task.classes and task.score == "cosine":
            predictor.prototypes(task.name, range(len(task.classes)))


def _run_model(write: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """Write the exported model of a run, as ``write`` makes one."""

    def written(folder: Path) -> Path:
        export_run(write(folder).parent, folder / "model")
        return folder / "model" / "model.json"

    return written


def _predict_model(folder: Path, path: Path) -> None:
    """Predict an image, or the rows of a table, as the command of the runtime does."""
    files = [*folder.glob("data/a/0.png"), *folder.glob("numbers.csv")]
    list(predict_exported(folder / "model", files))


def _hub_model(folder: Path) -> Path:
    HubModel(_run("config.json")(folder).parent).save_pretrained(folder / "model")
    return folder / "model" / "config.json"


def _use_hub_model(folder: Path, path: Path) -> None:
    HubModel.from_pretrained(folder / "model").card()


def _frozen_run(folder: Path) -> Path:
    """Write a run that is trained on the features of a network, which a file holds."""
    _image("PNG")(folder / "data")
    torch.save(create_backbone("resnet-8", out_dim=3).state_dict(), folder / "w.pt")
    network = NetworkSpec(backbone="resnet-8", weights=str(folder / "w.pt"), freeze=True)
    data, settings = (
        describe_data(folder / "data", "image-folder"),
        TrainSettings(epochs=1, batch_size=4),
    )
    train(
        RunSpec(data=data, network=network, space=SpaceSpec(dim=3), train=settings), folder / "run"
    )
    return folder / "run" / "features.safetensors"


def _resume_frozen_run(folder: Path, path: Path) -> None:
    """Train an epoch more, on the features that are stored where they fit."""
    resume_run(folder / "run", epochs=2, path=folder / "data", progress=False)


def _weights(ending: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        weights = create_backbone("resnet-8", out_dim=3).state_dict()
        if ending == ".pt":
            torch.save(weights, folder / "w.pt")
        else:
            from safetensors.torch import save_file

            save_file(weights, folder / "w.safetensors")
        return folder / f"w{ending}"

    return write


def _load_weights(folder: Path, path: Path) -> None:
    load_weights(create_backbone("resnet-8", out_dim=3), path)


CELL = paper_cell(reader="cifar-100", backbone="resnet-32", dim=3, prototypes="ours")
TABLE = Experiment("table", "A table", lambda scale: [Entry("ours", "3", CELL, "class/accuracy")])


def _record(folder: Path) -> Path:
    measures = {"class/accuracy": 0.5}
    epochs = [{"epoch": 0, "loss": 1.0, "lr": 0.1, "valid": measures}]
    record = {
        "format": FORMAT,
        "address": CELL.address,
        "cell": asdict(CELL),
        "state": "done",
        "epochs": epochs,
    }
    write_record(
        folder,
        "table",
        record | {"measures": measures, "protocol": {"test": 10}, "times": {"epochs": []}},
    )
    return records_file(folder, "table")


def _report(folder: Path, path: Path) -> None:
    to_markdown(make_grid(TABLE, "full", folder))


def _classes(folder: Path, path: Path) -> None:
    hp.place(read_classes(str(path)), 3, effort="fast")


IMAGES = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM")
RUN = (
    "config.json", "best.safetensors",
    "spec.json", "epochs.jsonl", "times.jsonl", "metrics.json", "calibration.json", "last.safetensors",
    "checkpoint.safetensors", "prototypes.0.safetensors",
)  # fmt: skip
ESTIMATOR = ("estimator.json", "last.safetensors", "held_out.safetensors", "replay.safetensors")
MODEL = ("model.json", "model.onnx", "prototypes.safetensors")
MNIST = "train-images-idx3-ubyte"
TREE = b"child,parent\ncat,pet\ndog,pet\npet,animal\nbird,animal\nanimal,\n"
_table = partial(_source, reader="table", **COLUMNS)

KINDS: dict[str, Kind] = {
    "npy": Kind(_npy(np.eye(3, 4)), _npy_matrix),
    "npy-vectors": Kind(_npy(np.eye(3, 4, dtype=np.float32)), _prior),
    "npy-names": Kind(_names_beside, _prior),
    "npz": Kind(
        _npy(np.eye(3, 4), zipped=True),
        lambda folder, path: (_npy_matrix(folder, path), _prior(folder, path)),
    ),
    "class-names": Kind(_bytes("classes.txt", "\n".join(NAMES).encode()), _classes),
    "csv": Kind(_numbers, _table),
    "parquet": Kind(partial(_numbers, ending=".parquet"), _table),
    "tsv": Kind(partial(_numbers, ending=".tsv"), _table),
    "runtime-csv": Kind(_numbers, lambda folder, path: read_table(path)),
    "runtime-tsv": Kind(partial(_numbers, ending=".tsv"), lambda folder, path: read_table(path)),
    "mnist-labels": Kind(_layout(layouts.write_mnist, "train-labels-idx1-ubyte.gz"), _source),
    "cifar-test": Kind(_layout(layouts.write_cifar100_binary, "test.bin"), _source),
    "tiny-imagenet-wnids": Kind(_layout(layouts.write_tiny_imagenet, "wnids.txt"), _source),
    **{
        f"cub-{name}": Kind(_layout(layouts.write_cub200, f"{name}.txt"), _source)
        for name in ("images", "classes", "train_test_split")
    },
    "omniart-test": Kind(_layout(layouts.write_omniart, "test_complete.csv"), _source),
    "mnist": Kind(_layout(partial(layouts.write_mnist, gzipped=False), MNIST), _source),
    "mnist-gz": Kind(_layout(layouts.write_mnist, f"{MNIST}.gz"), _source),
    "cifar": Kind(_layout(layouts.write_cifar100_binary, "train.bin"), _source),
    "cifar-names": Kind(_layout(layouts.write_cifar100_binary, "fine_label_names.txt"), _source),
    "tiny-imagenet": Kind(_layout(layouts.write_tiny_imagenet, "words.txt"), _source),
    "tiny-imagenet-val": Kind(
        _layout(layouts.write_tiny_imagenet, "val/val_annotations.txt"), _source
    ),
    "cub": Kind(_layout(layouts.write_cub200, "image_class_labels.txt"), _source),
    "omniart": Kind(_layout(layouts.write_omniart, "train_complete.csv"), _source),
    "image-table": Kind(
        layouts.write_painting_table, partial(_source, image="path", classes=["style"])
    ),
    **{
        f"image-{kind.lower()}": Kind(_image(kind), partial(_source, reader="image-folder"))
        for kind in IMAGES
    },
    "vectors-text": Kind(_bytes("v.txt", _vectors()), _prior),
    "vectors-word2vec": Kind(_bytes("v.vec", _vectors(header=True)), _prior),
    "vectors-binary": Kind(_bytes("v.bin", _vectors(binary=True)), _prior),
    "vectors-binary-gz": Kind(_bytes("v.bin.gz", _vectors(binary=True, packed=True)), _prior),
    "vectors-gz": Kind(_bytes("v.txt.gz", _vectors(packed=True)), _prior),
    "taxonomy": Kind(_bytes("tree.csv", TREE), _taxonomy),
    "prototypes": Kind(_prototypes, _load_prototypes),
    **{f"run-{name}": Kind(_run(name), _use_run) for name in RUN},
    **{
        f"run-{kind}": Kind(_run("config.json", space=SpaceSpec(kind=kind)), _use_run)
        for kind in ("spheres", "conventional")
    },
    "run-image": Kind(_image_run, _use_image_run),
    "run-text": Kind(_run("config.json", text="word"), _use_run),
    "run-features.safetensors": Kind(_frozen_run, _resume_frozen_run),
    **{f"estimator-{name}": Kind(_estimator(name), _use_estimator) for name in ESTIMATOR},
    "estimator-several": Kind(_estimator("estimator.json", several=True), _use_estimator),
    "estimator-number": _simple(HypersphericalRegressor(epochs=2, random_state=0), lambda x: x),
    "estimator-sparse": _simple(
        HypersphericalClassifier(epochs=2, random_state=0), sparse.csr_array
    ),
    "estimator-binned": _simple(
        HypersphericalClassifier(epochs=1, random_state=0), lambda x: x, copies=70
    ),
    "estimator-table": _simple(
        HypersphericalClassifier(epochs=2, random_state=0), lambda x: _with_words(x)
    ),
    **{
        f"add-{name}": Kind(_estimator(name), _add_to_estimator)
        for name in ESTIMATOR
        if name != "last.safetensors"
    },
    **{f"model-{name}": Kind(_model(name), _use_model) for name in MODEL},
    "model-image": Kind(_run_model(_image_run), _predict_model),
    "model-text": Kind(_run_model(_run("config.json", text="word")), _predict_model),
    "hub-config": Kind(_hub_model, _use_hub_model),
    "weights-pt": Kind(_weights(".pt"), _load_weights),
    "weights-safetensors": Kind(_weights(".safetensors"), _load_weights),
    "cell": Kind(_record, _report),
}
