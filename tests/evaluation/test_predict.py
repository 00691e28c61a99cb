import os

import pytest
import torch

import hyperproto as hp
from hyperproto.data import training_data
from hyperproto.evaluation import predict_files, predict_split
from hyperproto.tasks.prototype_head import PrototypeHead
from tests.evaluation.conftest import write_images
from tests.training.conftest import make_blobs, make_network


@pytest.mark.parametrize("batch_size", [1, 7, 20, 100])
def test_every_example_is_answered_once_in_order_whatever_the_batch(batch_size):
    space, network, blobs = (
        hp.Space(3, kind=hp.Classes(3), size=hp.Range(-1, 1)),
        make_network(),
        make_blobs(20),
    )
    tasks, measures = predict_split(network, space, blobs, batch_size=batch_size)
    with torch.no_grad():
        whole = space.predict(network(blobs.inputs))
    assert torch.equal(tasks["kind"].predicted, whole["kind"])
    torch.testing.assert_close(tasks["size"].predicted, whole["size"])
    assert torch.equal(tasks["kind"].targets, blobs.targets["kind"])
    assert measures == hp.evaluate(network, space, blobs, batch_size=batch_size)


def test_the_best_classes_are_those_of_a_full_sort_and_begin_with_the_prediction():
    prototypes = hp.place(40, 4, method="random")
    space, z = (
        hp.Space(4, hp.Classes(prototypes)),
        torch.randn(9, 4, generator=torch.Generator().manual_seed(0)),
    )
    tasks, _ = predict_split(
        torch.nn.Identity(), space, (z, torch.zeros(9, dtype=torch.int64)), top=5
    )
    answers = tasks["target"]
    scores = space.scores(z)
    assert answers.top.shape == (9, 5)
    assert torch.equal(answers.top_scores, scores.sort(dim=1, descending=True).values[:, :5])
    assert torch.equal(answers.top[:, 0], answers.predicted)


def test_of_very_many_classes_no_score_for_every_pair_is_made(monkeypatch):
    space = hp.Space(4, hp.Classes(hp.place(40, 4, method="random")))
    data = (
        torch.randn(9, 4, generator=torch.Generator().manual_seed(0)),
        torch.zeros(9, dtype=torch.int64),
    )
    few = predict_split(torch.nn.Identity(), space, data, top=5)[0]["target"]
    monkeypatch.setattr(PrototypeHead, "many", lambda head, z: True)
    monkeypatch.setattr(PrototypeHead, "scores", None)
    many = predict_split(torch.nn.Identity(), space, data, top=5)[0]["target"]
    assert torch.equal(few.top, many.top)
    assert torch.equal(few.predicted, many.predicted)
    torch.testing.assert_close(few.top_scores, many.top_scores)


def test_equal_scores_never_put_another_class_before_the_prediction():
    space = hp.baselines.ConventionalSpace(hp.Classes(50))
    data = torch.zeros(3, 50), torch.zeros(3, dtype=torch.int64)
    answers = predict_split(torch.nn.Identity(), space, data, top=2)[0]["target"]
    assert torch.equal(answers.top[:, 0], answers.predicted)
    assert (answers.top[:, 0] != answers.top[:, 1]).all()


def test_the_mode_of_the_network_is_put_back_and_no_gradient_kept():
    network = make_network().train()
    tasks, measures = predict_split(
        network, hp.Space(3, size=hp.Range(-1, 1)), (torch.randn(5, 4), {})
    )
    assert network.training
    assert not tasks["size"].predicted.requires_grad
    assert measures == {}
    assert tasks["size"].targets is None


def test_images_get_names_and_cosines_as_the_network_gives_them(image_run):
    paths = image_run.source.test.inputs
    found = predict_files(image_run.folder, paths, top=2)
    assert [row["file"] for row in found.rows] == [str(path) for path in paths]
    network, space = hp.load(image_run.folder)
    data = training_data(image_run.source.test, hp.data.ImagePreprocessing(8))
    for place, row in enumerate(found.rows):
        cosines = space.scores(network(data[place][0][None]))["class"][0]
        answer = row["predictions"]["class"]
        names = image_run.source.targets["class"].names
        best = cosines.sort(descending=True)
        assert [guess["name"] for guess in answer["top"]] == [names[i] for i in best.indices[:2]]
        assert [guess["cosine"] for guess in answer["top"]] == pytest.approx(
            best.values[:2].tolist(), abs=1e-5
        )
        assert (answer["name"], answer["cosine"]) == tuple(answer["top"][0].values())
    right = sum(row["predictions"]["class"]["name"] in row["file"] for row in found.rows)
    assert right / 15 == image_run.run.metrics["class/accuracy"]


def test_a_folder_stands_for_the_images_in_it_and_below(image_run):
    found = predict_files(
        image_run.folder, [image_run.data / "test", image_run.data / "train" / "dark" / "3.png"]
    )
    assert len(found.rows) == 16
    assert found.rows[0]["file"].endswith("test/dark/0.png")
    assert found.rows[-1]["file"].endswith("train/dark/3.png")


def test_pipes_in_a_folder_are_not_waited_for(image_run, tmp_path):
    write_images(tmp_path / "more", n=1)
    os.mkfifo(tmp_path / "more" / "dark" / "pipe.png")
    assert len(predict_files(image_run.folder, [tmp_path / "more"]).rows) == 3


def test_rows_of_a_table_get_names_and_numbers(table_run):
    found = predict_files(table_run.folder, [table_run.data])
    assert [row["row"] for row in found.rows] == list(range(1, 41))
    network, space = hp.load(table_run.folder)
    rows = [
        [float(cell) for cell in line.split(",")[:2]]
        for line in table_run.data.read_text().splitlines()[1:]
    ]
    inputs = table_run.source.preprocessing.standardize(torch.tensor(rows))
    expected = space.decode(space.predict(network(inputs)))
    answers = [row["predictions"] for row in found.rows]
    assert [answer["side"]["name"] for answer in answers] == expected["side"]
    assert [answer["height"] for answer in answers] == pytest.approx(expected["height"], abs=1e-3)


def test_an_empty_cell_is_the_median_and_targets_need_not_be_there(table_run, tmp_path):
    (median,) = table_run.source.preprocessing.encoder.columns[1].fill
    path = tmp_path / "new.csv"
    path.write_text(f"b,a\n,0.5\n{median},0.5\n")
    first, second = (row["predictions"] for row in predict_files(table_run.folder, [path]).rows)
    assert first["height"] == pytest.approx(second["height"], abs=1e-4)


def test_mistakes_get_a_sentence(image_run, table_run, tmp_path):
    for paths, texts in (([], []), ([image_run.data], ["a"])):
        with pytest.raises(ValueError, match="`paths` must be at least one file") as info:
            predict_files(image_run.folder, paths, texts=texts)
        assert info.value.got == f"{len(paths)} files and {len(texts)} texts"
    for run in (image_run, table_run):
        with pytest.raises(ValueError, match="other inputs") as info:
            predict_files(run.folder, texts=["a"])
        assert info.value.argument == "text"
    with pytest.raises(FileNotFoundError) as info:
        predict_files(image_run.folder, [tmp_path / "none.png"])
    assert str(tmp_path / "none.png") in info.value.argument
    (tmp_path / "short.csv").write_text("a\n1\n")
    image = image_run.data / "test" / "dark" / "0.png"
    for run, path, got in (
        (image_run, tmp_path, "none"),
        (image_run, table_run.data, "a table"),
        (table_run, image, "another file"),
        (table_run, tmp_path / "short.csv", None),
    ):
        with pytest.raises(ValueError, match="must") as info:
            predict_files(run.folder, [path])
        assert str(path) in info.value.argument
        assert info.value.got == got


def test_a_corrupt_image_is_named_or_left_out(image_run, tmp_path):
    folder = write_images(tmp_path / "new", n=2)
    (folder / "dark" / "0.png").write_bytes(b"")
    with pytest.raises(ValueError, match=r'dark/0.png" must be an image; got an empty file'):
        predict_files(image_run.folder, [folder])
    found = predict_files(image_run.folder, [folder], skip_corrupt=True)
    assert len(found.rows) == 5
    assert found.skipped == (folder / "dark" / "0.png",)
    whole = predict_files(image_run.folder, [folder / "dark" / "1.png"])
    assert (
        found.rows[0]["predictions"]["class"]["name"]
        == whole.rows[0]["predictions"]["class"]["name"]
    )


def test_a_softmax_run_has_scores_that_are_not_cosines(tmp_path, image_run):
    preprocessing = hp.data.ImagePreprocessing(8)
    space = hp.baselines.ConventionalSpace(image_run.source.targets)
    run = hp.fit(
        hp.models.DigitNet(3, size=8, width=2, channels=3),
        space,
        training_data(image_run.source.test, preprocessing),
        epochs=1,
        lr=1e-4,
        folder=tmp_path / "run",
        preprocessing=preprocessing,
    )
    path = image_run.source.test.inputs[0]
    [row] = predict_files(run.folder, [path]).rows
    assert set(row["predictions"]["class"]) == {"name", "score", "top"}
