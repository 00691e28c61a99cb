"""Runs by the conventions of Hugging Face's Hub, in folders: no test uses the network."""

import json
from pathlib import Path

import huggingface_hub
import pytest
import torch

import hyperproto as hp
from hyperproto._core.errors import InputError, StorageError
from hyperproto.evaluation import calibrate_run
from hyperproto.hub import HubModel
from hyperproto.models import create_backbone
from hyperproto.spec import DataSpec, RunSpec, TrainSettings
from hyperproto.training import train
from tests.core.test_files import full_disk

ROWS = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
TARGETS = {"pet": torch.arange(60) % 3, "age": torch.linspace(0, 9, 60)}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    torch.manual_seed(0)
    space = hp.Space(3, pet=hp.Classes(["cat", "dog", "owl"]), age=hp.Range(0, 9))
    network = create_backbone("mlp", out_dim=space.dim, in_features=4)
    data = (ROWS, TARGETS)
    folder = tmp_path_factory.mktemp("hub") / "run"
    hp.fit(network, space, data, valid=data, epochs=2, folder=folder, progress=False)
    calibrate_run(folder, data)
    return folder


@pytest.mark.parametrize("which", ["last", "best"])
def test_a_run_comes_back_from_a_folder(run, tmp_path, which):
    HubModel(run, which=which).save_pretrained(tmp_path / "model")
    network, space = HubModel.from_pretrained(tmp_path / "model")
    wanted, _ = hp.load(run, which=which)
    assert torch.equal(network(ROWS), wanted(ROWS))
    assert set(space.decode(space.predict(network(ROWS)))) == {"pet", "age"}
    held = {path.name for path in (tmp_path / "model").iterdir()}
    assert "checkpoint.safetensors" not in held
    assert ("calibration.json" in held) == (which == "last")  # it was fitted for those weights


def test_the_card_says_what_is_known(run):
    card = huggingface_hub.ModelCard(HubModel(run).card())
    measures = json.loads((run / "metrics.json").read_text())
    assert card.data.library_name == "hyperproto"
    assert card.data.pipeline_tag is None  # two tasks, and inputs that could be anything
    assert f"pet/accuracy {100 * measures['pet/accuracy']:.1f} %" in card.text
    assert '3 classes: "cat", "dog", "owl"' in card.text
    assert "A number: 0 to 9" in card.text
    assert "fitted on 60 examples" in card.text
    certificate = hp.load(run).space.prototypes["pet"].certificate
    assert f'"max_cosine": {certificate.max_cosine}' in card.text
    assert "Calibration: none." in HubModel(run, which="best").card()


def test_a_full_disk_is_a_sentence_and_leaves_no_folder(run, tmp_path):
    with (
        full_disk(),
        pytest.raises(
            StorageError, match=r"written \(File too large\); got a disk with .* Make room"
        ),
    ):
        HubModel(run).save_pretrained(tmp_path / "model")
    assert not any(tmp_path.iterdir())


TABLE = "words,age,pet,size\n" + "".join(
    f"soft fur {i % 3},{i % 7},pet{i % 3},{i % 5}\n" for i in range(60)
)


@pytest.mark.parametrize(
    ("options", "tag"),
    [
        ({"columns": ["age"], "classes": ["pet"]}, "tabular-classification"),
        (None, "image-classification"),  # digits
        ({"columns": ["age"], "ranges": ["size"]}, "tabular-regression"),
        ({"text": "words", "classes": ["pet"]}, "text-classification"),
        ({"text": "words", "ranges": ["size"]}, None),  # the Hub has no name for it
        ({"columns": ["age"], "classes": ["pet"], "ranges": ["size"]}, None),
    ],
)
def test_the_card_names_the_task_of_the_hub(tmp_path, options, tag):
    (tmp_path / "table.csv").write_text(TABLE)
    data = DataSpec(reader="digits", train_examples=40, test_examples=20)
    if options is not None:
        data = DataSpec(reader="table", path=str(tmp_path / "table.csv"), options=options)
    train(RunSpec(data=data, train=TrainSettings(epochs=1)), tmp_path / "run", progress=False)
    card = huggingface_hub.ModelCard(HubModel(tmp_path / "run").card())
    assert card.data.pipeline_tag == tag


def test_nothing_is_overwritten(run, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    for folder in (tmp_path, run):
        before = (folder / "config.json").read_bytes()
        with pytest.raises(InputError, match="new or empty"):
            HubModel(run).save_pretrained(folder)
        assert (folder / "config.json").read_bytes() == before


def test_pushing_uploads_what_is_saved(run, monkeypatch):
    uploaded = {}

    class Api:
        def __init__(self, token):
            assert token == "secret"

        def create_repo(self, repo_id, *, private, exist_ok):
            assert private
            assert exist_ok
            return huggingface_hub.RepoUrl(f"https://huggingface.co/{repo_id}")

        def upload_folder(self, *, repo_id, folder_path):
            uploaded[repo_id] = {path.name for path in Path(folder_path).iterdir()}

    monkeypatch.setattr("huggingface_hub.HfApi", Api)
    assert (
        HubModel(run).push_to_hub("you/pets", token="secret") == "https://huggingface.co/you/pets"
    )
    assert {"README.md", "config.json", "last.safetensors", "prototypes.0.safetensors"} <= uploaded[
        "you/pets"
    ]


def test_what_is_not_there_gets_a_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match="be a folder, or a repository of the Hub"):
        HubModel.from_pretrained("you/no-such-model", local_files_only=True, cache_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match="be a folder, or a repository of the Hub"):
        HubModel.from_pretrained(tmp_path / "nothing")
