"""Specs are addressed by their content, and the full ones are the paper's protocol to the letter."""

import json
from dataclasses import replace

import pytest
import torch

from hyperproto._core.errors import InputError
from hyperproto.data import Augment, read_cifar100, read_cub200, read_omniart, read_tiny_imagenet
from hyperproto.reproduction.cell_space import cell_network
from hyperproto.reproduction.experiment import SEEDS, experiment_names, find_experiment
from hyperproto.reproduction.spec import Spec
from hyperproto.spec import SCHEDULES

WHOLE = ("cifar-100-uneven", "cub-200-2011")  # of which the cpu scale takes all training images
UNTRAINED = ("table2", "figure-idea")
# the paper's own; what goes past it has protocols of its own
TRAINED = [name for name in experiment_names() if name not in UNTRAINED and not name.startswith("past-")]


def full_specs():
    return {spec.address: spec for name in TRAINED for spec in find_experiment(name).cells("full")}.values()


def test_an_address_is_fixed_by_the_content_and_nothing_else():
    spec = Spec(dim=100, prototypes="paper")
    assert spec.address == Spec(prototypes="paper", dim=100, epochs=250).address
    assert spec.address == "1299943c7522c0c2"  # of records that exist: must not move
    changes = ({"dim": 50}, {"seed": 1}, {"scale": "cpu"}, {"lr": 0.1}, {"network_options": (("width", 4),)})
    assert len({spec.address, *(replace(spec, **change).address for change in changes)}) == 1 + len(changes)


def test_a_spec_survives_json():
    for name in experiment_names():
        for spec in find_experiment(name).cells("cpu"):
            again = Spec.from_dict(json.loads(json.dumps(spec.to_dict())))
            assert again == spec
            assert again.address == spec.address


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"dim": 3, "space": "spher"}, 'Unknown space "spher".* Did you mean "sphere"'),
        ({"dim": 3, "prototypes": "onehot"}, 'Unknown prototypes "onehot".* Did you mean "one-hot"'),
        ({}, 'A cell of space "sphere" must say its `dim`; got none'),
    ],
)
def test_a_wrong_spec_is_answered_by_a_sentence(values, sentence):
    with pytest.raises(InputError, match=sentence):
        Spec(**values)


def test_an_unknown_entry_of_a_record_is_answered():
    with pytest.raises(InputError, match='Unknown entry of a spec "epoch".* Did you mean "epochs"'):
        Spec.from_dict({"dim": 3, "epoch": 3})


def test_full_cells_have_the_settings_of_section_3():
    for spec in full_specs():
        assert (spec.epochs, spec.schedule, spec.momentum, spec.weight_decay) == (250, "paper", 0.9, 1e-4)
        assert spec.batch_size == (64 if spec.data in ("cub-200-2011", "omniart") else 128)
        assert (spec.classes, spec.train_images, spec.test_images, spec.size) == (None, None, None, None)
        assert spec.augment
        if spec.loss == "squared" and spec.data != "omniart":
            assert spec.lr == 0.01
        if spec.space == "sphere" and spec.loss == "squared":
            assert spec.reduction == "sum"


def test_the_schedule_is_the_papers():
    rate = SCHEDULES["paper"]
    at = [rate(epoch / 250) for epoch in (0, 99, 101, 199, 201, 249)]
    assert at == pytest.approx([1, 1, 0.1, 0.1, 0.01, 0.01])


def test_there_are_three_seeds_and_all_cells_have_them():
    assert SEEDS["full"] == (0, 1, 2)
    for name in TRAINED:
        cells = find_experiment(name).cells("full")
        assert [sum(spec.seed == seed for spec in cells) for seed in range(3)] == [len(cells) / 3] * 3


@pytest.mark.parametrize(
    ("data", "network", "out_dim", "millions"),
    [
        ("cifar-100", "resnet-32", 100, 0.493),
        ("cub-200-2011", "resnet-3463", 47, 21.3),
        ("cifar-100", "densenet-121", 100, 7.0),
    ],
)
def test_networks_have_the_papers_numbers_of_weights(data, network, out_dim, millions):
    spec = next(spec for spec in full_specs() if spec.network == network and spec.data == data)
    with torch.device("meta"):
        held = sum(parameter.numel() for parameter in cell_network(spec, out_dim).parameters())
    assert held / 1e6 == pytest.approx(millions, rel=0.02 if millions > 1 else 1e-3)


def test_networks_stand_where_the_paper_has_them():
    networks = {(spec.data, spec.network) for spec in full_specs()}
    assert networks == {
        ("cifar-100", "resnet-32"),
        ("cifar-100", "densenet-121"),
        ("cifar-100-uneven", "resnet-32"),
        ("imagenet-200", "resnet-32"),
        ("imagenet-200", "densenet-121"),
        ("cub-200-2011", "resnet-3463"),
        ("omniart", "resnet-3463"),
        ("rotated-mnist", "rotated-mnist"),
    }


def test_augmentation_is_the_papers(small_places):
    crop, resized = Augment(padding=4, flip=True), Augment(resized_crop=(0.08, 1.0), flip=True)
    assert read_cifar100(small_places.data).augment == crop
    assert read_tiny_imagenet(small_places.data).augment == crop
    for read in (read_cub200, read_omniart):
        source = read(small_places.data)
        assert source.augment == resized
        assert source.preprocessing.size == 224


def test_cells_of_the_cpu_scale_say_so_and_are_smaller():
    for name in TRAINED:
        for spec in find_experiment(name).cells("cpu"):
            assert spec.scale == "cpu"
            assert spec.epochs <= 10
            assert spec.train_images is not None or spec.data in (
                "cifar-100-uneven",
                "cub-200-2011",
            )  # small as they are
            assert spec.network in ("resnet-8", "densenet-small", "rotated-mnist")


def test_the_cpu_scale_takes_twenty_minutes_by_the_arithmetic_of_scales():
    """2 seeds on 2 cores: a name's cells of one seed, one after the other, at the seconds a cell noted there."""
    seconds = {"cifar-100": 31, "imagenet-200": 31, "cifar-100-uneven": 38, "cub-200-2011": 78, "omniart": 37}
    for name in TRAINED:
        cells = [spec for spec in find_experiment(name).cells("cpu") if spec.seed == 0]
        total = sum(57 if "dense" in spec.network else seconds.get(spec.data, 150) for spec in cells)
        assert total <= 20 * 60, name


def test_tables_share_the_cells_they_have_in_common():
    first, third = ({spec.address for spec in find_experiment(name).cells("full")} for name in ("table1", "table3"))
    assert len(first & third) == 3 * 9  # 10, 25 and 100 dimensions; the paper's placement, ours, the authors'
