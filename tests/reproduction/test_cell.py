"""Cells are addressed by their content, and the full ones are the paper's
protocol to the letter.
"""

import json
from dataclasses import asdict, replace

import pytest
import torch

from hyperproto._core.errors import HyperprotoError, InputError
from hyperproto.data import (
    Augment,
    ImagePreprocessing,
    read_cifar100,
    read_cub200,
    read_omniart,
    read_tiny_imagenet,
)
from hyperproto.prototypes import place
from hyperproto.spec import SCHEDULES
from hyperproto.training.build import build_network
from reproduction.cell import Cell, at_scale, paper_cell
from reproduction.experiment import SEEDS, find_experiment
from reproduction.placements import cell_prototypes
from tests.reproduction.helpers import NAMES, find

WHOLE = ("cifar-100-uneven", "cub-200-2011")  # of which the cpu scale takes all training images
READ = (read_cifar100, read_tiny_imagenet, read_cub200, read_omniart)
UNTRAINED = ("table2", "figure-idea")
SCALES = {
    "beyond-successors": "head",
    "beyond-rates": "medium",
    "beyond-long": "medium",
    "beyond-losses": "head",
    "beyond-birds": "head",
    "beyond-dimensions": "head",
    "beyond-settings": "medium",
}  # of those without the scale "cpu"
# the paper's own; what goes past it has protocols of its own
TRAINED = [name for name in NAMES if name not in UNTRAINED and not name.startswith("beyond-")]


def full_cells():
    return {cell.address: cell for name in TRAINED for cell in find(name).cells("full")}.values()


def test_an_address_is_fixed_by_the_content_and_nothing_else():
    cell = paper_cell(dim=100, prototypes="paper")
    assert cell.address == paper_cell(prototypes="paper", dim=100, epochs=250).address
    assert cell.address == "1299943c7522c0c2"  # of records that exist: must not move
    placed = {"placement_steps": 1_000}, {"placement_seed": 1}, {"draw": 2}, {"head": 2}
    changes = (
        {"dim": 50},
        {"seed": 1},
        {"scale": "cpu"},
        {"lr": 0.1},
        {"backbone_options": {"width": 4}},
        *placed,
    )
    assert len({cell.address, *(cell.but(**change).address for change in changes)}) == 1 + len(
        changes
    )


def test_a_cell_survives_json():
    for name in NAMES:
        for cell in find(name).cells(SCALES.get(name, "cpu")):
            again = Cell.from_dict(json.loads(json.dumps(asdict(cell))))
            assert json.dumps(asdict(again)) == json.dumps(asdict(cell))
            assert again.address == cell.address


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"dim": 3, "kind": "spher"}, 'Unknown kind "spher".* Did you mean "sphere"'),
        (
            {"dim": 3, "prototypes": "onehot"},
            'Unknown prototypes "onehot".* Did you mean "one-hot"',
        ),
        ({"dim": 3, "epoch": 3}, 'Unknown field of a run "epoch".* Did you mean "epochs"'),
        ({}, '`dim` must be given for a cell of space "sphere"'),
    ],
)
def test_a_wrong_cell_is_answered_by_a_sentence(values, sentence):
    with pytest.raises(InputError, match=sentence):
        paper_cell(**values)


def test_an_unknown_entry_of_a_record_is_answered():
    values = asdict(paper_cell(dim=3))
    values["run"]["train"]["epoch"] = 3
    with pytest.raises(InputError, match='Unknown field of Train "epoch".* Did you mean "epochs"'):
        Cell.from_dict(values)


def test_full_cells_have_the_settings_of_section_3():
    entries = [entry for name in TRAINED for entry in find(name).entries("full")]
    past = {
        cell.address for entry in entries if entry.beyond for cell in entry.cells(range(3)).values()
    }
    for cell in full_cells():
        if cell.job == "constant":
            continue
        train, data = cell.run.train, cell.run.data
        assert (train.epochs, train.schedule, train.momentum, train.weight_decay) == (
            250,
            "paper",
            0.9,
            1e-4,
        )
        assert cell.run.train.batch_size == (
            64 if cell.run.data.reader in ("cub-200-2011", "omniart") else 128
        )
        assert (data.first_classes, data.train_examples, data.test_examples, data.image_size) == (
            None,
        ) * 4
        assert cell.run.data.augment
        if cell.address not in past and cell.run.data.reader != "omniart":
            assert cell.run.train.lr == 0.01
        if cell.run.space.kind == "sphere" and cell.run.space.loss == "squared_cosine":
            assert cell.run.train.reduction == "sum"


def test_the_schedule_is_the_papers():
    rate = SCHEDULES["paper"]
    at = [rate(epoch / 250) for epoch in (0, 99, 101, 199, 201, 249)]
    assert at == pytest.approx([1, 1, 0.1, 0.1, 0.01, 0.01])


def test_there_are_three_seeds_and_all_cells_have_them():
    assert SEEDS["full"] == (0, 1, 2)
    for name in TRAINED:
        cells = [cell for cell in find(name).cells("full") if cell.job == "train"]
        assert [sum(cell.seed == seed for cell in cells) for seed in range(3)] == [
            len(cells) / 3
        ] * 3


@pytest.mark.parametrize(
    ("data", "network", "out_dim", "millions"),
    [
        ("cifar-100", "resnet-32", 100, 0.493),
        ("cub-200-2011", "resnet-3463", 47, 21.3),
        ("cifar-100", "densenet-121", 100, 7.0),
    ],
)
def test_networks_have_the_papers_numbers_of_weights(data, network, out_dim, millions):
    cell = next(
        cell
        for cell in full_cells()
        if cell.run.network.backbone == network and cell.run.data.reader == data
    )
    preprocessing = ImagePreprocessing(
        224 if network == "resnet-3463" else 32, mean=(0.5,) * 3, std=(1.0,) * 3
    )
    with torch.device("meta"):
        made = build_network(cell.run.network, preprocessing.input_shape, "images", out_dim, seed=0)
    weights = sum(parameter.numel() for parameter in made.parameters())
    assert weights / 1e6 == pytest.approx(millions, rel=0.02 if millions > 1 else 1e-3)


def test_networks_stand_where_the_paper_has_them():
    trained = [cell for cell in full_cells() if cell.job == "train"]
    networks = {(cell.run.data.reader, cell.run.network.backbone) for cell in trained}
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


def test_images_are_standardized_as_the_authors_scripts_do(small_places):
    read = {reader: reader(small_places.data).preprocessing for reader in READ}
    cifar, imagenet = (
        ((0.507, 0.487, 0.441), (0.267, 0.256, 0.276)),
        ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    )
    expected = [cifar, imagenet, imagenet, imagenet]
    assert [(found.mean, found.std) for found in read.values()] == expected


def test_augmentation_is_the_papers(small_places):
    crop, resized = Augment(padding=4, flip=True), Augment(resized_crop=(0.08, 1.0), flip=True)
    assert read_cifar100(small_places.data).augment == crop
    assert read_tiny_imagenet(small_places.data).augment == crop
    for read in (read_cub200, read_omniart):
        source = read(small_places.data)
        assert source.augment == resized
        assert source.preprocessing.size == 224
        assert read(small_places.data, crops="whole").augment == replace(resized, whole=True)
        assert read(small_places.data, crops="authors").augment == replace(
            resized, whole=True, at_test=True
        )
    large = [
        cell
        for cell in full_cells()
        if cell.job == "train" and cell.run.data.reader in ("omniart", "cub-200-2011")
    ]
    assert {cell.run.data.options["crops"] for cell in large} == {"whole"}


def test_cells_of_the_cpu_scale_say_so_and_are_smaller():
    for name in TRAINED:
        for cell in find(name).cells("cpu"):
            assert cell.scale == "cpu"
            if cell.job == "constant":
                continue
            assert cell.run.train.epochs <= 10
            assert cell.run.data.train_examples is not None or cell.run.data.reader in (
                "cifar-100-uneven",
                "cub-200-2011",
            )  # small as they are
            assert cell.run.network.backbone in ("resnet-8", "densenet-small", "rotated-mnist")


def test_the_cpu_scale_takes_twenty_minutes_by_the_arithmetic_of_scales():
    """2 seeds on 2 cores: a name's cells of one seed, one after the other, at the seconds a cell
    noted there.
    """
    seconds = {
        "cifar-100": 31,
        "imagenet-200": 31,
        "cifar-100-uneven": 38,
        "cub-200-2011": 78,
        "omniart": 37,
    }
    for name in TRAINED:
        every = find(name).cells("cpu")
        cells = [cell for cell in every if cell.seed == 0 and cell.job == "train"]
        total = sum(
            57 if "dense" in cell.run.network.backbone else seconds.get(cell.run.data.reader, 150)
            for cell in cells
        )
        assert total <= 20 * 60, name


def test_tables_share_the_cells_they_have_in_common():
    first, third = (
        {cell.address for cell in find(name).cells("full")} for name in ("table1", "table3")
    )
    assert (
        len(first & third) == 3 * 9
    )  # 10, 25 and 100 dimensions; the paper's placement, ours, the authors'


@pytest.mark.parametrize(
    ("reader", "dim", "steps"),
    [
        ("cifar-100", 25, 10_000),
        ("cifar-100", 100, 1_000),
        ("imagenet-200", 100, 10_000),
        ("imagenet-200", 200, 1_000),
    ],
)
def test_the_papers_prototypes_take_the_steps_of_the_authors_files(reader, dim, steps):
    for kind in ("paper", "paper-prior"):
        full = paper_cell(reader=reader, dim=dim, prototypes=kind)
        assert {at_scale(full, scale).placement_steps for scale in ("full", "cpu")} == {steps}


def test_a_descent_of_10_000_steps_is_kept_apart_from_one_of_1_000():
    longer = {entry.row: entry.cell for entry in find("beyond-prototypes").entries("cpu")}
    assert longer["Equation 5, 10,000 steps"].placement_steps == 10_000
    entries = [
        entry
        for entry in find_experiment("table1").entries("full")
        if entry.column == "CIFAR-100 100"
    ]
    full = {entry.row: entry.cell for entry in entries}
    assert full["This paper"].placement_steps == 1_000


def test_at_scale_medium_every_image_is_used_and_every_seed_places_anew(tmp_path):
    cell = at_scale(
        paper_cell(reader="cifar-100", backbone="resnet-32", dim=100, prototypes="paper"), "medium"
    )
    data, train = cell.run.data, cell.run.train
    assert (data.train_examples, data.test_examples, data.valid_examples, data.image_size) == (
        None,
        None,
        None,
        16,
    )
    assert (cell.run.network.backbone, cell.run.network.backbone_options) == (
        "resnet-8",
        {"feature_norm": True},
    )
    assert (train.epochs, train.lr, train.schedule, train.batch_size) == (30, None, "paper", 128)
    assert [cell.with_seed(seed).placement_seed for seed in range(3)] == [0, 1, 2]
    assert cell.but(prototypes="one-hot").with_seed(2).placement_seed == 0
    assert cell.but(scale="cpu").with_seed(2).placement_seed == 0
    with pytest.raises(InputError, match='`scale` must be one that has cub-200-2011; got "medium"'):
        at_scale(paper_cell(reader="cub-200-2011", dim=200), "medium")


def test_the_seed_of_a_placement_moves_it(small_places):
    def vectors(seed):
        cell = paper_cell(dim=3, prototypes="paper", placement_steps=20, placement_seed=seed)
        return cell_prototypes(cell, 5, 3, None, small_places).vectors

    assert torch.equal(vectors(1), place(5, 3, method="paper", steps=20, seed=1).vectors)
    assert not torch.equal(vectors(0), vectors(1))


@pytest.mark.parametrize("run", ["x", 3, ["a"], None, {}])
def test_a_record_whose_run_is_not_one_is_answered(run):
    with pytest.raises(HyperprotoError):
        Cell.from_dict({"run": run})
