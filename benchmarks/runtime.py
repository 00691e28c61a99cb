"""Exported models without torch: whether they answer the same, what they take to install, to start
and to answer.

``--data DIR`` or ``HYPERPROTO_DATA`` must name the folder with ``cifar-100-binary`` and
``text/banking77``. Models are trained as the command line does by default (CIFAR-100 on 2,000
images: what is learned is not the point), exported, and compared on the whole test set. A virtual
environment is made with ``hyperproto-runtime`` alone; times are CPU seconds of one thread, which
other processes disturb less than a clock.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hyperproto.data import ImageData, Split
from hyperproto.data.augment import normalize
from hyperproto.data.cifar100 import read_cifar100
from hyperproto.data.readers import describe_data
from hyperproto.evaluation import export_run
from hyperproto.evaluation.run_data import run_preprocessing
from hyperproto.runtime import Predictor
from hyperproto.spaces.output_space import by_name
from hyperproto.spec import DataSpec, RunSpec
from hyperproto.training import load, read_run, train

ROOT = Path(__file__).parents[1]
AT_ONCE = 100
ROUNDS = {"text": 300, "images": 30}

LATENCY = """
import json, statistics, sys, time
{setup}
for _ in range(3):
    answer()
spent = []
for _ in range({rounds}):
    start = time.process_time()
    answer()
    spent.append(time.process_time() - start)
print(json.dumps({{"ms": 1000 * statistics.median(spent)}}))
"""
TORCH = """
import torch
torch.set_num_threads(1)
from pathlib import Path
from hyperproto.data import ImageData, ImageFiles, Split
from hyperproto.evaluation.run_data import run_preprocessing
from hyperproto.training import load, read_run
network, space = load({run!r})
prepared = run_preprocessing(read_run({run!r}))
def answer():
    if {kind!r} == "images":
        data = ImageData(Split(ImageFiles([Path({item}[0])]), {{}}), prepared, workers=0)
        batch = data.batch(torch.tensor([0]))[0]
    else:
        rows = prepared.encoder.encode({{"text": [{item}]}}).to_dense()
        batch = prepared.standardize(torch.from_numpy(rows))
    with torch.no_grad():
        space.decode(space.predict(network(batch)))
"""
RUNTIME = """
from hyperproto_runtime import Predictor
predictor = Predictor({model!r}, threads=1)
def answer():
    predictor.predict({item})
"""


def measure() -> tuple[str, list[dict[str, object]]]:
    data = os.environ.get("HYPERPROTO_DATA")
    if not data:
        return "Without torch", [
            {"skipped": "set HYPERPROTO_DATA to the folder that holds CIFAR-100 and Banking77"}
        ]
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        rows = [
            _banking(Path(data), Path(place) / "text"),
            _cifar(Path(data), Path(place) / "images"),
        ]
        small = _environment(Path(place) / "venv")
        for row, kind in zip(rows, ("text", "images"), strict=True):
            row |= _times(Path(place) / kind, kind, small)
            row["install, MB"] = round(_size(Path(place) / "venv") / 1e6)
            row["torch's, MB"] = round(_size(Path(torch.__file__).parent) / 1e6)
    return (
        "torch and onnxruntime on whole test sets; starting, and answering one input, in CPU time",
        rows,
    )


def _banking(data: Path, place: Path) -> dict[str, object]:
    folder = data / "text" / "banking77"
    options: dict[str, Any] = {
        "text": "text",
        "classes": ["category"],
        "test": str(folder / "test.csv"),
    }
    train(
        RunSpec(data=describe_data(folder / "train.csv", "table", **options)),
        place / "run",
        progress=False,
    )
    export_run(place / "run", place / "model")
    with (folder / "test.csv").open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    (place / "one.txt").write_text(texts[0], encoding="utf-8")
    network, space = load(place / "run")
    prepared: Any = run_preprocessing(read_run(place / "run"))
    encoded = prepared.encoder.encode({"text": texts}).to_dense()
    with torch.no_grad():
        z = network(prepared.standardize(torch.from_numpy(encoded)))
    found = Predictor(place / "model").run(texts, ["category/prediction", "category/probabilities"])
    return {"data": "Banking77 test"} | _compare(space, "category", z, found, place)


def _cifar(data: Path, place: Path) -> dict[str, object]:
    spec = DataSpec(
        reader="cifar-100",
        path=str(data / "cifar-100-binary"),
        train_examples=2000,
        test_examples=200,
    )
    train(RunSpec(data=spec), place / "run", progress=False)
    test = read_cifar100(data / "cifar-100-binary").test
    assert test is not None
    export_run(place / "run", place / "model")
    network, space = load(place / "run")
    prepared: Any = run_preprocessing(read_run(place / "run"))
    images = ImageData(Split(test.inputs, {}), prepared)
    from PIL import Image

    Image.fromarray(test.inputs[0].permute(1, 2, 0).numpy()).save(place / "one.png")  # type: ignore[union-attr]
    predictor, outputs, parts = Predictor(place / "model", threads=1), [], []
    wanted = ["class/prediction", "class/probabilities"]
    for ids in torch.split(torch.arange(len(test)), AT_ONCE):
        pixels = images.pixels(ids)
        with torch.no_grad():
            outputs.append(network(normalize(pixels, prepared.mean, prepared.std)))
        parts.append(predictor.run(pixels, wanted))
    found = {name: np.concatenate([part[name] for part in parts]) for name in wanted}
    return {"data": "CIFAR-100 test"} | _compare(space, "class", torch.cat(outputs), found, place)


def _compare(
    space: Any, task: str, z: torch.Tensor, found: dict[str, Any], place: Path
) -> dict[str, object]:
    described = json.loads((place / "model" / "model.json").read_text())["tasks"][0]
    with torch.no_grad():
        scores = by_name(space.scores(z))[task].double()
        predicted = by_name(space.predict(z))[task].numpy()
    chances = (scores * described["scale"]).softmax(dim=1).numpy()
    return {
        "rows": len(predicted),
        "predictions that differ": int((found[f"{task}/prediction"] != predicted).sum()),
        "largest difference of probabilities": f"{np.abs(found[f'{task}/probabilities'] - chances).max():.1e}",
        "folder, MB": round(_size(place / "model") / 1e6, 1),
    }


def _environment(place: Path) -> str:
    """Return the Python of a new environment with the runtime and nothing else."""
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    constraints = {**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    constraints.pop("PYTHONPATH", None)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", str(ROOT / "runtime")],
        check=True,
        env=constraints,
    )
    subprocess.run(
        [python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools"], check=True
    )
    for path in place.rglob("__pycache__"):
        for file in path.iterdir():
            file.unlink()
    return python


def _times(place: Path, kind: str, small: str) -> dict[str, object]:
    run, model = str(place / "run"), str(place / "model")
    item = repr(
        [str(place / "one.png")]
        if kind == "images"
        else (place / "one.txt").read_text(encoding="utf-8")
    )
    scripts = {
        "runtime": (small, RUNTIME.format(model=model, item=item)),
        "torch": (sys.executable, TORCH.format(run=run, kind=kind, item=item)),
    }
    row: dict[str, object] = {}
    for name, (python, setup) in scripts.items():
        started = min(
            _run(python, f"import time\n{setup}\nanswer()\nprint(time.process_time())")
            for _ in range(3)
        )
        row[f"{name}: start and answer, s"] = round(float(started), 2)
    for name, (python, setup) in scripts.items():
        spent = json.loads(_run(python, LATENCY.format(setup=setup, rounds=ROUNDS[kind])))["ms"]
        row[f"{name}: one more, ms"] = round(spent, 2)
    return row


def _run(python: str, code: str) -> str:
    variables = {"OMP_NUM_THREADS": "1", "PATH": os.environ["PATH"]}
    if python == sys.executable and "PYTHONPATH" in os.environ:
        variables["PYTHONPATH"] = os.environ["PYTHONPATH"]
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def _size(folder: Path) -> int:
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
