"""The Python of the documentation runs as it stands, on data like those that it speaks of."""

import re
import warnings
from unittest.mock import patch

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset

import hyperproto as hp
from hyperproto.cli.main import main
from tests.data import layouts
from tests.evaluation.conftest import write_images
from tests.examples.pages import DOCS, PAGES, ROOT, alike, blocks, run, type_in

README = ROOT / "README.md"


def photos(folder):
    """Write the folder of photographs that pages speak of, and what calibrates and what is unknown
    next to it.
    """
    write_images(folder / "photos" / "train", n=20)
    write_images(folder / "photos" / "test", n=6, seed=1)
    write_images(folder / "calibration", n=30, seed=2)
    (folder / "strangers").mkdir()
    rng = np.random.default_rng(0)
    for i in range(12):
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(
            folder / "strangers" / f"{i}.png"
        )


def trained(folder):
    """Write the photographs, and train the run that the page on runs begins with."""
    photos(folder)
    names = {}
    exec(blocks(DOCS / "how-to" / "using.md")[0].code, names)
    return names


def tables(folder):
    """Write the tables that the page on data reads."""
    rows = [f"{i % 4}.png,{'old' if i % 2 else 'new'},{1500 + i}" for i in range(20)]
    (folder / "paintings.csv").write_text("\n".join(["path,style,year", *rows]))
    for i in range(4):
        Image.new("RGB", (8, 8), (60 * i, 0, 0)).save(folder / f"{i}.png")
    people = [f"{60 + i},{150 + i},{20 + i}" for i in range(20)]
    (folder / "people.csv").write_text("\n".join(["weight,height,age", *people]))


def every_layout(folder):
    """Write the data that the reference reads: photographs, tables, and a little of each published
    data set.
    """
    photos(folder)
    tables(folder)
    for write in ("cifar100_binary", "mnist", "tiny_imagenet", "cub200", "omniart"):
        getattr(layouts, f"write_{write}")(folder / "data")


def paintings(folder):
    """Train the run on paintings that pages speak of."""
    tables(folder)
    type_in("hyperproto train --data paintings.csv --image path --classes style --range year")


def own_parts(folder):
    every_layout(folder)
    write_images(folder / "pets")
    (folder / "others.csv").write_text((folder / "paintings.csv").read_text())
    space, inputs = hp.Space(3, hp.Classes(4)), torch.randn(40, 8)
    dataset = TensorDataset(inputs, torch.arange(40) % 4)
    names = {"hp": hp, "torch": torch, "DataLoader": DataLoader, "space": space, "dataset": dataset}
    return names | {"network": torch.nn.Linear(8, 3)}


def word_vectors(folder):
    names = [
        "apple",
        "pear",
        "plum",
        "shark",
        "ray",
        "trout",
        "oak",
        "pine",
        "maple",
        "bus",
        "train",
        "tank",
    ]
    rng = np.random.default_rng(0)
    lines = (
        f"{name} " + " ".join(f"{value:.3f}" for value in rng.normal(size=20)) for name in names
    )
    (folder / "glove.6B.100d.txt").write_text("\n".join(lines))
    (folder / "classes.txt").write_text("\n".join(names))
    write_images(folder / "photos", names, n=2)
    return {"names": names}


PREPARE = {
    "explanation/learning.md": lambda _: {
        "images": torch.randn(400, 1, 8, 8),
        "labels": torch.arange(400) % 100,
    },
    "explanation/priors.md": word_vectors,
    "how-to/confidence.md": trained,
    "how-to/data.md": every_layout,
    "how-to/doctor.md": trained,
    "how-to/priors.md": word_vectors,
    "how-to/report.md": paintings,
    "how-to/training.md": own_parts,
    "how-to/using.md": photos,
    "reference/api/data.md": every_layout,
    "reference/api/evaluation.md": trained,
    "reference/api/hub.md": trained,
    "reference/api/report.md": trained,
    "reference/backbones.md": lambda _: {"torch": torch, "images": torch.rand(2, 3, 64, 64)},
    "reference/baselines.md": lambda _: {"hp": hp},
}


def check_confidence(names):
    assert names["found"].tasks["class"].confidence.calibration_error < 0.1
    assert names["found"].unknown["class"]["auroc"] > 0.9
    assert names["answer"]["unknown"]


def check_estimators(names):
    model, X, y = names["model"], names["X"], names["y"]
    assert (model.predict(X) == -1).any()
    assert (model.predict(X) == y).mean() > 0.9
    assert model.calibration_error_ < 0.05


def check_new_classes(names):
    assert names["fewer"].space.prototypes.names == ("zero", "two", "three")
    assert names["space"].prototypes.names == ("zero", "one", "two", "three")
    assert names["model"].classes_.tolist() == [1, 2, 3, 14]


def check_using(names):
    assert names["found"].examples == len(names["rows"]) == 18
    assert str(names["rows"][0]["file"]).endswith("photos/test/dark/0.png")


CHECK = {
    "how-to/confidence.md": check_confidence,
    "how-to/estimators.md": check_estimators,
    "how-to/new_classes.md": check_new_classes,
    "how-to/using.md": check_using,
}
TOLD = [str(page.relative_to(DOCS)) for page in PAGES if page.is_relative_to(DOCS)]
RUN = [
    name
    for name in TOLD
    if not name.startswith("tutorials/")
    and any(block.runs for block in blocks(DOCS / name, "python", "console"))
]


@pytest.mark.parametrize("name", RUN)
def test_the_python_and_the_commands_of_a_page_run(name, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    if name == "reference/backbones.md":
        request.getfixturevalue("pretrained_weights")
    torch.manual_seed(0)
    names = PREPARE.get(name, lambda _: {})(tmp_path) or {}
    with (
        warnings.catch_warnings(),
        patch.dict(hp.losses.LOSSES),
        patch.dict(hp.data.READERS),
    ):  # pages add some
        warnings.filterwarnings("ignore", message="The old classes lost")
        run(name, names)
    CHECK.get(name, lambda _: None)(names)


def test_few_blocks_are_not_run_and_each_has_a_reason():
    found = [block for page in PAGES for block in blocks(page, "python", "console")]
    assert sum(block.language == "console" for block in found) > 20
    left_out = [block.reason for block in found if block.reason]
    assert all(len(reason) > 10 for reason in left_out)
    assert len(left_out) < len(found) / 4


def test_a_block_from_an_example_is_part_of_it():
    shown = [block for name in TOLD for block in blocks(DOCS / name) if block.example]
    assert len(shown) >= 6
    for block in shown:
        assert block.code in (ROOT / block.example).read_text(encoding="utf-8"), block.example


def test_the_examples_of_the_readme_print_what_it_shows(capsys):
    loop, estimator = blocks(README)
    names = {}
    exec(loop.code, names)
    told = re.search(r"```text\n(accuracy .*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert alike(capsys.readouterr().out, told[1])
    exec(estimator.code, names)
    labels = names["y_test"]
    assert (names["model"].predict(names["X_test"]) == labels.numpy()).mean() > 0.85


def test_the_commands_of_the_readme_print_what_it_shows(pretrained_weights, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    exec((ROOT / "examples" / "tutorials" / "photos.py").read_text(encoding="utf-8"), {})
    (shown,) = (block for block in blocks(README, "console") if not block.reason)
    for line, told in shown.commands:
        if line.startswith(("python", "hyperproto serve")):  # run above; does not end
            continue
        printed = [text.split() for text in type_in(line).splitlines()]
        for words in (text.removesuffix("...").split() for text in told.splitlines()):
            begin = (" ".join(text[: len(words)]) for text in printed)
            assert any(alike(text, " ".join(words)) for text in begin), (line, words, printed)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_commands_outside_the_site_run_or_say_why_not(name):
    left = [block for block in blocks(ROOT / name, "console") if not block.reason]
    assert len(left) == (name == "README.md")  # run above


def test_the_table_to_write_is_one():
    names = {"__name__": "table8"}
    exec(blocks(ROOT / "CONTRIBUTING.md")[0].code, names)
    assert len(names["EXPERIMENT"].entries("smoke")) == 2


def test_every_tutorial_shows_its_script_and_what_it_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        script = ROOT / "examples" / "tutorials" / f"{page.stem}.py"
        if not script.exists():
            continue
        shown = "\n".join(block.code for block in blocks(page) if not block.reason)
        code = script.read_text(encoding="utf-8")
        without_docstring = code.split('"""', 2)[2]
        assert [*filter(None, shown.splitlines())] == [
            *filter(None, without_docstring.splitlines())
        ], page.name
        exec(compile(code, script.name, "exec"), {"__name__": "__main__"})
        printed = capsys.readouterr().out
        if page.stem == "photos":
            continue  # its text blocks are commands, below
        told = "\n".join(
            re.findall(r"```text\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        )
        assert alike(printed, told, share=0.5), (page.name, printed, told)


def test_the_commands_of_the_tutorial_on_photos_run(
    pretrained_weights, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    exec((ROOT / "examples" / "tutorials" / "photos.py").read_text(encoding="utf-8"), {})
    commands = re.findall(
        r"^\$ hyperproto (.*)", (DOCS / "tutorials" / "photos.md").read_text("utf-8"), re.MULTILINE
    )
    assert [line.split()[0] for line in commands] == ["data", "train", "evaluate", "predict"]
    for line in commands:
        main(line.split())
    assert "class/accuracy 100.0 %" in capsys.readouterr().out
    assert (tmp_path / "answers.csv").read_text().count("\n") == 3
