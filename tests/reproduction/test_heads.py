"""Scale "head": a head of two layers on features that are computed once for all cells of a data
set.
"""

from dataclasses import astuple, replace

import pytest
import torch
from torch import nn

from hyperproto.data import ImagePreprocessing, Source, Split
from hyperproto.models import create_backbone
from hyperproto.tasks import Classes, Range
from hyperproto.training.build import build_network
from reproduction import run_cell as module
from reproduction import runner
from reproduction.cell import PROTOTYPES, REDUCED, at_scale, paper_cell
from reproduction.experiment import ALL, SEEDS, find_experiment
from reproduction.rates import with_softmax
from reproduction.run_cell import read_cell_data, run_cell
from tests.reproduction.helpers import find

FULL = paper_cell(reader="cifar-100", backbone="resnet-32", dim=100, prototypes="paper")
HEAD = at_scale(FULL, "head")


def test_a_cell_is_a_frozen_network_and_a_protocol_of_its_own():
    network, train = HEAD.run.network, HEAD.run.train
    assert (network.backbone, network.weights, network.freeze) == (
        "efficientnet-lite0",
        "pretrained",
        True,
    )
    assert (train.epochs, train.batch_size, train.schedule, train.reduction) == (
        10,
        256,
        "one-cycle",
        "mean",
    )
    assert train.lr is None
    assert HEAD.run.data.train_examples is HEAD.run.data.test_examples is None
    assert HEAD.but(lr=0.3).address == "1acbc28ae90143c1"  # of records that exist: must not move
    assert [HEAD.with_seed(seed).placement_seed for seed in SEEDS["head"]] == [0, 1, 2, 3, 4]


def test_protocols_are_pinned():
    """Epochs, pixels, and images to train and test on, by scale and data."""
    assert {place: astuple(reduction) for place, reduction in REDUCED.items()} == {
        ("cpu", "cifar-100"): (6, 16, 8_000, 4_000),
        ("cpu", "cifar-100-uneven"): (6, 16, None, 4_000),
        ("cpu", "imagenet-200"): (6, 16, 8_000, 4_000),
        ("cpu", "cub-200-2011"): (10, 24, None, 2_000),
        ("cpu", "omniart"): (8, 24, 3_600, 1_000),
        ("cpu", "rotated-mnist"): (8, None, 6_000, 2_000),
        ("medium", "cifar-100"): (30, 16, None, None),
        ("medium", "cifar-100-uneven"): (60, 16, None, None),
        ("medium", "omniart"): (30, 48, None, None),
        ("medium", "rotated-mnist"): (20, None, None, None),
        ("head", "cifar-100"): (10, None, None, None),
        ("head", "cifar-100-uneven"): (20, None, None, None),
        ("head", "cub-200-2011"): (20, None, None, None),
        ("head", "omniart"): (20, None, None, None),
    }


def test_the_head_is_512_hidden_units_with_dropout():
    """They are not part of an address: records are of these."""
    network = build_network(
        replace(HEAD.run.network, weights=None), (3, 128, 128), "images", 100, seed=0
    )
    layers = list(network.output.modules())
    assert [
        (layer.in_features, layer.out_features) for layer in layers if isinstance(layer, nn.Linear)
    ] == [
        (1280, 512),
        (512, 100),
    ]
    assert [layer.p for layer in layers if isinstance(layer, nn.Dropout)] == [0.3]


def test_scarce_data_have_ten_images_of_a_class():
    entries = [
        entry
        for entry in find_experiment("table4").entries("head")
        if entry.column == "CIFAR-100, 10 a class"
    ]
    assert {
        (entry.cell.run.data.train_examples, entry.cell.run.train.epochs) for entry in entries
    } == {(1_000, 40)}
    assert {entry.paper for entry in entries} == {None}
    assert len(entries) == 4


def test_a_cut_off_run_leaves_complete_entries():
    cells = find("beyond-losses").searches("head").cells("head") + find("beyond-losses").cells(
        "head"
    )
    assert [cell.seed for cell in cells[-10:]] == [0, 1, 2, 3, 4] * 2
    assert len({cell.but(seed=0, placement_seed=0).address for cell in cells[-10:]}) == 2


def test_free_norm_is_tried_on_both_data_driven_placements():
    asked = {
        (entry.row, entry.column): entry.cell.run.space
        for entry in find("beyond-losses").entries("head")
    }
    for dim in (25, 10, 5):
        spaces = [
            asked[row, f"D = {dim}"] for row in ("Free norm", "Free norm, axes of the prior kept")
        ]
        assert [space.prototypes for space in spaces] == ["data-driven", "projected"]
        assert {(space.loss, space.dim) for space in spaces} == {("free_norm_softmax", dim)}


def test_no_place_needs_a_file_that_the_authors_do_not_have():
    entries = [
        entry for name in ALL["head"][:-1] for entry in find_experiment(name).entries("head")
    ]
    dims = {
        kind: {e.cell.run.space.dim for e in entries if e.cell.run.space.prototypes == kind}
        for kind in PROTOTYPES
    }
    assert dims["word2vec"] == {10, 25, 100}
    assert dims["authors"] == {25, 100}  # not the 46 styles in 46 dimensions
    assert dims["authors-prior"] == {3, 5, 10, 25, 100}


def test_a_task_alone_has_the_dimensions_it_has_next_to_the_other():
    cells = {entry.row: entry.cell for entry in find_experiment("table6").entries("head")}
    year, style = (
        cells[f"{group}: This paper, this task alone"]
        for group in ("Creation year (MAE)", "Art style (accuracy)")
    )
    assert (year.run.data.tasks, year.run.space.dim) == (("year",), 47)
    assert (style.run.data.tasks, style.run.space.dim) == (("school",), 46)


def test_a_bottleneck_bounds_the_rank_of_the_output():
    network = create_backbone("efficientnet-lite0", out_dim=20, hidden=(16,), bottleneck=3).eval()
    rows = network(torch.randn(30, 1280)).detach()
    assert torch.linalg.matrix_rank(rows - rows.mean(0), atol=1e-4) == 3
    assert network.config["bottleneck"] == 3


@pytest.fixture
def clusters(monkeypatch, small_places):
    """Features of three classes that are far apart, in place of those of images."""
    generator = torch.Generator().manual_seed(0)

    centers = torch.randn(3, 1280, generator=generator)

    def split(count):
        ids = torch.arange(count) % 3
        return Split(centers[ids] + torch.randn(count, 1280, generator=generator), {"class": ids})

    source = Source(
        "clusters",
        split(300),
        split(90),
        {"class": Classes(("a", "b", "c"))},
        ImagePreprocessing(128),
    )
    monkeypatch.setattr(module, "_read_features", lambda *_: source)
    return small_places


@pytest.mark.parametrize(
    "cell", [HEAD.but(prototypes="ours", dim=2), at_scale(with_softmax(FULL), "head")]
)
def test_a_head_learns_what_features_say(cell, clusters, tmp_path):
    cell = cell.but(lr=0.3, epochs=8, batch_size=50)
    places = replace(clusters, runs=tmp_path)
    record = run_cell(cell, places)
    assert record["measures"]["class/accuracy"] > 0.9
    assert (record["protocol"]["train"], record["protocol"]["test"]) == (300, 90)
    assert record["protocol"]["parameters"] < 1280 * 512 * 1.1  # of the head alone
    assert not (tmp_path / "cells" / cell.address).exists()
    held = run_cell(cell.but(valid_examples=60), places)
    assert (held["protocol"]["train"], held["protocol"]["test"]) == (240, 60)


@pytest.mark.usefixtures("pretrained_weights")
def test_features_are_computed_once_for_all_cells(small_places, tmp_path, monkeypatch):
    places = replace(small_places, runs=tmp_path)
    cell = at_scale(HEAD, "smoke")
    source = read_cell_data(cell, places)
    assert (tuple(source.train.inputs.shape), len(source.test)) == ((12, 1280), 6)
    module._read_features.cache_clear()
    monkeypatch.setattr(
        "hyperproto.training.features._compute", lambda *_: pytest.fail("computed again")
    )
    again = read_cell_data(cell.but(train_examples=9, seed=1), places)
    assert len(again.train) == 9
    assert set(map(tuple, again.test.inputs.tolist())) == set(
        map(tuple, source.test.inputs.tolist())
    )


def test_a_record_of_numbers_knows_how_their_errors_vary(monkeypatch, small_places, tmp_path):
    """The standard deviation of |error| over the test images; a mean without it has no error of its
    own.
    """
    generator = torch.Generator().manual_seed(0)

    def split(count):
        years = torch.rand(count, generator=generator) * 100 + 1_800
        return Split(torch.randn(count, 1280, generator=generator), {"year": years})

    source = Source(
        "years",
        split(60),
        split(40),
        {"year": Range(1_800, 1_900, outside="clip")},
        ImagePreprocessing(128),
    )
    monkeypatch.setattr(module, "_read_features", lambda *_: source)
    monkeypatch.setattr(module, "_read", lambda *_: source)
    cell = at_scale(paper_cell(reader="omniart", tasks=("year",), dim=3), "head").but(
        lr=0.3, epochs=2, tasks=()
    )
    places = replace(small_places, runs=tmp_path)
    measures = run_cell(cell, places)["measures"]
    years = source.test.targets["year"].double()
    assert (
        (years - 1_850).abs().std() / 3 < measures["year/mae_std"] < 3 * (years - 1_850).abs().std()
    )
    constant = run_cell(cell.but(job="constant"), places)["measures"]
    errors = (years - source.train.targets["year"].double().quantile(0.5)).abs()
    assert constant == pytest.approx(
        {
            "year/mae": errors.mean().item(),
            "year/mae_std": errors.std().item(),
            "year/rmse": errors.square().mean().sqrt().item(),
        },
        rel=1e-4,
    )


def test_the_first_cell_of_a_data_set_computes_the_features_that_the_others_read(
    tmp_path, monkeypatch
):
    """Two cells at a time would compute the same features twice."""
    rounds = []
    monkeypatch.setattr(
        runner,
        "_run_tasks",
        lambda tasks, jobs, dask: rounds.append([task[1][1] for task in tasks]) or (),
    )
    heads = [HEAD.but(lr=0.3, seed=seed) for seed in range(3)]
    uneven = HEAD.but(reader="cifar-100-uneven", lr=0.3)
    scratch = FULL.but(epochs=1)
    plan = runner.Plan("own", (*heads, uneven, scratch), (), ())
    assert not list(runner.run_plan(plan, runner.Places(runs=tmp_path), jobs=2))
    first, others = rounds
    assert sorted(cell.address for cell in first) == sorted([heads[0].address, uneven.address])
    assert others == [*heads[1:], scratch]
