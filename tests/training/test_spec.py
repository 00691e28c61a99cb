"""Every kind of data, from the publishers' layouts to a trained and resumable run."""

import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits

import hyperproto as hp
from hyperproto._core.errors import NonFiniteLossError
from hyperproto.cli.main import main
from hyperproto.data import Source, Split, Standardizer, TablePreprocessing
from hyperproto.data.readers import describe_data, read_data
from hyperproto.defaults import choose_backbone, choose_dim
from hyperproto.runtime.tables import ColumnCode, TableEncoder
from hyperproto.spaces.space import assign_axes
from hyperproto.spec import DataSpec, NetworkSpec, RunSpec, SpaceSpec, TrainSettings
from hyperproto.tasks import Classes, Range
from hyperproto.training import build, read_run, resume_run, train
from hyperproto.training import space as space_module
from hyperproto.training.fit import resolve_settings
from hyperproto.training.folder import RunFolder
from tests.data import layouts
from tests.training.test_survival import contents

ROOT = Path(__file__).parents[2]
SMALL = {"backbone": "resnet", "backbone_options": {"depth": 8, "width": 4}}
QUICK = {"epochs": 1, "batch_size": 4, "workers": 0}
PARTS = {"data": DataSpec, "network": NetworkSpec, "space": SpaceSpec, "train": TrainSettings}


# rows that are prepared already
TABLE = TablePreprocessing(
    TableEncoder((ColumnCode("a", "number", (0.0,)),)), Standardizer((0.0,), (1.0,))
)


def spec_of(data, **values):
    """Return a description from the names of all its parts' fields in one dict."""
    groups = {
        part: {k: v for k, v in values.items() if k in kind.__dataclass_fields__}
        for part, kind in PARTS.items()
    }
    rest = {k: v for k, v in values.items() if not any(k in group for group in groups.values())}
    made = {
        part: replace(data, **group) if part == "data" else PARTS[part](**group)
        for part, group in groups.items()
    }
    return RunSpec(**made, **rest)


def source_of(targets, train=None):
    """Return data with these targets, and examples that say nothing."""
    if train is None:
        train = Split(torch.zeros(3, 2), {name: torch.arange(3) for name in targets})
    return Source("test", train, None, targets, TABLE)


def build_space(spec, source, *, seed=0):
    frozen = isinstance(source.preprocessing, hp.data.ImagePreprocessing) and (
        source.train.inputs.ndim == 2
    )
    return space_module.build_space(spec, source.targets, source.train, seed=seed, frozen=frozen)


def space_of(spec, targets, train=None):
    return build_space(spec.space, source_of(targets, train), seed=spec.train.seed)


def seen(num_classes, each=2):
    """Return rows of classes that lie at random places, so that a prior can be made of them."""
    labels = torch.arange(num_classes).repeat_interleave(each)
    rows = torch.randn(len(labels), 5, generator=torch.Generator().manual_seed(0))
    return Split(rows, {"kind": labels})


def loss_and_prior(space):
    """Return what was chosen for the one class task: its loss, and whether a prior placed it."""
    found = space.prototypes["kind"].certificate.prior_agreement
    return space.tasks["kind"].loss, None if found is None else "data"


NOTHING = DataSpec(reader="digits")


def classes(number):
    return Classes([f"class {index}" for index in range(number)])


def numbers_table(root, *, rows=24, test_rows=0):
    """Write a table of two columns of numbers, a class that follows from them and a number, with
    empty cells.
    """
    generator = torch.Generator().manual_seed(rows)
    values = torch.randn(rows, 2, generator=generator).tolist()
    held = [
        [round(x, 3), round(y, 3), "up" if x > 0 else "down", round(10 * y, 2)] for x, y in values
    ]
    held[2][0], held[3][2], held[4][3] = "", "", ""
    return layouts.write_csv(root / "numbers.csv", ["x", "y", "way", "amount"], held)


NUMBERS = {"classes": ["way"], "ranges": ["amount"]}

CASES = {
    "cifar-100": (layouts.write_cifar100_binary, {}, (12, 6), SMALL),
    "imagenet-200": (layouts.write_tiny_imagenet, {}, (12, 6), SMALL),
    "cub-200-2011": (layouts.write_cub200, {"image_size": 32}, (6, 6), SMALL),
    "omniart": (layouts.write_omniart, {"image_size": 32}, (8, 4), SMALL),
    "mnist": (layouts.write_mnist, {}, (40, 20), SMALL),
    "image-folder": (
        lambda root: layouts.write_image_folder(root / "pets"),
        {"image_size": 32},
        (8, 2),
        SMALL,
    ),
    "table": (numbers_table, NUMBERS, (19, 5), {}),
}


@pytest.mark.parametrize("reader", CASES)
def test_each_data_set_is_read_counted_and_trained_on(reader, tmp_path):
    write, options, counts, network = CASES[reader]
    size = options.get("image_size")
    data = describe_data(
        write(tmp_path), **{key: value for key, value in options.items() if key != "image_size"}
    )
    assert data.reader == reader
    data = replace(data, image_size=size)
    run = train(spec_of(data, **network, **QUICK), tmp_path / "run")
    config = read_run(tmp_path / "run").config
    assert (config["data"]["train"], config["data"]["valid"]) == counts
    asked = RunSpec.from_dict(json.loads((tmp_path / "run" / "spec.json").read_text()))
    stored = read_run(tmp_path / "run").spec
    assert (asked.data, asked.network) == (stored.data, stored.network)
    source = read_data(stored.data)
    assert config["preprocessing"]["kind"] == source.preprocessing.to_dict()["kind"]
    for task in config["space"]["tasks"]:
        known = source.targets[task["name"]]
        held = [task["low"], task["high"]] if task["task"] == "range" else task["classes"]
        assert held == ([known.low, known.high] if task["task"] == "range" else list(known.names))
    assert all(name.split("/")[0] in source.targets for name in run.metrics)
    hp.load(tmp_path / "run")


def test_variants_are_read_by_name(tmp_path):
    path = layouts.write_mnist(tmp_path)
    data = describe_data(path, "rotated-mnist", seed=5)
    source = read_data(data)
    assert (source.name, data.options) == ("rotated-mnist", {"seed": 5})
    again = read_data(DataSpec(**json.loads(json.dumps(asdict(data)))))
    assert torch.equal(again.train.inputs, source.train.inputs)
    path = layouts.write_cifar100_binary(tmp_path)
    uneven = read_data(describe_data(path, "cifar-100-uneven", least=1, most=3))
    assert torch.bincount(uneven.train.targets["class"]).tolist() == [1, 2, 3]


def test_data_are_described_by_plain_values_or_a_sentence(tmp_path):
    assert describe_data("digits", seed=2) == DataSpec(reader="digits", options={"seed": 2})
    with pytest.raises(
        FileNotFoundError, match='"nowhere" must be an existing folder or file of data'
    ):
        describe_data("nowhere", "mnist")
    with pytest.raises(
        ValueError,
        match='Unknown option for reading "omniart" "from_yaer".*Did you mean "from_year"',
    ):
        describe_data(layouts.write_omniart(tmp_path), from_yaer=3)
    mnist = describe_data(layouts.write_mnist(tmp_path), "mnist")
    with pytest.raises(ValueError, match='Unknown option for reading "mnist" "deskew"'):
        read_data(replace(mnist, options={"deskew": True}))
    with pytest.raises(
        ValueError, match='Unknown field of TrainSettings "epoch".*Did you mean "epochs"'
    ):
        RunSpec.from_dict({"data": asdict(NOTHING), "train": {"epoch": 3}})


def recipe_for(path, **more):
    return spec_of(
        describe_data(path, **NUMBERS), **{"epochs": 3, "batch_size": 4, "patience": 9, **more}
    )


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    place = tmp_path_factory.mktemp("unbroken")
    path = numbers_table(place)
    train(recipe_for(path), place / "run")
    return path, place / "run"


BEGINNINGS = {
    "before its config": ("spec.json",),
    "before its first checkpoint": ("spec.json", "config.json", "prototypes.0.safetensors"),
}


@pytest.mark.parametrize("moment", BEGINNINGS)
def test_a_run_cut_off_at_its_beginning_ends_in_the_same_bits(unbroken, tmp_path, moment):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in BEGINNINGS[moment]:
        shutil.copy(unbroken[1] / name, folder)
    (folder / ".hyperproto-x.part").mkdir()
    torch.manual_seed(8)  # of no consequence
    resume_run(folder)
    assert contents(folder) == contents(unbroken[1])


def test_a_run_on_the_network_of_another_is_resumed_with_the_preparation_of_that(
    unbroken, tmp_path
):
    path = numbers_table(tmp_path, rows=40)  # which by itself would be prepared otherwise
    whole, folder = tmp_path / "whole", tmp_path / "run"
    train(recipe_for(path, weights=str(unbroken[1]), epochs=1), whole)
    folder.mkdir()
    shutil.copy(whole / "spec.json", folder)  # all that a run that is killed early leaves
    resume_run(folder)
    assert contents(folder) == contents(whole)


KILLED = """
import os, signal, sys
from hyperproto.cli.main import main
from hyperproto.training import steps
whole, left = steps.Gradients.__call__, [9]
def dies(self, *args):
    left[0] -= 1
    os.kill(os.getpid(), signal.SIGKILL) if left[0] == 0 else None
    return whole(self, *args)
steps.Gradients.__call__ = dies
main(sys.argv[1:])
"""


def test_a_killed_command_is_resumed_to_the_same_bits(unbroken, tmp_path):
    path, whole = unbroken
    command = [
        "train",
        "--data",
        str(path),
        "--classes",
        "way",
        "--range",
        "amount",
        "--epochs",
        "3",
    ]
    command += ["--batch-size", "4", "--patience", "9", "--folder", str(tmp_path / "run")]
    threads = str(torch.get_num_threads())
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": threads,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *command], capture_output=True, env=environment, timeout=120
    )
    assert done.returncode == -9, done.stderr
    assert not (tmp_path / "run" / "metrics.json").exists()
    said = []
    resume_run(tmp_path / "run", say=said.append)
    assert said[0].endswith("run continues in epoch 2 of 3.")
    assert contents(tmp_path / "run") == contents(whole)
    resume_run(tmp_path / "run", say=said.append)
    assert any("is finished: 3 epochs are done" in sentence for sentence in said)


def test_data_that_come_with_a_library_are_at_no_path(tmp_path):
    with pytest.raises(
        ValueError, match='must be left out for "digits", which comes with scikit-learn'
    ):
        read_data(describe_data("digits"), tmp_path)


def test_moved_data_are_asked_for_and_their_test_table_moves_along(tmp_path):
    first = tmp_path / "first"
    path = numbers_table(first)
    shutil.copy(path, first / "test.csv")
    data = describe_data(path, **NUMBERS, test=first / "test.csv")
    train(spec_of(data, **QUICK), tmp_path / "run")
    first.rename(tmp_path / "second")
    with pytest.raises(
        FileNotFoundError, match='must still be at ".*first/numbers.csv"..*data=PATH'
    ):
        resume_run(tmp_path / "run")
    run = resume_run(tmp_path / "run", path=tmp_path / "second" / "numbers.csv")
    assert len(run.history) == 1


def test_other_data_are_refused_by_name(tmp_path):
    train(recipe_for(numbers_table(tmp_path), epochs=1), tmp_path / "run")
    path = tmp_path / "other.csv"
    path.write_text((tmp_path / "numbers.csv").read_text().replace("up", "in"))
    with pytest.raises(ValueError, match="started, with targets.way.1='up'; got 'in'"):
        resume_run(tmp_path / "run", path=path)


def test_a_folder_that_holds_a_run_is_left_alone_and_one_that_failed_is_not_kept(
    unbroken, tmp_path
):
    path, folder = unbroken
    before = contents(folder)
    with pytest.raises(
        ValueError, match="must be new or empty; got one with files. Continue the run in it with"
    ):
        train(recipe_for(path), folder)
    assert contents(folder) == before
    with pytest.raises(ValueError, match="Unknown measure to monitor"):
        train(recipe_for(path, monitor="way/acuracy"), tmp_path / "run")
    with pytest.raises(ValueError, match="`dim` must be at least 2"):
        train(recipe_for(path, dim=1), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="must hold a run; got no"):
        resume_run(tmp_path / "run")
    again = train(recipe_for(path), folder, resume=True)
    assert len(again.history) == 3


@pytest.mark.parametrize("resume", [False, True])
def test_two_that_start_the_same_run_do_not_meet(tmp_path, resume):
    recipe, folder, refused = recipe_for(numbers_table(tmp_path), epochs=1), tmp_path / "run", []

    def start():
        with pytest.raises(ValueError, match="must be used by one process at a time"):
            train(recipe, folder, resume=resume)
        refused.append(True)

    with RunFolder(folder, recipe).started():  # its data are being read
        before = contents(folder)
        other = threading.Thread(target=start)
        other.start()
        other.join()
        assert refused
        assert contents(folder) == before
    assert len(train(recipe, folder, resume=True).history) == 1


def test_a_run_that_fit_began_cannot_be_resumed_from_its_folder(tmp_path, blobs, blob_space):
    network = hp.models.MLP(3, 4, hidden=(4,))
    hp.fit(network, blob_space, blobs, epochs=1, folder=tmp_path / "run")
    with pytest.raises(
        ValueError, match="must be trained from a description to be resumed; got a run of fit"
    ):
        resume_run(tmp_path / "run")


def test_numbers_beyond_given_bounds_are_scored_in_validation(tmp_path):
    path = numbers_table(tmp_path)
    test = layouts.write_csv(
        tmp_path / "test.csv", ["x", "y", "way", "amount"], [[0.1, 0.2, "up", 1000]]
    )
    data = describe_data(path, **NUMBERS, test=test, bounds={"amount": [-5, 5]})
    with pytest.warns(UserWarning, match='values of "amount" lie beyond its bounds'):
        run = train(spec_of(data, **QUICK))
    assert run.metrics["amount/mae"] >= 995


def test_a_share_of_the_training_data_can_be_held_out_for_validation(tmp_path):
    path = layouts.write_cifar100_binary(tmp_path)
    train(spec_of(describe_data(path), valid_share=0.25, **SMALL, **QUICK), tmp_path / "run")
    assert read_run(tmp_path / "run").config["data"] == {"train": 9, "valid": 3}
    with pytest.raises(ValueError, match="`valid_share` must be less than 1"):
        spec_of(describe_data(path), valid_share=1.0)
    with pytest.raises(ValueError, match="must hold out an example of 12 at least; got 0.01"):
        train(spec_of(describe_data(path), valid_share=0.01))


def test_the_dimension_follows_the_tasks():
    assert choose_dim([10]) == 9
    assert choose_dim([1000]) == 256
    assert choose_dim([2], 1) == 3
    assert choose_dim([], 1) == 8
    assert choose_dim([5, 3], 2) == 8
    assert choose_dim([5, 3], 2, separate=True) == 22
    for counts, ranges in (([], 1), ([2], 2), ([2, 2], 0)):
        tasks = {f"c{i}": hp.Classes(count) for i, count in enumerate(counts)}
        tasks |= {f"r{i}": hp.Range(0, 1) for i in range(ranges)}
        hp.Space(choose_dim(counts, ranges), tasks)
        axes = assign_axes(choose_dim(counts, ranges, separate=True), tasks, separate=True)
        assert [part.stop - part.start for part in axes.values()] == [2] * len(counts) + [
            8
        ] * ranges


def test_classes_and_numbers_have_spheres_of_their_own_where_there_is_room():
    both = {"kind": classes(5), "year": Range(0, 1, outside="clip")}
    space = space_of(spec_of(NOTHING), both)
    assert (type(space), space.separate, space.dim) == (hp.Space, True, 12)
    assert (space.tasks["year"].margin, space.tasks["year"].loss) == (0, "absolute")
    for choice in ({"dim": 3}, {"kind": "sphere"}):
        assert not space_of(spec_of(NOTHING, **choice), both).separate
    for alone in (
        {"kind": classes(5)},
        {"year": Range(0, 1, outside="clip")},
        {"year": Range(0, 1, outside="clip"), "month": Range(1, 12, outside="clip")},
    ):
        assert not space_of(spec_of(NOTHING), alone).separate
    assert (
        space_of(spec_of(NOTHING), {"year": Range(0, 1, outside="clip")}).tasks["year"].loss
        == "absolute"
    )
    assert space_of(spec_of(NOTHING, loss="squared_cosine"), both).tasks["year"].loss == "squared"


def test_rows_take_at_least_300_steps_and_decay_by_their_number():
    space = space_of(spec_of(NOTHING), {"kind": classes(3)})
    for n, kind, chosen in (
        (142, "rows", (100, 48, 0.1, 6e-3)),
        (40_000, "rows", (15, 64, 0.1, 1e-4)),
        (10_003, "sparse rows", (10, 251, 0.3, 1e-3)),
        (142, "images", (30, 128, 0.2, 1e-4)),
    ):
        found = resolve_settings(TrainSettings(), space, n, kind)
        assert (found.epochs, found.batch_size, found.lr, found.weight_decay) == chosen
    assert resolve_settings(TrainSettings(weight_decay=0.5), space, 142, "rows").weight_decay == 0.5
    assert choose_backbone((2000,), "sparse rows")[1]["dropout"] == 0.5
    assert "dropout" not in choose_backbone((9,), "sparse rows")[1]
    assert "dropout" not in choose_backbone((2000,), "rows")[1]


@pytest.mark.parametrize(
    ("choice", "reduction", "lr"),
    [
        ({"loss": "squared_cosine"}, "sum", 0.01),
        ({"loss": "cosine_softmax"}, "mean", 0.2),
        ({"loss": "free_norm_softmax"}, "mean", 0.2),
        ({"loss": "power_cosine"}, "mean", 1.0),
        ({"kind": "conventional"}, "mean", 0.1),
        ({"loss": "squared_cosine", "reduction": "mean"}, "mean", 0.1),
        ({"loss": "cosine_softmax", "lr": 0.3}, "mean", 0.3),
    ],
)
def test_the_rate_follows_the_loss(choice, reduction, lr):
    preprocessing = hp.data.ImagePreprocessing(32)
    train = Split(torch.zeros(6000, 1, 1, 1), {"kind": torch.arange(6000) % 4})
    source = replace(source_of({"kind": classes(4)}, train), preprocessing=preprocessing)
    spec = spec_of(NOTHING, **choice)
    space = build_space(spec.space, source, seed=0)
    settings = resolve_settings(spec.train, space, len(train), "images")
    assert (settings.reduction, settings.lr) == (reduction, lr)
    assert (settings.epochs, settings.schedule) == (20, "one-cycle")
    assert settings.mixed_precision is None


@pytest.mark.parametrize(
    ("num_classes", "choice", "loss", "prior"),
    [
        (4, {}, "free_norm_softmax", None),
        (8, {"dim": 7}, "free_norm_softmax", None),
        (8, {"dim": 3}, "free_norm_softmax", "data"),
        (8, {"dim": 3, "prior": "none"}, "free_norm_softmax", None),
        (8, {"dim": 3, "loss": "free_norm_softmax"}, "free_norm_softmax", "data"),
        (8, {"dim": 3, "loss": "power_cosine"}, "power_cosine", None),
        (8, {"dim": 3, "loss": "squared_cosine"}, "squared_cosine", None),
        (8, {"dim": 3, "loss": "paper"}, "squared_cosine", None),
        (20_000, {"dim": 64}, "power_cosine", None),
    ],
)
def test_auto_stands_for_a_rule_in_classes_and_dimensions(num_classes, choice, loss, prior):
    source = source_of({"kind": classes(num_classes)}, seen(num_classes))
    chosen, placed_by = loss_and_prior(build_space(SpaceSpec(**choice), source))
    assert (chosen.name, placed_by) == (loss, prior)


@pytest.mark.parametrize(
    ("num_classes", "choice", "loss", "prior"),
    [
        (8, {"dim": 7}, hp.losses.FreeNormSoftmax(), None),
        (8, {"dim": 3}, hp.losses.PowerCosine(q=1.0), "data"),
        (25, {"dim": 3}, hp.losses.PowerCosine(q=0.5), "data"),
        (8, {"dim": 3, "loss": "squared_cosine"}, hp.losses.SquaredCosine(), "data"),
        (
            8,
            {"dim": 3, "loss": "cosine_softmax", "loss_options": {"scale": 8.0}},
            hp.losses.CosineSoftmax(8.0),
            "data",
        ),
        (8, {"dim": 3, "prior": "none"}, hp.losses.FreeNormSoftmax(), None),
        (
            8,
            {"dim": 3, "prior": "none", "loss_options": {"gain": 2.0}},
            hp.losses.FreeNormSoftmax(gain=2.0),
            None,
        ),
    ],
)
def test_on_frozen_features_few_dimensions_have_a_rule_of_their_own(
    num_classes, choice, loss, prior
):
    source = replace(
        source_of({"kind": classes(num_classes)}, seen(num_classes)),
        preprocessing=hp.data.ImagePreprocessing(8),
    )
    assert loss_and_prior(build_space(SpaceSpec(**choice), source)) == (loss, prior)


def test_on_frozen_features_prototypes_keep_the_order_of_the_prior_alone(monkeypatch):
    methods = []
    original = space_module.place
    monkeypatch.setattr(
        space_module,
        "place",
        lambda *args, method, **more: methods.append(method) or original(*args, **more),
    )
    rows, labels = (
        torch.randn(80, 5, generator=torch.Generator().manual_seed(0)),
        torch.arange(80) % 8,
    )
    source = source_of({"kind": classes(8)}, Split(rows, {"kind": labels}))
    for found in (source, replace(source, preprocessing=hp.data.ImagePreprocessing(8))):
        build_space(SpaceSpec(dim=3), found, seed=0)
    assert methods == ["project", "auto"]


@pytest.mark.parametrize(
    ("choice", "margin"), [({}, 0.1), ({"margin": 0.2}, 0.2), ({"loss": "squared_cosine"}, 0)]
)
def test_numbers_next_to_classes_have_a_margin_unless_the_loss_is_the_papers(choice, margin):
    targets = {"kind": classes(3), "year": Range(0, 1, outside="clip")}
    space = space_of(spec_of(NOTHING, kind="sphere", **choice), targets)
    assert space.tasks["year"].margin == margin


@pytest.mark.parametrize(
    ("choice", "chosen"),
    [
        ({}, ("free_norm_softmax", 0.1, 0.0)),
        ({"kind": "sphere"}, ("free_norm_softmax", 0.1, 0.1)),
        ({"kind": "sphere", "lr": 0.3, "margin": 0.0}, ("free_norm_softmax", 0.3, 0.0)),
        ({"kind": "conventional"}, ("auto", 0.03, "auto")),
        ({"kind": "conventional", "loss": "squared_cosine"}, ("squared_cosine", 0.01, "auto")),
        ({"loss": "squared_cosine"}, ("squared_cosine", 0.01, 0.0)),
    ],
)
def test_next_to_numbers_lengths_are_free_and_poles_avoided(choice, chosen):
    source, spec = (
        source_of({"kind": classes(3), "year": Range(0, 1, outside="clip")}),
        spec_of(NOTHING, **choice),
    )
    space = build_space(spec.space, source, seed=0)
    settings = resolve_settings(spec.train, space, 3, "rows")
    loss = space.tasks["kind"].loss
    found = getattr(loss, "name", loss), settings.lr, space.tasks["year"].margin
    assert found == chosen


@pytest.mark.parametrize(("counts", "numbers"), [([12_000, 5], 0), ([10, 5], 1), ([7], 0), ([], 1)])
def test_every_way_in_chooses_the_same_losses_and_rates(counts, numbers):
    targets = {
        f"c{i}": Classes([f"{i}.{k}" for k in range(count)]) for i, count in enumerate(counts)
    }
    targets |= {f"n{i}": Range(0.0, 1.0, outside="clip") for i in range(numbers)}
    rows = {
        name: torch.zeros(4, dtype=torch.int64 if name[0] == "c" else torch.float64)
        for name in targets
    }
    source = Source("rows", Split(torch.randn(4, 3), rows), None, targets, TABLE)
    dim = 20 if counts else 8
    built = build_space(SpaceSpec(dim=dim), source, seed=0)
    tasks = {
        name: hp.Classes(known.num_classes, loss="auto")
        for name, known in targets.items()
        if name[0] == "c"
    }
    tasks |= {
        name: hp.Range(0, 1, margin=built.tasks[name].margin) for name in targets if name[0] == "n"
    }
    own = hp.Space(dim, tasks)
    for name in tasks:
        if name[0] == "c":
            assert type(built.tasks[name].loss) is type(own.tasks[name].loss)
    settings = [resolve_settings(TrainSettings(), space, 4, "rows") for space in (built, own)]
    assert settings[0] == settings[1]


def test_numbers_alone_have_the_absolute_error_but_beside_the_papers_loss():
    targets = {"year": Range(0, 1, outside="clip")}
    assert space_of(spec_of(NOTHING), targets).tasks["year"].loss == "absolute"
    paper = space_of(spec_of(NOTHING, loss="paper"), targets)
    assert paper.tasks["year"].loss == "squared"


def test_few_dimensions_get_a_data_driven_prior(generator):
    centers = torch.tensor(
        [[5.0, 0, 0], [5.0, 1, 0], [-5.0, 0, 1], [-5.0, 0, 0], [0, 6.0, 0], [0, 6.0, 1]]
    )
    labels = torch.arange(6).repeat_interleave(20)
    seen = Split(centers[labels] + 0.2 * torch.randn(120, 3, generator=generator), {"kind": labels})
    space = space_of(spec_of(NOTHING, dim=3), {"kind": classes(6)}, seen)
    cosines = space.prototypes["kind"].vectors @ space.prototypes["kind"].vectors.T
    assert cosines[0, 1] > cosines[0, 2]
    assert space.tasks["kind"].loss == hp.losses.FreeNormSoftmax()
    assert "projected" in space.prototypes["kind"].certificate.method


def test_what_is_validated_on_is_not_in_the_prior(monkeypatch):
    seen = []
    real = space_module.from_data
    monkeypatch.setattr(
        space_module,
        "from_data",
        lambda x, y, *rest, **options: seen.append(len(y)) or real(x, y, *rest, **options),
    )
    run = train(spec_of(describe_data("digits"), dim=3, valid_share=0.5, epochs=1), progress=False)
    assert seen == [676]
    assert run.metrics["digit/accuracy"] > 0


def test_image_files_get_a_data_driven_prior_too(tmp_path):
    rng = np.random.default_rng(0)
    for kind in range(6):  # three kinds of stripes, two of each nearly alike
        for number in range(4):
            stripes = np.zeros((20, 20, 3))
            stripes[:: kind // 2 + 2] = 200
            pixels = np.clip(
                stripes + 30 * (kind % 2) + rng.normal(0, 5, stripes.shape), 0, 255
            ).astype(np.uint8)
            (tmp_path / "img" / str(kind)).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(tmp_path / "img" / str(kind) / f"{number}.png")
    (tmp_path / "img" / "5" / "torn.png").write_bytes(b"no image")
    said = []
    recipe = spec_of(
        describe_data(tmp_path / "img"), dim=3, skip_corrupt=True, epochs=1, keep="stream"
    )
    with pytest.warns(UserWarning, match="torn.png"):
        train(recipe, tmp_path / "run", progress=False, say=said.append)
    assert any(line.startswith("Images are 20 x 20 pixels for the network") for line in said)
    assert "free norm softmax loss, prototypes placed by" in said[-1]
    assert "examples by patches of images (6 of 6 classes)" in said[-1]
    assert "projected" in hp.load(tmp_path / "run").space.prototypes["class"].certificate.method


def test_a_folder_called_data_is_not_taken_for_a_prior(tmp_path, monkeypatch, capsys):
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    main(
        [
            "train",
            "--data",
            "digits",
            "--dim",
            "3",
            "--prior",
            "data",
            "--epochs",
            "1",
            "--folder",
            "run",
        ]
    )
    assert "prototypes placed by 1348 examples" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        (torch.eye(4), torch.tensor([0, 1, 0, 1])),  # two classes have no third to be ranked by
        (torch.arange(4.0)[:, None], torch.tensor([0, 0, 0, 0])),
        (torch.zeros(4, 2, 3), torch.arange(4)),  # neither rows nor images
    ],
)
def test_examples_that_say_nothing_leave_placement_as_it_is(inputs, labels):
    space = space_of(spec_of(NOTHING, dim=2), {"kind": classes(5)}, Split(inputs, {"kind": labels}))
    assert space.prototypes["kind"].certificate.prior_agreement is None


def test_prototypes_of_a_file_go_to_the_classes_they_are_named_for(tmp_path):
    targets = {"animal": Classes(["cat", "dog", "ox"]), "age": Range(0, 9, outside="clip")}
    hp.place(["ox", "cat", "dog"], 5).save(tmp_path / "p")
    spec = spec_of(NOTHING, prototypes=str(tmp_path / "p"))
    space = space_of(spec, targets)
    placed = hp.Prototypes.load(tmp_path / "p").vectors
    assert space.dim == 5 + 8
    assert (
        space_of(spec_of(NOTHING, kind="sphere", prototypes=str(tmp_path / "p")), targets).dim == 6
    )
    assert torch.equal(space.prototypes["animal"].vectors, placed[[1, 2, 0]])
    hp.place(3, 4).save(tmp_path / "unnamed")
    unnamed = space_of(spec_of(NOTHING, prototypes=str(tmp_path / "unnamed")), targets)
    assert unnamed.tasks["animal"].names[0] == "cat"
    hp.place(["ox", "cat", "hen"], 5).save(tmp_path / "p")
    with pytest.raises(
        ValueError, match='for each of the 3 classes of "animal"; got others, such as "hen"'
    ):
        space_of(spec, targets)
    with pytest.raises(ValueError, match="data have one class task; got 0 class tasks"):
        space_of(spec, {"age": Range(0, 9, outside="clip")})


def test_a_prior_places_like_classes_together(tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 0 .1\ndog .9 .1 .1\noak 0 1 .2\npine 0 .9 .3\n", encoding="utf-8")
    spec = spec_of(NOTHING, dim=3, prior=str(vectors), loss="cosine_softmax", margin=0.2)
    space = space_of(
        spec, {"kind": Classes(["cat", "oak", "dog", "pine"]), "age": Range(0, 9, outside="clip")}
    )
    cosine = space.prototypes["kind"].vectors @ space.prototypes["kind"].vectors.T
    assert cosine[0, 2] > cosine[0, 1]
    assert space.tasks["age"].margin == 0.2
    assert isinstance(space.tasks["kind"].loss, hp.losses.CosineSoftmax)
    with pytest.raises(
        ValueError, match="`prior` must be left out where `prototypes` are placed already"
    ):
        SpaceSpec(prior="a", prototypes="b")
    with pytest.raises(ValueError, match="`dim` must be left out of a conventional space"):
        SpaceSpec(prior="a", kind="conventional")


def test_a_description_goes_through_json_and_back():
    spec = spec_of(
        DataSpec(reader="cifar-100", path="/data", options={"seed": 3}, tasks=("class",)),
        first_classes=5,
        valid_examples=40,
        kind="sphere",
        dim=4,
        loss_options={"scale": 3},
        backbone="resnet-8",
        epochs=2,
    )
    assert RunSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_data_are_cut_down_as_described(tmp_path):
    path = layouts.write_cifar100_binary(tmp_path)
    described = describe_data(path)
    source = build.build_source(
        replace(described, first_classes=2, train_examples=4, test_examples=2)
    )
    assert len(source.targets["class"].names) == 2
    assert (len(source.train), len(source.test)) == (4, 2)
    assert torch.bincount(source.train.targets["class"]).tolist() == [2, 2]
    source = build.build_source(
        replace(described, valid_examples=3, image_size=16, tasks=("class",))
    )
    assert (len(source.train), len(source.test)) == (9, 3)
    assert source.preprocessing.size == source.preprocessing.resize == 16
    with pytest.raises(ValueError, match='"cifar-100" must have 99 classes; got'):
        build.build_source(replace(described, first_classes=99))


def test_two_heads_do_not_diverge_by_default_where_squared_error_does(tmp_path):
    pixels, digits = load_digits(return_X_y=True)
    table = (
        pd.DataFrame(pixels).add_prefix("pixel ").assign(digit=[f"is {digit}" for digit in digits])
    )
    table.to_csv(tmp_path / "digits.csv", index=False)
    data = describe_data(tmp_path / "digits.csv", ranges=["pixel 20"])
    settings = TrainSettings(epochs=2, lr=0.1)
    with pytest.raises(NonFiniteLossError):
        train(
            RunSpec(
                data=data,
                space=SpaceSpec(kind="conventional", loss="squared_cosine"),
                train=settings,
            )
        )
    run = train(RunSpec(data=data, space=SpaceSpec(kind="conventional"), train=settings))
    assert run.metrics["pixel 20/mae"] < run.baseline["pixel 20/mae"]
