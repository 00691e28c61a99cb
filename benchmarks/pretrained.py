"""A folder of photographs with few of each class: the default of ``hyperproto train``, and what one
would try first.

``--data DIR`` or ``HYPERPROTO_DATA`` must name the folder with ``cifar-100-binary``. 20 of its
classes (50 to 69), 100 training images each, as PNG files; measured on their 2,000 official test
images. Times include reading the files and, for the default, computing the features of all 4,000
images; CPU time is that of all threads and workers.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from hyperproto.data import Split
from hyperproto.data.cifar100 import read_cifar100
from hyperproto.data.readers import describe_data
from hyperproto.spec import RunSpec
from hyperproto.training import train

CLASSES, PER_CLASS = range(50, 70), 100


def measure() -> tuple[str, list[dict[str, object]]]:
    data = os.environ.get("HYPERPROTO_DATA")
    if not data:
        return "Pretrained", [{"skipped": "set HYPERPROTO_DATA to the folder that holds CIFAR-100"}]
    source = read_cifar100(data)
    names = source.targets["class"].names  # type: ignore[union-attr]
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "photos"
        train_part, test_part = (
            few(getattr(source, part), folder / part, names) for part in ("train", "test")
        )
        start = os.times()
        run = train(RunSpec(data=describe_data(folder)), Path(place) / "run", progress=False)
        rows.append(
            row("hyperproto train (pretrained and frozen)", run.metrics["class/accuracy"], start)
        )
    start = os.times()
    peer = make_pipeline(PCA(100, random_state=0), SVC(C=10)).fit(*train_part)
    rows.append(
        row("SVC (C = 10) on 100 principal components of the pixels", peer.score(*test_part), start)
    )
    return (
        f"{len(CLASSES)} classes of CIFAR-100, {PER_CLASS} images each, by default settings; one seed",
        rows,
    )


def row(name: str, accuracy: float, start: os.times_result) -> dict[str, object]:
    end = os.times()
    computing = sum(end[:4]) - sum(start[:4])
    accuracy = round(100 * accuracy, 1)
    return {
        "model": name,
        "test accuracy, %": accuracy,
        "seconds": round(end.elapsed - start.elapsed, 1),
        "of CPU": round(computing, 1),
    }


def few(split: Split, folder: Path, names: Sequence[str]) -> tuple[list[np.ndarray], list[int]]:
    """Write the first images of each class as files; return their pixels in [0, 1] and their
    classes.
    """
    pixels, labels = [], []
    for label in CLASSES:
        (folder / names[label]).mkdir(parents=True)
        for row in (split.targets["class"] == label).nonzero().flatten()[:PER_CLASS].tolist():
            image = split.inputs[row]
            Image.fromarray(image.permute(1, 2, 0).numpy()).save(
                folder / names[label] / f"{row:05}.png"
            )
            pixels.append(image.flatten().numpy() / 255)
            labels.append(label)
    return pixels, labels
