"""Every kind of data, from the publishers' layouts to a trained and resumable run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import hyperproto as hp
from hyperproto.cli.main import main
from hyperproto.data import Split
from hyperproto.training import Recipe, describe_data, look, read_data, read_run, resume_run, train
from hyperproto.training.protocol import settings_of
from hyperproto.training.recipe_parts import auto_dim, build_network, build_space, settle
from tests.data import layouts
from tests.training.test_survival import contents

ROOT = Path(__file__).parents[2]
SMALL = {"backbone": "resnet", "backbone_options": {"depth": 8, "width": 4}}
QUICK = {"epochs": 1, "batch_size": 4, "workers": 0}


def numbers_table(root, *, rows=24, test_rows=0):
    """Write a table of two columns of numbers, a class that follows from them and a number, with empty cells."""
    generator = torch.Generator().manual_seed(rows)
    values = torch.randn(rows, 2, generator=generator).tolist()
    held = [[round(x, 3), round(y, 3), "up" if x > 0 else "down", round(10 * y, 2)] for x, y in values]
    held[2][0], held[3][2], held[4][3] = "", "", ""
    return layouts.write_csv(root / "numbers.csv", ["x", "y", "way", "amount"], held)


NUMBERS = {"classes": ["way"], "ranges": ["amount"]}

CASES = {
    "cifar-100": (layouts.write_cifar100_binary, {}, (12, 6), SMALL),
    "imagenet-200": (layouts.write_tiny_imagenet, {}, (12, 6), SMALL),
    "cub-200-2011": (layouts.write_cub200, {"size": 32}, (6, 6), SMALL),
    "omniart": (layouts.write_omniart, {"size": 32}, (8, 4), SMALL),
    "mnist": (layouts.write_mnist, {}, (40, 20), SMALL),
    "image-folder": (lambda root: layouts.write_image_folder(root / "pets"), {"size": 32}, (8, 2), SMALL),
    "table": (numbers_table, NUMBERS, (19, 5), {}),
}


@pytest.mark.parametrize("reader", CASES)
def test_each_data_set_is_read_counted_and_trained_on(reader, tmp_path):
    write, options, counts, network = CASES[reader]
    data = describe_data(write(tmp_path), **options)
    assert data["reader"] == reader
    run = train(Recipe(data, **network, **QUICK), tmp_path / "run")
    config = read_run(tmp_path / "run").config
    assert (config["data"]["train"], config["data"]["valid"]) == counts
    assert json.loads((tmp_path / "run" / "recipe.json").read_text()) == config["recipe"]
    source = read_data(config["recipe"]["data"])
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
    assert (source.name, data["options"]) == ("rotated-mnist", {"seed": 5})
    again = read_data(json.loads(json.dumps(data)))
    assert torch.equal(again.train.inputs, source.train.inputs)
    path = layouts.write_cifar100_binary(tmp_path)
    uneven = read_data(describe_data(path, "cifar-100-uneven", least=1, most=3))
    assert torch.bincount(uneven.train.targets["class"]).tolist() == [1, 2, 3]


def test_data_are_described_by_plain_values_or_a_sentence(tmp_path):
    assert describe_data("digits", seed=2) == {"reader": "digits", "path": "", "options": {"seed": 2}}
    with pytest.raises(FileNotFoundError, match='"nowhere" must be an existing folder or file of data'):
        describe_data("nowhere", "mnist")
    with pytest.raises(ValueError, match='Unknown option for reading "cub-200-2011" "sise".*Did you mean "size"'):
        describe_data(layouts.write_cub200(tmp_path), sise=3)
    with pytest.raises(ValueError, match='Options for reading "mnist" must be left out.*got "size"'):
        describe_data(layouts.write_mnist(tmp_path), "mnist", size=3)
    with pytest.raises(ValueError, match='Unknown entry of a recipe "epoch".*Did you mean "epochs"'):
        Recipe.from_dict({"data": {}, "epoch": 3})


def recipe_for(path, **more):
    return Recipe(describe_data(path, **NUMBERS), **{"epochs": 3, "batch_size": 4, "patience": 9, **more})


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    place = tmp_path_factory.mktemp("unbroken")
    path = numbers_table(place)
    train(recipe_for(path), place / "run")
    return path, place / "run"


BEGINNINGS = {
    "before its config": ("recipe.json",),
    "before its first checkpoint": ("recipe.json", "config.json", "prototypes.0.safetensors"),
}


@pytest.mark.parametrize("moment", BEGINNINGS)
def test_a_run_cut_off_at_its_beginning_ends_in_the_same_bits(unbroken, tmp_path, moment):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in BEGINNINGS[moment]:
        shutil.copy(unbroken[1] / name, folder)
    (folder / ".config.json.x.part").write_text("{")
    torch.manual_seed(8)  # of no consequence
    resume_run(folder)
    assert contents(folder) == contents(unbroken[1])


KILLED = """
import os, signal, sys
from hyperproto.cli.main import main
from hyperproto.training import gradients
whole, left = gradients.Gradients.__call__, [9]
def dies(self, *args):
    left[0] -= 1
    os.kill(os.getpid(), signal.SIGKILL) if left[0] == 0 else None
    return whole(self, *args)
gradients.Gradients.__call__ = dies
main(sys.argv[1:])
"""


def test_a_killed_command_is_resumed_to_the_same_bits(unbroken, tmp_path):
    path, whole = unbroken
    command = ["train", "--table", str(path), "--classes", "way", "--range", "amount", "--epochs", "3"]
    command += ["--batch-size", "4", "--patience", "9", "--folder", str(tmp_path / "run")]
    threads = str(torch.get_num_threads())
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", KILLED, *command], capture_output=True, env=environment, timeout=120)
    assert done.returncode == -9, done.stderr
    assert not (tmp_path / "run" / "metrics.json").exists()
    said = []
    resume_run(tmp_path / "run", say=said.append)
    assert said[0].endswith("run continues in epoch 2 of 3.")
    assert contents(tmp_path / "run") == contents(whole)
    resume_run(tmp_path / "run", say=said.append)
    assert "is over: 3 epochs are done" in said[2]


def test_data_that_come_with_a_library_are_at_no_path(tmp_path):
    with pytest.raises(ValueError, match='must be left out for "digits", which comes with scikit-learn'):
        read_data(describe_data("digits"), tmp_path)


def test_moved_data_are_asked_for_and_their_test_table_moves_along(tmp_path):
    first = tmp_path / "first"
    path = numbers_table(first)
    shutil.copy(path, first / "test.csv")
    data = describe_data(path, **NUMBERS, test=first / "test.csv")
    train(Recipe(data, **QUICK), tmp_path / "run")
    first.rename(tmp_path / "second")
    with pytest.raises(FileNotFoundError, match='must still be at ".*first/numbers.csv"..*data=PATH'):
        resume_run(tmp_path / "run")
    run = resume_run(tmp_path / "run", path=tmp_path / "second" / "numbers.csv")
    assert len(run.history) == 1


def test_other_data_are_refused_by_name(tmp_path):
    train(recipe_for(numbers_table(tmp_path), epochs=1), tmp_path / "run")
    path = tmp_path / "other.csv"
    path.write_text((tmp_path / "numbers.csv").read_text().replace("up", "in"))
    with pytest.raises(ValueError, match='"way" was down, up and is down, in. Give the data'):
        resume_run(tmp_path / "run", path=path)


def test_a_folder_that_holds_a_run_is_left_alone_and_one_that_failed_is_not_kept(unbroken, tmp_path):
    path, folder = unbroken
    before = contents(folder)
    with pytest.raises(ValueError, match="holds a run already. Continue it with --resume"):
        train(recipe_for(path), folder)
    assert contents(folder) == before
    with pytest.raises(ValueError, match="Unknown measure to monitor"):
        train(recipe_for(path, monitor="way/acuracy"), tmp_path / "run")
    with pytest.raises(ValueError, match="`dim` must be at least 2"):
        train(recipe_for(path, dim=1), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="No run in"):
        resume_run(tmp_path / "run")
    again = train(recipe_for(path), folder, resume=True)
    assert len(again.history) == 3


def test_a_run_that_fit_began_cannot_be_resumed_from_its_folder(tmp_path, blobs, blob_space):
    network = hp.models.MLP(3, 4, hidden=(4,))
    hp.fit(network, blob_space, blobs, epochs=1, folder=tmp_path / "run")
    with pytest.raises(ValueError, match="was not trained from a recipe"):
        resume_run(tmp_path / "run")


def test_numbers_beyond_given_bounds_are_scored_in_validation(tmp_path):
    path = numbers_table(tmp_path)
    test = layouts.write_csv(tmp_path / "test.csv", ["x", "y", "way", "amount"], [[0.1, 0.2, "up", 1000]])
    data = describe_data(path, **NUMBERS, test=test, bounds={"amount": [-5, 5]})
    run = train(Recipe(data, **QUICK))
    assert run.metrics["amount/mae"] >= 995


def test_a_share_of_the_training_data_can_be_held_out_for_validation(tmp_path):
    path = layouts.write_cifar100_binary(tmp_path)
    train(Recipe(describe_data(path), valid_share=0.25, **SMALL, **QUICK), tmp_path / "run")
    assert read_run(tmp_path / "run").config["data"] == {"train": 9, "valid": 3}
    with pytest.raises(ValueError, match="`valid_share` must be less than 1"):
        Recipe(describe_data(path), valid_share=1.0)
    with pytest.raises(ValueError, match="must hold out an example at least; 0.01 of 12 is none"):
        train(Recipe(describe_data(path), valid_share=0.01))


def test_the_dimension_follows_the_tasks():
    assert auto_dim({"a": hp.Classes(10)}) == 10
    assert auto_dim({"a": hp.Classes(1000)}) == 100
    assert auto_dim({"a": hp.Classes(2), "b": hp.Range(0, 1)}) == 3
    assert auto_dim({"b": hp.Range(0, 1)}) == 3
    assert auto_dim({"a": hp.Classes(5), "c": hp.Classes(3), "b": hp.Range(0, 1), "d": hp.Range(0, 1)}) == 10
    for tasks in ({"b": hp.Range(0, 1)}, {"a": hp.Classes(2), "b": hp.Range(0, 1), "c": hp.Range(0, 1)}):
        hp.Space(auto_dim(tasks), tasks)


PAPER = {
    "cifar-100": (128, 0.01, (3, 32, 32), "resnet"),
    "cub-200-2011": (64, 0.01, (3, 224, 224), "resnet-3463"),
    "omniart": (64, 0.001, (3, 224, 224), "resnet-3463"),
    "rotated-mnist": (128, 0.01, (1, 28, 28), "digit-net"),
}


@pytest.mark.parametrize("reader", PAPER)
def test_the_papers_protocol_sets_what_is_not_given(reader):
    batch_size, lr, (channels, size, _), backbone = PAPER[reader]
    data = {"reader": reader, "path": "", "options": {}}
    recipe = Recipe(data, protocol="paper")
    settings = settings_of(recipe)
    assert (settings["epochs"], settings["schedule"], settings["reduction"]) == (250, "paper", "sum")
    assert (settings["batch_size"], settings["lr"]) == (batch_size, lr)
    assert (settings["momentum"], settings["weight_decay"]) == (0.9, 1e-4)
    preprocessing = hp.data.ImagePreprocessing(size, mean=(0.5,) * channels, std=(1.0,) * channels)
    network = build_network(recipe, preprocessing, 4)
    assert network.name == backbone
    assert network.config.get("depth", 32) == 32
    own = Recipe(data, protocol="paper", epochs=3, lr=0.5, schedule="constant", batch_size=7, backbone="resnet-8")
    settings = settings_of(own)
    assert [settings[name] for name in ("epochs", "lr", "schedule", "batch_size")] == [3, 0.5, "constant", 7]
    assert build_network(own, preprocessing, 4).config["depth"] == 8


@pytest.mark.parametrize(
    ("choice", "reduction", "lr"),
    [
        ({"loss": "squared"}, "sum", 0.01),
        ({"protocol": "paper"}, "sum", 0.01),
        ({"loss": "softmax"}, "mean", 0.2),
        ({"loss": "free"}, "mean", 0.2),
        ({"loss": "cauchy"}, "mean", 0.1),
        ({"loss": "power"}, "mean", 1.0),
        ({"space": "conventional"}, "mean", 0.1),
        ({"space": "composite"}, "mean", 0.3),
        ({"loss": "squared", "reduction": "mean"}, "mean", 0.1),
        ({"loss": "softmax", "lr": 0.3}, "mean", 0.3),
    ],
)
def test_the_rate_follows_the_loss(choice, reduction, lr):
    settings = settings_of(Recipe({"reader": "digits", "path": "", "options": {}}, **choice))
    assert (settings["reduction"], settings["lr"]) == (reduction, lr)
    long = choice.get("protocol") == "paper"
    assert (settings["epochs"], settings["schedule"]) == ((250, "paper") if long else (20, "one-cycle"))
    assert settings["mixed_precision"] is None


@pytest.mark.parametrize(
    ("num_classes", "choice", "loss", "prior"),
    [
        (4, {}, "free", None),
        (8, {"dim": 7}, "free", None),
        (8, {"dim": 3}, "free", "data"),
        (8, {"dim": 3, "prior": "none"}, "free", "none"),
        (8, {"dim": 3, "loss": "free"}, "free", "data"),
        (8, {"dim": 3, "loss": "power"}, "power", None),
        (8, {"dim": 3, "protocol": "paper"}, "squared", None),
        (20_000, {}, "power", None),
    ],
)
def test_auto_stands_for_a_rule_in_classes_and_dimensions(num_classes, choice, loss, prior):
    recipe = Recipe({"reader": "digits", "path": "", "options": {}}, **choice)
    seen = Split(torch.zeros(3, 2), {"kind": torch.arange(3)})
    settled = settle(recipe, {"kind": hp.Classes(num_classes)}, seen)
    assert (settled.loss, settled.prior) == (loss, prior)


def test_a_composite_space_has_a_margin_of_its_own():
    tasks = {"kind": hp.Classes(3), "year": hp.Range(0, 1)}
    data = {"reader": "digits", "path": "", "options": {}}
    space = build_space(Recipe(data, space="composite"), tasks)
    assert type(space) is hp.CompositeSpace
    assert space.tasks["year"].margin == 0.1
    assert build_space(Recipe(data, space="composite", margin=0.2), tasks).tasks["year"].margin == 0.2
    assert build_space(Recipe(data), tasks).tasks["year"].margin == 0.1
    assert build_space(Recipe(data, loss="squared"), tasks).tasks["year"].margin == 0


@pytest.mark.parametrize(
    ("choice", "settled"),
    [
        ({}, ("free", None, 0.1, 0.1)),
        ({"lr": 0.3, "margin": 0.0}, ("free", None, 0.3, 0.0)),
        ({"protocol": "paper"}, ("squared", None, None, None)),
        ({"space": "composite"}, ("squared", None, None, None)),
        ({"loss": "squared"}, ("squared", None, None, None)),
    ],
)
def test_beside_numbers_lengths_are_free_and_poles_kept_off(choice, settled):
    recipe = Recipe({"reader": "digits", "path": "", "options": {}}, **choice)
    found = settle(recipe, {"kind": hp.Classes(3), "year": hp.Range(0, 1)})
    assert (found.loss, found.prior, found.lr, found.margin) == settled


def test_numbers_alone_are_the_papers_loss():
    recipe = Recipe({"reader": "digits", "path": "", "options": {}})
    assert settle(recipe, {"year": hp.Range(0, 1)}).loss == "squared"
    assert settle(recipe, {"kind": hp.Classes(20_000), "year": hp.Range(0, 1)}).loss == "squared"


def test_few_dimensions_get_a_look_at_the_examples(generator):
    centres = torch.tensor([[5.0, 0, 0], [5.0, 1, 0], [-5.0, 0, 1], [-5.0, 0, 0], [0, 6.0, 0], [0, 6.0, 1]])
    labels = torch.arange(6).repeat_interleave(20)
    seen = Split(centres[labels] + 0.2 * torch.randn(120, 3, generator=generator), {"kind": labels})
    recipe = Recipe({"reader": "digits", "path": "", "options": {}}, dim=3)
    space = build_space(recipe, {"kind": hp.Classes(6)}, seen)
    cosines = space.prototypes["kind"].vectors @ space.prototypes["kind"].vectors.T
    assert cosines[0, 1] > cosines[0, 2]
    assert space.tasks["kind"].loss == hp.losses.FreeNormSoftmax()
    assert "projected" in space.prototypes["kind"].certificate.method


def test_what_is_held_out_is_not_looked_at(monkeypatch):
    seen = []
    real = look.from_data
    monkeypatch.setattr(
        look,
        "from_data",
        lambda x, y, *rest, **options: seen.append(len(y)) or real(x, y, *rest, **options),
    )
    run = train(Recipe(describe_data("digits"), dim=3, valid_share=0.5, epochs=1), progress=False)
    assert seen == [676]
    assert run.metrics["digit/accuracy"] > 0


def test_image_files_are_looked_at_too(tmp_path):
    rng = np.random.default_rng(0)
    for kind in range(6):  # three kinds of stripes, two of each nearly alike
        for number in range(4):
            stripes = np.zeros((20, 20, 3))
            stripes[:: kind // 2 + 2] = 200
            pixels = np.clip(stripes + 30 * (kind % 2) + rng.normal(0, 5, stripes.shape), 0, 255).astype(np.uint8)
            (tmp_path / "img" / str(kind)).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(tmp_path / "img" / str(kind) / f"{number}.png")
    (tmp_path / "img" / "5" / "torn.png").write_bytes(b"no image")
    said = []
    recipe = Recipe(describe_data(tmp_path / "img"), dim=3, skip_corrupt=True, epochs=1, keep="stream")
    with pytest.warns(UserWarning, match="torn.png"):
        train(recipe, tmp_path / "run", progress=False, say=said.append)
    assert "free norm softmax loss, prototypes placed by" in said[0]
    assert "examples by patches of images (6 of 6 classes)" in said[0]
    assert "projected" in hp.load(tmp_path / "run")[1].prototypes["class"].certificate.method


def test_a_folder_called_data_is_not_taken_for_a_prior(tmp_path, monkeypatch, capsys):
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    main(["train", "--data", "digits", "--dim", "3", "--prior", "data", "--epochs", "1", "--folder", "run"])
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
    recipe = Recipe({"reader": "digits", "path": "", "options": {}}, dim=2)
    space = build_space(recipe, {"kind": hp.Classes(5)}, Split(inputs, {"kind": labels}))
    assert space.prototypes["kind"].certificate.meaning is None


def test_prototypes_of_a_file_go_to_the_classes_they_are_named_for(tmp_path):
    tasks = {"animal": hp.Classes(["cat", "dog", "ox"]), "age": hp.Range(0, 9)}
    data = {"reader": "digits", "path": "", "options": {}}
    hp.place(["ox", "cat", "dog"], 5).save(tmp_path / "p")
    space = build_space(Recipe(data, prototypes=str(tmp_path / "p")), tasks)
    held = hp.Prototypes.load(tmp_path / "p").vectors
    assert space.dim == 6
    assert torch.equal(space.prototypes["animal"].vectors, held[[1, 2, 0]])
    hp.place(3, 4).save(tmp_path / "unnamed")
    assert build_space(Recipe(data, prototypes=str(tmp_path / "unnamed")), tasks).tasks["animal"].names[0] == "cat"
    hp.place(["ox", "cat", "hen"], 5).save(tmp_path / "p")
    with pytest.raises(ValueError, match='for each of the 3 classes of "animal"; it holds others, such as "hen"'):
        build_space(Recipe(data, prototypes=str(tmp_path / "p")), tasks)
    with pytest.raises(ValueError, match="data with one class task; this has 0"):
        build_space(Recipe(data, prototypes=str(tmp_path / "p")), {"age": hp.Range(0, 9)})


def test_a_prior_places_like_classes_together(tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 0 .1\ndog .9 .1 .1\noak 0 1 .2\npine 0 .9 .3\n", encoding="utf-8")
    recipe = Recipe(
        {"reader": "digits", "path": "", "options": {}}, dim=3, prior=str(vectors), loss="softmax", margin=0.2
    )
    tasks = {"kind": hp.Classes(["cat", "oak", "dog", "pine"]), "age": hp.Range(0, 9)}
    space = build_space(recipe, tasks)
    cosine = space.prototypes["kind"].vectors @ space.prototypes["kind"].vectors.T
    assert cosine[0, 2] > cosine[0, 1]
    assert space.tasks["age"].margin == 0.2
    assert isinstance(space.tasks["kind"].loss, hp.losses.CosineSoftmax)
    with pytest.raises(ValueError, match="got both"):
        Recipe(recipe.data, prior="a", prototypes="b")
    with pytest.raises(ValueError, match='belong to the sphere; got space="conventional"'):
        Recipe(recipe.data, prior="a", space="conventional")


def test_a_recipe_stored_with_the_old_word_for_the_data_driven_prior_is_read():
    stored = Recipe({"reader": "digits", "path": "", "options": {}}, prior="data").to_dict() | {"prior": "examples"}
    assert Recipe.from_dict(stored).prior == "data"
