import json
import math
import shutil

import pytest
import torch

import hyperproto as hp
from hyperproto.data import read_image_folder, training_data
from hyperproto.evaluation import TaskPredictions, evaluate_run, open_run
from hyperproto.evaluation.evaluate import report_task
from hyperproto.evaluation.run_data import _unseen_option
from hyperproto.training import DataSpec, RunSpec, TrainSettings, read_run, train
from tests.evaluation.conftest import write_images, write_numbers
from tests.training.conftest import make_network


def test_measures_are_those_of_training_to_the_bit_and_the_uneven_batch_counts_once(
    image_run, table_run
):
    for trained in (image_run, table_run):
        found = evaluate_run(trained.folder, trained.valid)
        assert found.measures == trained.run.metrics
        assert found.examples == len(trained.valid)
    assert evaluate_run(image_run.folder, image_run.data).measures == image_run.run.metrics
    assert evaluate_run(image_run.folder, image_run.source).examples == 15


def test_the_best_weights_give_the_best_measures(image_run):
    best = evaluate_run(open_run(image_run.folder, which="best"), image_run.data)
    assert best.measures == image_run.run.best["valid"]
    assert best.which == "best"


def test_the_parts_agree_with_the_whole(image_run):
    found = evaluate_run(image_run.folder, image_run.data, pairs=100)
    report, accuracy = found.tasks["class"], found.measures["class/accuracy"]
    assert report.labels == sum(row.support for row in report.classes) == 15
    right = sum(row.support * row.recall for row in report.classes)
    assert right == pytest.approx(15 * accuracy)
    assert sum(pair.count for pair in report.pairs) == pytest.approx(15 * (1 - accuracy))
    assert report.mean_class_accuracy == pytest.approx(accuracy)  # as many of each class
    assert math.isnan(report.top_5)  # of three classes
    assert [row.name for row in report.classes] == ["dark", "gray", "light"]
    held = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert held["tasks"]["class"]["top_5"] is None


def test_a_run_with_a_recipe_finds_its_own_test_data(table_run):
    found = evaluate_run(table_run.folder)
    assert (found.split, found.measures) == ("test", table_run.run.metrics)
    train = evaluate_run(table_run.folder, split="train")
    assert train.examples == len(table_run.source.train)
    assert evaluate_run(table_run.folder, split="all").examples == 40


def test_rows_it_was_validated_on_are_no_training_data(tmp_path):
    path = write_numbers(tmp_path / "numbers.csv")
    data = DataSpec(reader="table", path=str(path), options={"classes": ["side"]}, valid_share=0.25)
    run = train(RunSpec(data=data, train=TrainSettings(epochs=1)), tmp_path / "run")
    counts = {
        part: evaluate_run(tmp_path / "run", split=part).examples
        for part in ("train", "test", "all")
    }
    assert counts == {"train": read_run(run.folder).config["data"]["train"], "test": 8, "all": 40}
    assert counts["train"] == 24


def test_a_run_without_a_recipe_says_so(image_run):
    with pytest.raises(ValueError, match="does not know its data. Say where it is: data=PATH"):
        evaluate_run(image_run.folder)


def test_other_data_without_a_test_part_is_evaluated_whole(image_run, table_run, tmp_path):
    images = write_images(tmp_path / "more", n=5)
    found = evaluate_run(image_run.folder, images)
    assert (found.split, found.examples) == ("all", 15)
    held_out = evaluate_run(image_run.folder, images, split="test")
    assert (held_out.split, held_out.examples) == ("test", 3)
    assert (
        evaluate_run(table_run.folder, write_numbers(tmp_path / "more.csv", n=11, seed=5)).examples
        == 11
    )


def test_data_of_a_single_class_or_number_is_evaluated_by_what_the_run_knows(
    image_run, table_run, tmp_path
):
    found = evaluate_run(image_run.folder, write_images(tmp_path / "light", ("light",), n=4))
    assert [row.support for row in found.tasks["class"].classes] == [0, 0, 4]
    (tmp_path / "one.csv").write_text("a,b,side,height\n0.5,0.1,right,3\n0.4,0.2,right,3\n")
    found = evaluate_run(table_run.folder, tmp_path / "one.csv")
    task = table_run.run.space.tasks["height"]
    assert (found.tasks["height"].low, found.tasks["height"].high) == (task.low, task.high)
    assert [row.support for row in found.tasks["side"].classes] == [0, 2]


def test_the_rule_for_unseen_classes_reaches_every_reader_that_has_one():
    for reader in ("table", "image-folder", "omniart"):
        assert _unseen_option(reader, "missing") == {"unseen": "missing"}
    assert (
        _unseen_option("cifar-100", "missing") == _unseen_option("rotated-mnist", "missing") == {}
    )


def test_a_value_beyond_the_bounds_is_scored_as_it_is(table_run, tmp_path):
    low, high = table_run.run.space.tasks["height"].low, table_run.run.space.tasks["height"].high
    inside = write_numbers(tmp_path / "inside.csv", n=10, seed=3, beyond=high)
    outside = write_numbers(tmp_path / "outside.csv", n=10, seed=3, beyond=high + 100)
    found = [evaluate_run(table_run.folder, path) for path in (inside, outside)]
    maes = [evaluation.measures["height/mae"] for evaluation in found]
    assert maes[1] - maes[0] == pytest.approx(10)  # 100 more in one of ten rows
    report = found[1].tasks["height"]
    assert (report.low, report.high, report.beyond) == (low, high, pytest.approx(0.1))
    assert report.quantiles["95"] > 90
    assert report.quantiles["50"] < 30


def test_training_scores_validation_values_beyond_the_bounds_too(tmp_path):
    inputs = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
    values = torch.linspace(-1, 1, 12)
    run = hp.fit(
        make_network(2),
        hp.Space(2, hp.Range(-1, 1)),
        (inputs, values),
        valid=(inputs, values + 9),
        epochs=1,
    )
    assert run.metrics["mae"] > 7
    with pytest.raises(ValueError, match="must lie in"):
        hp.fit(make_network(2), hp.Space(2, hp.Range(-1, 1)), (inputs, values + 9), epochs=1)
    for wrong in (torch.inf, -torch.inf):
        with pytest.raises(ValueError, match="must be finite"):
            hp.fit(
                make_network(2),
                hp.Space(2, hp.Range(-1, 1)),
                (inputs, values),
                valid=(inputs, torch.full((12,), wrong)),
                epochs=1,
            )


def test_classes_are_matched_by_name_and_not_by_position(image_run, tmp_path):
    """Without "dark" the first class of the data is the second of the run."""
    folder = tmp_path / "some"
    for kind in ("gray", "light"):
        shutil.copytree(image_run.data / "test" / kind, folder / kind)
    whole, some = (
        evaluate_run(image_run.folder, image_run.data),
        evaluate_run(image_run.folder, folder),
    )
    kept = {
        row.name: (row.support, row.recall)
        for row in whole.tasks["class"].classes
        if row.name != "dark"
    }
    assert {
        row.name: (row.support, row.recall) for row in some.tasks["class"].classes if row.support
    } == kept
    assert math.isnan(some.tasks["class"].classes[0].recall)


def test_a_class_the_run_does_not_know_is_named_or_left_out(image_run, tmp_path):
    folder = write_images(tmp_path / "more", ("dark", "purple", "light"), n=3)
    for given in (folder, read_image_folder(folder)):
        with pytest.raises(ValueError, match="among the 3 classes") as info:
            evaluate_run(image_run.folder, given)
        assert info.value.got.startswith('"purple" (1 unseen')
    found = evaluate_run(image_run.folder, folder, unseen="missing").tasks["class"]
    assert (found.labels, found.missing) == (6, 3)


def test_data_of_another_kind_is_refused(image_run, table_run, tmp_path):
    without = read_image_folder(write_images(tmp_path / "more"), held_out=0)
    for run, data, split, rule in (
        (
            table_run,
            image_run.source,
            None,
            'have a target "side" of kind "classes", as the run does',
        ),
        (image_run, without, "test", "have a test split"),
        (image_run, table_run.data, None, "know which column of a table has its images"),
        (table_run, (torch.zeros(2, 2), {}), None, "have targets"),
    ):
        with pytest.raises(ValueError, match="must") as info:
            evaluate_run(run.folder, data, split=split)
        assert info.value.rule == rule
    with pytest.raises(ValueError, match="Choose from") as info:
        evaluate_run(image_run.folder, image_run.data, split="tset")
    assert info.value.argument == 'Unknown split of the data "tset".'


def test_an_unreadable_image_is_named_or_left_out(image_run, tmp_path):
    folder = write_images(tmp_path / "more", n=2)
    (folder / "gray" / "1.png").write_bytes(b"<html>404")
    with pytest.raises(
        ValueError,
        match=r'gray/1.png" must be an image; got a file of no known format .it starts with b.<html>404',
    ):
        evaluate_run(image_run.folder, folder)
    found = evaluate_run(image_run.folder, folder, skip_corrupt=True)
    assert found.examples == 5
    assert found.skipped == (str(folder / "gray" / "1.png"),)


def test_a_run_without_preprocessing_takes_data_that_is_prepared(tmp_path, image_run):
    data = training_data(image_run.source.test, hp.data.ImagePreprocessing(8))
    inputs, targets = data.batch(torch.arange(15))
    flat = (inputs.flatten(1)[:, :4], targets)
    run = hp.fit(
        make_network(),
        hp.Space(3, image_run.source.targets),
        flat,
        valid=flat,
        epochs=1,
        folder=tmp_path / "r",
    )
    with pytest.raises(ValueError, match="`network` must be given for"):
        evaluate_run(run.folder, flat)
    network = make_network(seed=4)
    assert evaluate_run(open_run(run.folder, network=network), flat).measures == run.metrics
    with pytest.raises(ValueError, match="does not say how its inputs were prepared"):
        evaluate_run(open_run(run.folder, network=network), image_run.data)


def test_one_unnamed_task_is_matched_to_one_named_one(tmp_path, image_run):
    preprocessing = hp.data.ImagePreprocessing(8)
    inputs, targets = training_data(image_run.source.test, preprocessing).batch(torch.arange(15))
    torch.manual_seed(0)
    network = hp.models.DigitNet(3, size=8, width=2, channels=3)
    run = hp.fit(
        network,
        hp.Space(3, hp.Classes(image_run.source.targets["class"].names)),
        (inputs, targets["class"]),
        valid=(inputs, targets["class"]),
        epochs=1,
        folder=tmp_path / "run",
        preprocessing=preprocessing,
    )
    found = evaluate_run(run.folder, image_run.data)
    assert found.measures == run.metrics
    assert found.tasks["target"].labels == 15


def test_bias_has_the_sign_of_guessing_too_large_and_values_at_the_bounds_are_not_beyond_them():
    values = torch.tensor([0.0, 10.0, 10.5, -0.5, math.nan])
    found = report_task(
        hp.Range(0, 10), TaskPredictions(torch.tensor([1.0, 12.0, 10.5, 2.5, 100.0]), values)
    )
    assert (found.labels, found.missing) == (4, 1)
    assert found.bias == pytest.approx(1.5)
    assert found.beyond == pytest.approx(0.5)


def test_a_report_without_any_label_has_no_accuracy():
    found = report_task(
        hp.Classes(3), TaskPredictions(torch.tensor([0, 1]), torch.tensor([-1, -1]))
    )
    assert (found.labels, found.missing) == (0, 2)
    assert math.isnan(found.mean_class_accuracy)
    assert all(math.isnan(row.recall) for row in found.classes)
