"""Weights from a file: by their names, from the forms people have, and nothing but numbers."""

import pickle
from collections import OrderedDict

import pytest
import torch
from safetensors.torch import save_file

import hyperproto as hp
from hyperproto.models import create_backbone, load_weights


def build(out_dim: int = 4, seed: int = 0):
    torch.manual_seed(seed)
    return create_backbone("resnet-8", out_dim=out_dim, width=4)


def same_body(one, other) -> bool:
    pairs = zip(one.state_dict().items(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for (key, a), b in pairs if not key.startswith("output."))


WRAPPED = {
    "plain": lambda state: state,
    "state_dict": lambda state: {"state_dict": state, "epoch": 3},
    "model": lambda state: {"model": state},
    "module": lambda state: OrderedDict((f"module.{key}", value) for key, value in state.items()),
}


@pytest.mark.parametrize("form", WRAPPED)
def test_a_state_dict_in_any_usual_form_fills_in_a_network(form, tmp_path):
    trained = build(seed=1)
    torch.save(WRAPPED[form](trained.state_dict()), tmp_path / "weights.pt")
    network = build()
    assert not same_body(network, trained)
    assert load_weights(network, tmp_path / "weights.pt")
    assert same_body(network, trained)
    assert torch.equal(network.output[0].weight, trained.output[0].weight)


def test_an_output_of_another_width_stays_as_drawn(tmp_path):
    trained, network = build(out_dim=9, seed=1), build()
    save_file(trained.state_dict(), tmp_path / "weights.safetensors")
    before = network.output[0].weight.clone()
    assert not load_weights(network, tmp_path / "weights.safetensors")
    assert same_body(network, trained)
    assert torch.equal(network.output[0].weight, before)


def test_the_weights_of_a_run_fill_in_a_network(tmp_path):
    trained = build(out_dim=3, seed=1)
    data = torch.rand(8, 3, 8, 8), torch.arange(8) % 4
    hp.fit(
        trained,
        hp.Space(3, hp.Classes(4)),
        data,
        epochs=1,
        batch_size=4,
        folder=tmp_path / "run",
        progress=False,
    )
    network = build()
    load_weights(network, tmp_path / "run" / "last.safetensors")
    assert same_body(network, trained)


def test_another_networks_weights_are_refused_by_name(tmp_path):
    save_file(build().state_dict(), tmp_path / "weights.safetensors")
    network = create_backbone("resnet-8", out_dim=4, width=8)
    sentence = r'hold the weights of "resnet"; got \d+ of \d+ missing or of another shape, such as "norm.bias"'
    with pytest.raises(ValueError, match=sentence):
        load_weights(network, tmp_path / "weights.safetensors")


class Harm:
    def __reduce__(self):
        return print, ("run",)


def test_a_file_that_would_run_code_is_refused(tmp_path, capsys):
    path = tmp_path / "weights.pt"
    path.write_bytes(pickle.dumps({"stem.weight": Harm()}, protocol=2))
    with pytest.raises(ValueError, match='weights.pt" must be a state dict'):
        load_weights(build(), path)
    torch.save({"stem.weight": Harm()}, path)
    with pytest.raises(ValueError, match='weights.pt" must be a state dict'):
        load_weights(build(), path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "content"), [("w.safetensors", b"no"), ("w.pt", b""), ("w.pt", b"no")]
)
def test_a_file_that_is_not_weights_gets_a_sentence(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        ValueError, match="must be a state dict, as safetensors or torch.save writes it; got"
    ):
        load_weights(build(), tmp_path / name)


def test_a_missing_file_gets_a_sentence(tmp_path):
    with pytest.raises(
        FileNotFoundError, match='absent.pt" must be a file of weights; got no such file'
    ):
        load_weights(build(), tmp_path / "absent.pt")
