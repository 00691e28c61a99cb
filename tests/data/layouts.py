"""Tiny copies of each data set in its publisher's layout, for every test that reads one.

Each ``write_...`` fills a folder and returns what the readers are pointed at. Images are noise
around a brightness of their class, so that a few steps of training learn something.
"""

import csv
import gzip
import io
from pathlib import Path

import numpy as np
from PIL import Image

FINE = ("apple", "bear", "chair")
COARSE = ("fruit", "thing")
COARSE_OF = (0, 1, 1)
WNIDS = ("n02", "n01", "n03")  # as in wnids.txt, not sorted
WORDS = {"n01": "crane, a bird", "n02": "goldfish, Carassius auratus", "n03": "crane, a machine"}
BIRDS = ("001.Black_footed_Albatross", "002.Crested_Auklet", "003.Groove_billed_Ani")
SCHOOLS = ("Dutch", "French")


def labels_for(n: int, num_classes: int) -> np.ndarray:
    return np.arange(n) % num_classes


def noise(
    labels: np.ndarray, num_classes: int, size: int, channels: int = 3, seed: int = 0
) -> np.ndarray:
    """Return images, shape (n, channels, size, size), of uint8, brighter for later classes."""
    level = 40 + 160 * np.asarray(labels) // max(1, num_classes - 1)
    spread = np.random.default_rng(seed).integers(-40, 41, (len(labels), channels, size, size))
    return (level[:, None, None, None] + spread).clip(0, 255).astype(np.uint8)


def save_image(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.transpose(1, 2, 0)).save(path, quality=95)


def cifar_part(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    fine = labels_for(n, len(FINE))
    return noise(fine, len(FINE), 32, seed=seed).reshape(n, 3072), fine, np.array(COARSE_OF)[fine]


def write_cifar100_binary(root: Path, *, train: int = 12, test: int = 6) -> Path:
    folder = root / "cifar-100-binary"
    folder.mkdir(parents=True)
    for name, n, seed in (("train.bin", train, 0), ("test.bin", test, 1)):
        pixels, fine, coarse = cifar_part(n, seed)
        columns = [coarse[:, None].astype(np.uint8), fine[:, None].astype(np.uint8), pixels]
        (folder / name).write_bytes(np.concatenate(columns, axis=1).tobytes())
    (folder / "fine_label_names.txt").write_text("\n".join(FINE) + "\n")
    (folder / "coarse_label_names.txt").write_text("\n".join(COARSE) + "\n")
    return folder


def idx(values: np.ndarray) -> bytes:
    shape = b"".join(size.to_bytes(4, "big") for size in values.shape)
    return bytes((0, 0, 8, values.ndim)) + shape + values.astype(np.uint8).tobytes()


def write_mnist(
    root: Path, *, train: int = 40, test: int = 20, gzipped: bool = True, mark: str = "-"
) -> Path:
    folder = root / "mnist"
    folder.mkdir(parents=True)
    for stem, n, seed in (("train", train, 0), ("t10k", test, 1)):
        labels = labels_for(n, 10)
        images = noise(labels, 10, 28, channels=1, seed=seed)[:, 0]
        for kind, values in (("images", images), ("labels", labels)):
            content = idx(values)
            name = f"{stem}-{kind}{mark}idx{values.ndim}-ubyte"
            (folder / (name + ".gz" * gzipped)).write_bytes(
                gzip.compress(content) if gzipped else content
            )
    return folder


def write_tiny_imagenet(root: Path, *, train: int = 4, val: int = 2) -> Path:
    folder = root / "tiny-imagenet-200"
    annotations = []
    for k, wnid in enumerate(WNIDS):
        for i, pixels in enumerate(noise(np.full(train, k), len(WNIDS), 64)):
            save_image(folder / "train" / wnid / "images" / f"{wnid}_{i}.JPEG", pixels)
        (folder / "train" / wnid / f"{wnid}_boxes.txt").write_text("")
        for i, pixels in enumerate(noise(np.full(val, k), len(WNIDS), 64, seed=1)):
            save_image(folder / "val" / "images" / f"val_{k}_{i}.JPEG", pixels)
            annotations.append(f"val_{k}_{i}.JPEG\t{wnid}\t0\t0\t62\t62\n")
    (folder / "val" / "val_annotations.txt").write_text("".join(annotations))
    (folder / "wnids.txt").write_text("\n".join(WNIDS) + "\n")
    words = WORDS | {"n99": "not one of the classes"}
    (folder / "words.txt").write_text("".join(f"{wnid}\t{word}\n" for wnid, word in words.items()))
    return folder


def write_cub200(root: Path, *, per_class: int = 4) -> Path:
    folder = root / "CUB_200_2011"
    lines: dict[str, list[str]] = {
        "images": [],
        "image_class_labels": [],
        "train_test_split": [],
        "classes": [],
    }
    number = 0
    for k, bird in enumerate(BIRDS):
        lines["classes"].append(f"{k + 1} {bird}")
        for i, pixels in enumerate(noise(np.full(per_class, k), len(BIRDS), 40)):
            number += 1
            name = f"{bird}/{bird[4:]}_{i:04d}_{number}.jpg"
            save_image(folder / "images" / name, pixels[:, :30])  # not square
            lines["images"].append(f"{number} {name}")
            lines["image_class_labels"].append(f"{number} {k + 1}")
            lines["train_test_split"].append(f"{number} {int(i % 2 == 0)}")
    for name, held in lines.items():
        (folder / f"{name}.txt").write_text("\n".join(held) + "\n")
    return folder


def write_omniart(
    root: Path, *, train: int = 8, test: int = 4, schools: tuple[str, ...] = SCHOOLS
) -> Path:
    folder = root / "omniart"
    first = 1
    for part, n in (("train", train), ("test", test)):
        labels = labels_for(n, len(schools))
        rows = []
        for i, pixels in enumerate(noise(labels, len(schools), 48, seed=first)):
            save_image(folder / part / f"{first + i}.jpg", pixels)
            year = 1600 + 50 * i
            rows.append([first + i, year, year // 100 + 1, schools[labels[i]], "Somebody, A."])
        write_csv(
            folder / f"{part}_complete.csv",
            ["omni_id", "creation_year", "century", "school", "artist"],
            rows,
        )
        first += n
    return folder


def write_csv(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def write_image_folder(
    root: Path, *, classes: tuple[str, ...] = ("cat", "dog"), per_class: int = 5
) -> Path:
    """Write a folder with a subfolder for each class."""
    for k, name in enumerate(classes):
        for i, pixels in enumerate(noise(np.full(per_class, k), len(classes), 24)):
            save_image(root / name / f"{i}.png", pixels)
    return root


def write_painting_table(root: Path, *, n: int = 10) -> Path:
    """Write a table of images with a class and a number to predict, each with an empty cell."""
    rows: list[list[object]] = []
    for i, pixels in enumerate(noise(labels_for(n, 2), 2, 24)):
        save_image(root / "images" / f"{i}.png", pixels)
        rows.append(
            [
                f"images/{i}.png",
                ("baroque", "cubism")[i % 2] if i != 3 else "",
                1600 + 30 * i if i != 4 else "",
            ]
        )
    return write_csv(root / "paintings.csv", ["path", "style", "year"], rows)
