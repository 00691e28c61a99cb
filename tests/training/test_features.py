"""Frozen networks: features are computed once, the last layers are trained, and the run is like any
other.
"""

import shutil
from dataclasses import replace

import pytest
import torch
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import hyperproto as hp
from hyperproto.cli.main import main
from hyperproto.data.augment import Augment
from hyperproto.data.preprocessing import preprocessing_from_dict
from hyperproto.data.readers import describe_data, read_source
from hyperproto.data.source import resized
from hyperproto.evaluation import add_classes
from hyperproto.models import FeatureBackbone, ResNet, create_backbone
from hyperproto.spec import NetworkSpec, RunSpec, TrainSettings
from hyperproto.training import read_run, resume_run, train
from hyperproto.training.build import read_as
from hyperproto.training.keeper import Keeper
from hyperproto.training.load import RunRecord

OPTIONS = {"depth": 8, "width": 4}


@pytest.fixture
def pictures(tmp_path):
    """Write a folder of two classes, which differ in color."""
    for part, count in (("train", 8), ("test", 3)):
        for name, color in (("blue", 200), ("red", 20)):
            folder = tmp_path / "img" / part / name
            folder.mkdir(parents=True)
            for index in range(count):
                pixels = torch.randint(
                    0, 60, (20, 20, 3), generator=torch.Generator().manual_seed(index)
                )
                pixels[..., 2] += color * 3 // 4
                Image.fromarray(pixels.to(torch.uint8).numpy()).save(folder / f"{index}.png")
    return tmp_path / "img"


@pytest.fixture
def weights(tmp_path):
    torch.manual_seed(7)
    torch.save(
        create_backbone("resnet", out_dim=5, **OPTIONS).state_dict(), tmp_path / "weights.pt"
    )
    return tmp_path / "weights.pt"


def described(pictures, weights, **settings):
    network = NetworkSpec(
        backbone="resnet", backbone_options=OPTIONS, weights=str(weights), freeze=True
    )
    settings = {"epochs": 3, "batch_size": 8, **settings}
    return RunSpec(data=describe_data(pictures), network=network, train=TrainSettings(**settings))


def source_preprocessing(folder):
    return preprocessing_from_dict(read_run(folder).preprocessing)


def counted(monkeypatch) -> list[int]:
    """Return a list that grows by how many images each call computes features of."""
    calls, compute = [], ResNet.features

    def features(self, images):
        calls.append(len(images))
        return compute(self, images)

    monkeypatch.setattr(ResNet, "features", features)
    return calls


def test_features_are_computed_once_and_only_the_output_is_trained(
    pictures, weights, tmp_path, monkeypatch
):
    calls, said = counted(monkeypatch), []
    run = train(described(pictures, weights), tmp_path / "run", progress=False, say=said.append)
    assert sum(calls) == 16 + 6
    assert "only its last layers are trained, on features that are computed once" in " ".join(said)
    with safe_open(tmp_path / "run" / "features.safetensors", "pt") as file:
        assert list(file.metadata()) == [
            "features"
        ]  # of several, the order would not be reproducible
    stored, state = torch.load(weights, weights_only=True), run.network.state_dict()
    assert all(
        torch.equal(state[key], value)
        for key, value in stored.items()
        if not key.startswith("output.")
    )
    loaded = hp.load(tmp_path / "run").network
    assert isinstance(loaded, FeatureBackbone)
    features = load_file(tmp_path / "run" / "features.safetensors")
    assert features["test"].shape == (6, 16)
    images = hp.data.training_data(
        hp.data.read_image_folder(pictures).test, source_preprocessing(tmp_path / "run")
    )
    assert hp.evaluate(loaded, run.space, images) == run.metrics


def test_a_frozen_run_is_resumed_by_its_features(pictures, weights, tmp_path, monkeypatch):
    whole = train(described(pictures, weights), tmp_path / "whole", progress=False)
    part, write = tmp_path / "part", Keeper.end_epoch

    def stop(self, run, times):
        if len(run.history) == 2:
            raise KeyboardInterrupt
        write(self, run, times)

    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "end_epoch", stop)
        with pytest.raises(KeyboardInterrupt):
            train(described(pictures, weights), part, progress=False)
    weights.unlink()  # all that is needed is in the folder
    calls = counted(monkeypatch)
    again = resume_run(part, progress=False)
    assert not [count for count in calls if count > 1]  # one image is tried, before training
    assert again.metrics == whole.metrics


FORMS = {
    "renamed": lambda kept: {
        name.replace("test", "held out"): value for name, value in kept.items()
    },
    "float64": lambda kept: kept | {"train": kept["train"].double()},
    "a row less": lambda kept: {name: value[1:].clone() for name, value in kept.items()},
    "other targets": lambda kept: kept | {"train.class": kept["train.class"].float()},
    "no rows": lambda kept: kept | {"train": torch.tensor(1.0)},
}


@pytest.mark.parametrize("damage", ["absent", "cut short", "of other images", *FORMS])
def test_features_that_do_not_fit_are_computed_again(
    damage, pictures, weights, tmp_path, monkeypatch
):
    spec, path = described(pictures, weights), tmp_path / "run" / "features.safetensors"
    first = train(spec, tmp_path / "run", progress=False)
    kept = {name: value.clone() for name, value in load_file(path).items()}
    if damage == "absent":
        path.unlink()
    elif damage == "cut short":
        path.write_bytes(path.read_bytes()[:-9])
    elif damage in FORMS:
        with safe_open(path, "pt") as file:
            save_file(FORMS[damage](kept), path, metadata=file.metadata())
    else:
        wrong = {name: value + 1 for name, value in kept.items()}
        save_file(wrong, path, metadata={"format": "hyperproto.features/1", "origin": "another"})
    calls = counted(monkeypatch)
    again = resume_run(tmp_path / "run", progress=False)
    assert sum(count for count in calls if count > 1) == 16 + 6
    assert again.metrics == first.metrics
    assert all(torch.equal(value, kept[name]) for name, value in load_file(path).items())


def test_a_folder_whose_features_were_computed_before_it_was_killed_can_be_used(
    pictures, weights, tmp_path, monkeypatch
):
    spec, folder = described(pictures, weights), tmp_path / "run"
    train(spec, folder, progress=False)
    for path in folder.iterdir():
        if path.name not in ("spec.json", "features.safetensors"):
            path.unlink()
    calls = counted(monkeypatch)
    train(spec, folder, progress=False)
    assert not [count for count in calls if count > 1]


def test_a_file_of_that_name_is_not_taken_for_ones_own(pictures, weights, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "features.safetensors").write_text("mine")
    with pytest.raises(ValueError, match="must be new or empty"):
        train(described(pictures, weights), tmp_path / "run", progress=False)


def test_a_mistake_leaves_no_folder(pictures, weights, tmp_path):
    with pytest.raises(ValueError, match="monitor"):
        train(described(pictures, weights, monitor="absent"), tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


def test_a_mistake_leaves_what_a_killed_run_had_written(pictures, weights, tmp_path):
    train(described(pictures, weights), tmp_path / "whole", progress=False)
    (tmp_path / "run").mkdir()
    for name in ("spec.json", "features.safetensors"):
        shutil.copy(tmp_path / "whole" / name, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(ValueError, match="monitor"):
        train(described(pictures, weights, monitor="absent"), tmp_path / "run", progress=False)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_the_data_driven_prior_of_a_frozen_network_is_made_of_features(
    pictures, weights, tmp_path, monkeypatch
):
    shutil.copytree(pictures / "train" / "red", pictures / "train" / "rose")
    shutil.copytree(pictures / "train" / "blue", pictures / "train" / "navy")
    seen = []
    monkeypatch.setattr(
        "hyperproto.training.space.from_data", lambda inputs, *_, **__: seen.append(inputs) or 1 / 0
    )
    spec = described(pictures, weights)
    with pytest.raises(ZeroDivisionError):
        train(
            RunSpec(data=spec.data, network=spec.network, space=hp.spec.SpaceSpec(dim=2)),
            progress=False,
        )
    assert seen[0].shape == (32, 16)


def test_a_frozen_run_starts_another_that_trains_everything(pictures, weights, tmp_path):
    train(described(pictures, weights), tmp_path / "head", progress=False)
    arguments = [
        "train",
        "--data",
        str(pictures),
        "--backbone",
        "resnet",
        "--backbone-options",
        "depth=8",
        "width=4",
    ]
    arguments += [
        "--weights",
        str(tmp_path / "head"),
        "--epochs",
        "1",
        "-o",
        str(tmp_path / "whole"),
    ]
    assert main(arguments) in (None, 0)
    before, after = (load_file(tmp_path / name / "last.safetensors") for name in ("head", "whole"))
    moved = (before["network.stem.weight"] - after["network.stem.weight"]).abs().max()
    assert 0 < moved < 0.1
    assert torch.equal(before["network.norm.running_mean"], after["network.norm.running_mean"])
    assert not (tmp_path / "whole" / "features.safetensors").exists()
    assert read_run(tmp_path / "whole").settings["lr"] == pytest.approx(
        0.0002
    )  # a thousandth of the rate from scratch


@pytest.mark.usefixtures("pretrained_weights")
def test_pretrained_weights_are_the_default_for_few_images(pictures, tmp_path, capsys):
    main(["train", "--data", str(pictures), "--epochs", "2", "-o", str(tmp_path / "run")])
    shown = capsys.readouterr().out
    assert (
        "efficientnet-lite0 starts from pretrained weights and gets images of 128 x 128 pixels; only its"
        in shown
    )
    assert (
        "fewer than 1,000 images per class (--weights none trains a network from scratch)" in shown
    )
    assert hp.load(tmp_path / "run").network.name == "efficientnet-lite0"
    stored = read_run(tmp_path / "run")
    assert (stored.preprocessing["size"], stored.preprocessing["std"]) == (128, [128 / 255] * 3)
    assert stored.spec.network == NetworkSpec(
        backbone="efficientnet-lite0", weights="pretrained", freeze=True
    )


@pytest.mark.usefixtures("pretrained_weights")
@pytest.mark.parametrize("options", [["--weights", "none"], ["--backbone", "resnet-8"]])
def test_another_network_is_taken_where_one_is_asked_for(options, pictures, tmp_path):
    main(["train", "--data", str(pictures), "--epochs", "1", "-o", str(tmp_path / "run"), *options])
    assert hp.load(tmp_path / "run").network.name == "resnet"


def test_weights_that_a_network_cannot_have_are_refused(weights):
    spec = RunSpec(
        data=describe_data("digits"),
        network=NetworkSpec(backbone="digit-net", weights=str(weights)),
    )
    with pytest.raises(
        ValueError, match='must hold the weights of "digit-net"; got .* missing or of another shape'
    ):
        train(spec, progress=False)
    with pytest.raises(ValueError, match=r"`freeze` must be left out with weights=none"):
        NetworkSpec(freeze=True, weights="none")


def test_data_read_as_those_of_a_run_are_cropped_as_at_its_start(pictures):
    source = replace(read_source(pictures), augment=Augment(padding=4))
    small = resized(source, source.preprocessing.size // 2)
    run = RunRecord(pictures, {"preprocessing": small.preprocessing.to_dict()}, [], None)
    again = read_as(run, lambda encoder: source)
    assert (again.preprocessing, again.augment) == (small.preprocessing, small.augment)
    assert again.augment.padding == 2


@pytest.mark.filterwarnings("ignore:The old classes lost")
def test_new_classes_of_a_frozen_network_are_learned_by_its_last_layers(
    pictures, weights, tmp_path, monkeypatch
):
    run = train(described(pictures, weights), folder=tmp_path / "run")
    before = {name: value.clone() for name, value in run.network.state_dict().items()}
    paths = sorted(map(str, (pictures / "train").rglob("*.png")))
    ids = torch.tensor([int("red" in path) for path in paths])
    calls = counted(monkeypatch)
    changed, report = add_classes(
        *(run, paths[:5], ["green"] * 5),
        replay=(paths, {"class": ids}),
        folder=tmp_path / "more",
        epochs=3,
    )
    assert report.how == "train"
    assert sum(calls) == len(paths) + 5  # each image once
    after = changed.network.state_dict()
    moved = {
        name.split(".")[0] for name, value in before.items() if not torch.equal(value, after[name])
    }
    assert moved == {"output"}
    assert hp.load(tmp_path / "more").space.tasks["class"].num_classes == 3
