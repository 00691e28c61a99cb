import json
import os
import sys
import warnings

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto.data import Split
from hyperproto.evaluation import (
    add_classes,
    evaluate_run,
    list_runs,
    remove_classes,
    rename_classes,
)
from hyperproto.evaluation.class_examples import draw_replay
from hyperproto.evaluation.new_classes import mean_directions, push_apart
from hyperproto.models import create_backbone

OLD, NEW = ("a", "b", "c"), ("d", "e")
SETTINGS = {"lr": 0.1, "reduction": "mean", "batch_size": 16}


def blobs(classes, n: int = 40, *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return n points around each of some axes of six dimensions, and the axis of each."""
    labels = torch.tensor(classes).repeat_interleave(n)
    inputs = 0.3 * torch.randn(len(labels), 6, generator=torch.Generator().manual_seed(seed))
    inputs[torch.arange(len(labels)), labels] += 2
    return inputs, labels


def named(labels: torch.Tensor) -> list[str]:
    return ["abcde"[label] for label in labels.tolist()]


def train(space: hp.Space, targets, *, folder=None, inputs=None) -> hp.Run:
    torch.manual_seed(0)
    network = create_backbone("mlp", out_dim=space.dim, in_features=6, hidden=[32], norm="batch")
    inputs = blobs([0, 1, 2])[0] if inputs is None else inputs
    return hp.fit(network, space, (inputs, targets), epochs=8, folder=folder, **SETTINGS)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> hp.Run:
    space = hp.Space(6, hp.Classes(hp.Prototypes.one_hot(OLD, 6), loss="paper"))
    return train(space, blobs([0, 1, 2])[1], folder=tmp_path_factory.mktemp("runs") / "old")


OLD_VALID, NEW_VALID = blobs([0, 1, 2], 20, seed=1), blobs([3, 4], 20, seed=1)
FEW = blobs([3, 4], 5, seed=2)


def test_a_class_at_the_mean_of_its_examples_needs_no_training(run):
    weights = {name: value.clone() for name, value in run.network.state_dict().items()}
    made, report = add_classes(
        run,
        FEW[0],
        named(FEW[1]),
        old_valid=OLD_VALID,
        new_valid=(NEW_VALID[0], named(NEW_VALID[1])),
    )
    assert made.network is run.network
    assert all(
        torch.equal(weights[name], value) for name, value in made.network.state_dict().items()
    )
    assert made.space.prototypes.names == (*OLD, *NEW)
    assert torch.equal(made.space.prototypes.vectors[:3], run.space.prototypes.vectors)
    assert run.space.prototypes.num_classes == 3  # the old run is not touched
    assert (report.how, report.classes, report.num_classes) == ("mean", NEW, 5)
    assert (report.old_examples, report.new_examples) == (60, 40)
    assert report.old_before == 1
    assert report.lost == pytest.approx(report.old_before - report.old_after)
    assert report.new_accuracy > 0.5
    measured = hp.evaluate(made.network, made.space, OLD_VALID)["accuracy"]
    assert report.old_after == pytest.approx(measured)


def test_the_mean_direction_is_that_of_the_unit_outputs(run):
    network, space = run.network.eval(), run.space
    groups = torch.tensor([0, 1] * 5)
    found = mean_directions(network, space, "target", FEW[0], groups, 2)
    with torch.no_grad():
        z = torch.nn.functional.normalize(network(FEW[0]).double())
    target = torch.nn.functional.normalize(torch.stack([z[groups == k].mean(0) for k in (0, 1)]))
    torch.testing.assert_close(found, target, atol=1e-6, rtol=0)


def test_training_moves_means_apart_and_replays_old_examples(run, tmp_path):
    weights = {name: value.clone() for name, value in run.network.state_dict().items()}
    made, report = add_classes(
        run,
        FEW[0].double().numpy(),
        np.array(named(FEW[1])),
        how="train",
        replay=blobs([0, 1, 2]),
        replay_per_class=5,
        old_valid=OLD_VALID,
        new_valid=(NEW_VALID[0], named(NEW_VALID[1])),
        folder=tmp_path / "new",
        **SETTINGS,
    )
    assert all(
        torch.equal(weights[name], value) for name, value in run.network.state_dict().items()
    )
    assert made.space.prototypes.certificate.max_cosine < 1e-4  # the means themselves are nearer
    assert made.space.prototypes.certificate.method.endswith(
        "2 moved apart from the mean of examples"
    )
    assert torch.equal(made.space.prototypes.vectors[:3], run.space.prototypes.vectors)
    assert report.new_accuracy > 0.8
    assert report.old_after > 0.9
    network, space = hp.load(tmp_path / "new")
    assert space.prototypes.names == (*OLD, *NEW)
    assert hp.evaluate(network, space, NEW_VALID)["accuracy"] == pytest.approx(report.new_accuracy)
    assert json.loads((tmp_path / "new" / "config.json").read_text())["data"]["train"] == 3 * 5 + 10
    assert json.loads((tmp_path / "new" / "new_classes.json").read_text()) == report.to_dict()


def test_many_new_classes_in_full_dimensions_do_not_move_to_one_point(generator):
    old = hp.place(67, 66).vectors  # a simplex: no direction is away from all of them
    near = torch.randn(11, 66, dtype=torch.float64, generator=generator)
    means = hp.sphere.normalize(near[:1] + near[1:] / 2)
    assert (means @ means.T).fill_diagonal_(-1).max() > 0.7
    points = push_apart(means, old)
    assert (points @ points.T).fill_diagonal_(-1).max() < 0.2
    assert (points @ old.T).max() < 0.3
    assert (points * means).sum(dim=1).min() > 0.2


def test_a_prior_places_a_class_of_which_nothing_was_seen(run):
    similarity = np.full((4, 4), 0.1)
    similarity[3, 0] = similarity[0, 3] = 0.9
    made, report = add_classes(run, names=["d"], how="prior", prior=similarity, old_valid=OLD_VALID)
    placed = made.space.prototypes
    cosines = placed.vectors[3] @ placed.vectors[:3].T
    assert cosines.argmax() == 0
    assert report.new_accuracy is None
    assert report.classes == ("d",)
    assert placed.certificate.method.endswith("1 among the classes that a prior finds similar")


def test_a_class_of_which_nothing_was_seen_lies_where_outputs_go(run):
    similarity = np.eye(4) + 0.2
    similarity[3, :3] = similarity[:3, 3] = [0.8, 0.5, 0.2]
    made, _ = add_classes(run, names=["d"], how="prior", prior=similarity, old_valid=OLD_VALID)
    points = made.space.prototypes.vectors
    weights = torch.softmax(
        torch.tensor([0.3, 0.0, -0.3]).double() / 0.06**0.5, dim=0
    )  # a deviation of sqrt(.06)
    torch.testing.assert_close(points[3], hp.sphere.normalize((weights @ points[:3])[None])[0])
    with pytest.raises(ValueError, match="to it, all are equally like new class 0"):
        add_classes(run, names=["d"], how="prior", prior=np.full((4, 4), 0.1), old_valid=OLD_VALID)


def test_a_loss_of_old_accuracy_is_said_aloud(run):
    lookalikes = blobs([0], 5, seed=3)[0]  # the "new" class is an old one
    with pytest.warns(
        UserWarning, match=r"The old classes lost \d+\.\d points of accuracy: 100.0 % before"
    ) as seen:
        _, report = add_classes(run, lookalikes, ["d"] * 5, old_valid=OLD_VALID)
    assert seen[0].filename == __file__
    assert report.lost > 0.01
    assert report.notes[0] == str(seen[0].message)
    assert '"d" is nearest to an old class, "a"' in str(report)


def test_the_report_says_what_was_measured_on(run):
    _, blind = add_classes(run, FEW[0], named(FEW[1]))
    assert (blind.old_before, blind.old_after, blind.lost) == (None, None, None)
    assert "not measured: pass examples of them as old_valid" in blind.notes[0]
    assert "New classes are measured on the very examples given." in blind.notes
    _, again = add_classes(
        run, FEW[0], named(FEW[1]), how="train", replay=OLD_VALID, epochs=4, **SETTINGS
    )
    assert (
        "Old classes are measured on what could be replayed, which may have been trained on."
        in again.notes
    )


@pytest.mark.parametrize("form", ["folder", "pair"])
def test_a_changed_run_is_stored_and_loads_again(run, tmp_path, form):
    given = run.folder if form == "folder" else (run.network, run.space)
    _, report = add_classes(
        given, FEW[0], named(FEW[1]), new_valid=FEW, names=NEW, folder=tmp_path / "r" / "new"
    )
    network, space = hp.load(tmp_path / "r" / "new")
    assert space.prototypes.names == (*OLD, *NEW)
    assert hp.evaluate(network, space, FEW)["accuracy"] == pytest.approx(report.new_accuracy)
    measured = evaluate_run(tmp_path / "r" / "new", FEW)
    assert measured.measures["accuracy"] == pytest.approx(report.new_accuracy)
    assert [row.state for row in list_runs(tmp_path / "r")] == ["finished"]
    assert hp.load(run.folder).space.prototypes.num_classes == 3


def test_classes_without_names_are_counted_on():
    run = train(hp.Space(4, hp.Classes(3)), blobs([0, 1, 2])[1])
    made, report = add_classes(run, *FEW, old_valid=OLD_VALID, new_valid=NEW_VALID)
    assert report.classes == (3, 4)
    assert made.space.prototypes.names is None
    again, _ = remove_classes(made, [0, 3])
    assert torch.equal(again.space.prototypes.vectors, made.space.prototypes.vectors[[1, 2, 4]])
    with pytest.raises(ValueError, match="from 3 to 4; got 1 in row 0"):
        add_classes(run, FEW[0][:2], [1, 4])


def test_other_tasks_stay_as_they_are():
    inputs, labels = blobs([0, 1, 2])
    tasks = {
        "kind": hp.Classes(OLD, class_weight=[1, 2, 3]),
        "side": hp.Classes(["left", "right"]),
        "size": hp.Range(0, 1),
    }
    targets = {"kind": labels, "side": (inputs[:, 5] > 0).long(), "size": inputs[:, 4].sigmoid()}
    run = train(hp.Space(6, tasks), targets)
    new = {"how": "train", "task": "kind", "replay": (inputs, targets), "epochs": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how well it is learned is not the subject
        made, report = add_classes(run, FEW[0], named(FEW[1]), **new, **SETTINGS)
    assert made.space.names == ("kind", "side", "size")
    assert made.space.prototypes["kind"].names == (*OLD, *NEW)
    assert torch.equal(made.space.prototypes["side"].vectors, run.space.prototypes["side"].vectors)
    assert made.space.tasks["kind"].class_weight == (1, 2, 3, 2, 2)
    assert report.new_examples == 10
    fewer, _ = remove_classes(made, ["b"], task="kind")
    assert fewer.space.tasks["kind"].class_weight == (1, 3, 2, 2)
    with pytest.raises(
        ValueError, match='must name one of several class tasks; got none. There are "kind", "side"'
    ):
        add_classes(run, FEW[0], named(FEW[1]))


def test_removed_classes_are_no_longer_answered(run):
    made, report = remove_classes(run, ["b"], old_valid=OLD_VALID)
    assert made.space.prototypes.names == ("a", "c")
    assert report.old_examples == 40
    assert report.old_before == report.old_after == 1
    kept = OLD_VALID[1] != 1
    predicted = made.space.predict(made.network.eval()(OLD_VALID[0][kept]))
    assert torch.equal(predicted, OLD_VALID[1][kept].clamp(max=1))


def test_renamed_classes_are_answered_by_their_new_names(run, tmp_path):
    made, report = rename_classes(run, {"b": "bee"}, folder=tmp_path / "renamed")
    assert report.how == "rename"
    assert hp.load(tmp_path / "renamed").space.decode(torch.tensor([1])) == ["bee"]
    assert torch.equal(made.space.prototypes.vectors, run.space.prototypes.vectors)


def test_a_replay_holds_so_many_of_each_class_and_no_unlabeled_one():
    labels = torch.tensor([0, 0, 0, 1, 1, 1, 1, 2, -1, -1])
    examples = Split(torch.arange(10.0)[:, None], {"target": labels})
    drawn = draw_replay(examples, "target", per_class=2, seed=0)
    assert drawn.targets["target"].bincount().tolist() == [2, 2, 1]
    assert torch.equal(labels[drawn.inputs[:, 0].long()], drawn.targets["target"])
    other = draw_replay(examples, "target", per_class=2, seed=1)
    assert not torch.equal(drawn.inputs, other.inputs)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"how": "men"}, 'Unknown way to add classes "men".*Did you mean "mean"'),
        ({"how": "train"}, '`replay` must be examples .* of the old classes for how="train"'),
        ({"lr": 0.1}, 'must be left out for how="mean", which trains nothing; got lr'),
        (
            {"how": "prior"},
            '`prior` must be given for how="prior", and only for it; got how="prior"',
        ),
        ({"labels": ["a"] * 10}, "New classes must be new"),
        (
            {"labels": ["d"] * 9 + ["a"], "names": ["d"]},
            r"must be of new classes, by name or as ids from 3 to 3; got 'a' in row 9 \(1 of 10 rows\). "
            "Examples of old classes go into `replay`",
        ),
        ({"labels": FEW[1]}, "`labels` must be names, as the old classes have names; got 3"),
        (
            {"labels": None},
            "`labels` must be given where `names` does not list the new classes; got neither",
        ),
        (
            {"names": ["d", "e", "f"]},
            "agree on a direction; got 0 examples without one for new class 2",
        ),
        (
            {"inputs": None},
            '`inputs` must be examples of the new classes for how="mean"; got none. .* use how="prior"',
        ),
        ({"labels": "d"}, 'got one string, "d"'),
        ({"run": "nowhere"}, '"nowhere" must hold a run'),
        ({"run": 3}, "`run` must be a run, its folder, or a pair"),
        ({"task": "kind"}, 'Unknown class task "kind"'),
    ],
)
def test_what_cannot_be_gets_a_sentence(run, options, sentence):
    given = {"run": run, "inputs": FEW[0], "labels": named(FEW[1])} | options
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=sentence):
        add_classes(**given)


def test_only_a_sphere_takes_new_classes():
    with pytest.raises(
        TypeError, match="must be a sphere with fixed prototypes; got ConventionalSpace"
    ):
        add_classes(
            (torch.nn.Linear(6, 3), hp.baselines.ConventionalSpace(hp.Classes(OLD))),
            FEW[0],
            named(FEW[1]),
        )


def test_a_change_of_classes_that_was_cut_off_may_be_made_again(run, tmp_path):
    def files(folder):
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def add(folder, *, name="new_classes.json", dies=False):
        if not dies:
            return add_classes(run, FEW[0], named(FEW[1]), folder=folder)
        process = os.fork()
        if process == 0:
            sys.addaudithook(
                lambda event, args: (
                    os._exit(9) if event == "os.rename" and name in str(args[1]) else None
                )
            )
            try:
                torch.set_num_threads(1)
                add_classes(run, FEW[0], named(FEW[1]), folder=folder)
            finally:  # an error must not go on as a second copy of the tests
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    add(tmp_path / "whole")
    for name in ("last.safetensors", "new_classes.json", "config.json"):
        assert add(tmp_path / name, name=name, dies=True) == 9
        with pytest.raises(FileNotFoundError, match="must hold a run; got no"):
            hp.load(tmp_path / name)
        add(tmp_path / name)
        assert files(tmp_path / name) == files(tmp_path / "whole")
    with pytest.raises(
        ValueError, match="must be new or empty; got one with files. Choose another.$"
    ):
        add(tmp_path / "whole")


@pytest.mark.filterwarnings("ignore:The old classes lost")
def test_image_files_are_prepared_as_the_run_was_trained(image_run):
    files = sorted((image_run.data / "test" / "dark").glob("*.png"))
    prepared = torch.stack(
        [image_run.valid[row][0] for row in range(len(files))]
    )  # "dark" is the first class
    replay = (
        sorted((image_run.data / "train" / "gray").glob("*.png")),
        {"class": torch.ones(5, dtype=torch.int64)},
    )
    labels = ["night"] * len(files)
    found, report = add_classes(image_run.folder, files, labels, old_valid=replay)
    wanted, _ = add_classes(image_run.folder, prepared, labels)
    assert torch.equal(*(made.space.prototypes["class"].vectors for made in (found, wanted)))
    assert report.old_examples == 5
    pair = (image_run.run.network, image_run.run.space)
    with pytest.raises(
        TypeError, match="must be numbers for a model that has no folder; got paths"
    ):
        add_classes(pair, files, labels)
