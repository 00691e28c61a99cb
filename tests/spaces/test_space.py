"""The space users hold: one task or several, missing labels, weights, precision, predictions."""

import copy
import math
import pickle
import warnings

import pytest
import torch
from torch.nn import functional

from hyperproto import Classes, OutputSpace, Range, Space, fit, place
from hyperproto._core.errors import HyperprotoError
from hyperproto.baselines import ConventionalSpace, space_from_dict
from hyperproto.codes.best import known_max_cosine
from hyperproto.losses import CosineSoftmax, squared_cosine_grad, squared_cosine_loss
from hyperproto.spaces import TaskSpace
from hyperproto.spaces.output_space import by_name
from hyperproto.tasks.head import Head

NAMES = ["2", "3", "4", "5", "7"]


@pytest.fixture
def joint() -> Space:
    return Space(3, digit=Classes(NAMES, loss="paper"), angle=Range(0, 180, margin=0))


def outputs(n, dim, generator, dtype=torch.float64):
    return torch.randn(n, dim, generator=generator, dtype=dtype, requires_grad=True)


def test_one_task_takes_and_gives_bare_tensors(generator):
    space = Space(4, Classes(10, loss="paper"))
    z, y = outputs(6, 4, generator), torch.arange(6)
    prototypes = space.prototypes.vectors
    torch.testing.assert_close(space.loss(z, y), squared_cosine_loss(z, prototypes, y))
    assert space.loss(z, y, reduction="none").shape == (6,)
    torch.testing.assert_close(space.losses(z, y), space.loss(z, y))
    assert space.scores(z).shape == (6, 10)
    assert torch.equal(space.predict(z), space.scores(z).argmax(dim=1))
    assert space.predict(prototypes * 7).tolist() == list(range(10))  # Equation 3
    assert space.project(z).norm(dim=1).tolist() == pytest.approx([1.0] * 6)


def test_the_joint_loss_is_equation_1_plus_equation_7(joint, generator):
    z = outputs(8, 3, generator)
    targets = {
        "digit": torch.arange(8) % 5,
        "angle": torch.linspace(0, 180, 8, dtype=torch.float64),
    }
    r = 2 * targets["angle"] / 180 - 1
    p = joint.prototypes["digit"].vectors
    classes = (1 - functional.cosine_similarity(z[:, 1:], p[targets["digit"]])) ** 2
    angles = (r - z[:, 0] / z.norm(dim=1)) ** 2  # paper: over the whole output, pole on axis 0
    for reduction, reduce in (("mean", torch.mean), ("sum", torch.sum), ("none", lambda x: x)):
        torch.testing.assert_close(
            joint.loss(z, targets, reduction=reduction), reduce(classes) + reduce(angles)
        )
    losses = joint.losses(z, targets)
    torch.testing.assert_close(losses["digit"], classes.mean())
    torch.testing.assert_close(losses["angle"], angles.mean())


def test_separate_tasks_read_axes_of_their_own(generator):
    tasks = {"digit": Classes(NAMES, loss="paper"), "angle": Range(0, 180, loss="absolute")}
    space = Space(12, tasks, separate=True)
    z = outputs(8, 12, generator)
    targets = {
        "digit": torch.arange(8) % 5,
        "angle": torch.linspace(0, 180, 8, dtype=torch.float64),
    }
    classes = squared_cosine_loss(z[:, :4], space.prototypes["digit"].vectors, targets["digit"])
    angles = (2 * targets["angle"] / 180 - 1 - z[:, 4] / z[:, 4:].norm(dim=1)).abs()
    losses = space.losses(z, targets)
    torch.testing.assert_close(losses["digit"], classes.mean())
    torch.testing.assert_close(losses["angle"], angles.mean())
    (gradient,) = torch.autograd.grad(losses["angle"], z)
    assert gradient[:, :4].abs().max() == 0
    assert gradient[:, 4:].abs().min() > 0
    points = space.project(z)
    assert points[:, :4].norm(dim=1).tolist() == pytest.approx([0.5**0.5] * 8)
    assert points.norm(dim=1).tolist() == pytest.approx([1.0] * 8)
    again = space_from_dict(space.to_dict(), space.prototypes)
    assert again.separate
    assert again.tasks["angle"] == space.tasks["angle"]
    torch.testing.assert_close(again.loss(z, targets), space.loss(z, targets))


def test_separate_tasks_need_two_axes_each():
    with pytest.raises(
        ValueError, match=r'`dim` must leave the tasks 4 axes \("digit" 2, "angle" 2\); got 3'
    ):
        Space(3, digit=Classes(NAMES), angle=Range(0, 180), separate=True)


def test_autograd_of_a_double_space_is_equation_2_to_1e_12(generator):
    space = Space(5, Classes(20, loss="paper")).double()
    z, y = outputs(12, 5, generator), torch.arange(12)
    space.loss(z, y, reduction="sum").backward()
    torch.testing.assert_close(
        z.grad, squared_cosine_grad(z.detach(), space.prototypes.vectors, y), atol=1e-12, rtol=1e-12
    )


def test_keywords_and_a_mapping_are_the_same(joint):
    mapped = Space(3, joint.tasks)
    assert mapped.names == joint.names
    assert torch.equal(mapped.heads[0].prototypes, joint.heads[0].prototypes)


def test_task_names_may_be_any_string(generator):
    names = {
        "type": Classes(3),
        "dim": Classes(3),
        "year.created": Range(0, 1),
        "self": Range(0, 1),
        "": Range(0, 1),
    }
    space = Space(9, names)
    z = outputs(2, 9, generator)
    targets = {
        name: torch.zeros(2, dtype=torch.int64 if name in ("type", "dim") else torch.float64)
        for name in names
    }
    assert set(space.losses(z, targets)) == set(names)
    assert set(space.predict(z)) == set(names)
    with pytest.raises(TypeError, match="multiple values for argument 'dim'"):
        Space(4, dim=Classes(5))
    space.load_state_dict(space.state_dict())


def test_several_ranges_can_reach_every_combination(generator):
    space = Space(4, a=Range(0, 1), b=Range(-1, 1), kind=Classes(3, loss="paper"))
    a, b, kind = torch.tensor([0.2, 0.9]), torch.tensor([0.5, -0.9]), torch.tensor([2, 0])
    ra, rb = 2 * a - 1, b
    p = space.prototypes["kind"].vectors[kind].float()
    rest = (1 - ra**2).sqrt()
    z = torch.cat(
        [ra[:, None], (rest * rb)[:, None], (rest * (1 - rb**2).sqrt())[:, None] * p], dim=1
    )
    found = space.predict(3 * z)
    torch.testing.assert_close(found["a"], a)
    torch.testing.assert_close(found["b"], b)
    assert torch.equal(found["kind"], kind)
    assert space.loss(z, {"a": a, "b": b, "kind": kind}).item() == pytest.approx(0, abs=1e-12)


def test_missing_labels_give_no_loss_and_no_gradient(joint, generator):
    z = outputs(4, 3, generator)
    targets = {
        "digit": torch.tensor([0, -1, 2, -1]),
        "angle": torch.tensor([1.0, 2.0, math.nan, math.nan]),
    }
    losses = joint.losses(z, targets)
    whole = joint.losses(
        z[[0, 2]], {"digit": torch.tensor([0, 2]), "angle": torch.tensor([1.0, 2.0])}
    )
    torch.testing.assert_close(losses["digit"], whole["digit"])  # the mean is over what is there
    rows = joint.loss(z, targets, reduction="none")
    assert rows[3] == 0
    rows.sum().backward()
    assert (z.grad[3] == 0).all()
    assert (z.grad[:3] != 0).any(dim=1).all()


def test_a_batch_without_missing_labels_has_the_bits_it_has_with_weights_of_one(joint, generator):
    z = torch.randn(7, joint.dim, generator=generator, requires_grad=True)
    targets = {"digit": torch.arange(7) % 5, "angle": torch.linspace(1, 179, 7)}
    plain = joint.loss(z, targets)
    weighted = joint.loss(z, targets, sample_weight=torch.ones(7))
    assert torch.equal(plain, weighted)
    assert torch.equal(*(torch.autograd.grad(loss, z)[0] for loss in (plain, weighted)))


def test_nothing_but_missing_labels_is_a_loss_of_zero(joint, generator):
    z = outputs(2, 3, generator)
    loss = joint.loss(
        z, {"digit": torch.tensor([-1, -1]), "angle": torch.tensor([math.nan, math.nan])}
    )
    loss.backward()
    assert loss == 0
    assert (z.grad == 0).all()


def test_weights_of_tasks_classes_and_samples(generator):
    z, y = outputs(4, 3, generator), torch.tensor([0, 1, 1, -1])
    plain = Space(3, Classes(5)).loss(z, y, reduction="none")
    torch.testing.assert_close(
        Space(3, Classes(5, weight=3.0)).loss(z, y, reduction="none"), 3 * plain
    )
    weighted = Space(3, Classes(5, class_weight=[1, 2, 1, 1, 1]))
    expected = (plain[0] + 2 * plain[1] + 2 * plain[2]) / 5
    torch.testing.assert_close(weighted.loss(z, y), expected)
    assert weighted.label_counts(y)["target"].item() == 5
    sample_weight = torch.tensor([1.0, 0.0, 0.5, 9.0])
    expected = (plain[0] + 0.5 * plain[2]) / 1.5
    torch.testing.assert_close(
        Space(3, Classes(5)).loss(z, y, sample_weight=sample_weight), expected
    )
    with pytest.raises(ValueError, match=r"`sample_weight` must have shape \(4,\); got \(3,\)"):
        Space(3, Classes(5)).loss(z, y, sample_weight=torch.ones(3))


def test_a_task_can_ask_for_cosine_softmax(generator):
    z, y = outputs(6, 4, generator), torch.arange(6)
    space = Space(4, Classes(10, loss=CosineSoftmax(scale=5)))
    torch.testing.assert_close(space.loss(z, y), functional.cross_entropy(5 * space.scores(z), y))


def test_modules_in_half_precision_keep_prototypes_exact(generator):
    space = Space(4, a=Classes(10), r=Range(0, 1))
    exact = space.heads[0].prototypes.clone()
    z = outputs(6, 4, generator, torch.float32)
    targets = {"a": torch.arange(6), "r": torch.rand(6, generator=generator)}
    before = space.loss(z, targets)
    for change in (space.half, space.bfloat16, space.float, space.double):
        change()
        assert torch.equal(space.heads[0].prototypes, exact)
        assert torch.equal(space.loss(z, targets), before)
    assert space.half().loss(z.half(), targets).dtype == torch.float32
    assert space.predict(z.half())["r"].dtype == torch.float32
    assert space.to("meta").heads[0].prototypes.device.type == "meta"


def test_prototypes_and_poles_are_buffers_without_parameters(joint):
    assert list(joint.parameters()) == []
    assert set(joint.state_dict()) == {"heads.0.prototypes", "heads.1.upper_pole"}
    pole = joint.heads[1]
    assert pole.upper_pole.tolist() == [1, 0, 0]


def test_names_and_ids_translate_both_ways(joint):
    encoded = joint.encode({"digit": ["7", None], "angle": [90, None]})
    assert encoded["digit"].tolist() == [4, -1]
    assert joint.decode(encoded) == {"digit": ["7", None], "angle": [90.0, None]}
    bare = Space(2, Classes(["a", "b"]))
    assert bare.decode(bare.encode(["b", "a"])) == ["b", "a"]


def test_prediction_raises_where_there_is_no_direction(joint):
    z = torch.ones(4, 3)
    z[2] = 0
    with pytest.raises(
        ValueError, match=r"`z` must have a direction; got norm 0 in 1 of 4 rows \(first: row 2\)"
    ):
        joint.predict(z)
    z[2] = math.nan
    with pytest.raises(
        ValueError, match=r"`z` must be finite; got NaN or infinity in 1 of 4 rows \(first: row 2\)"
    ):
        joint.predict(z)
    at_the_pole = torch.tensor([[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="must have a direction"):
        joint.predict(at_the_pole)


def test_check_looks_at_every_value_once(joint):
    good = {"digit": torch.tensor([0, -1]), "angle": torch.tensor([180.0, math.nan])}
    joint.check(good)
    with pytest.raises(ValueError, match=r"`digit` must be class ids in \[0, 5\).*got 5 in row 0"):
        joint.check({**good, "digit": torch.tensor([5, 0])})
    with pytest.raises(ValueError, match=r"`angle` must lie in \[0, 180\]; got 181 in row 1"):
        joint.check({**good, "angle": torch.tensor([0.0, 181.0])})


def test_targets_of_the_wrong_form_are_named(joint, generator):
    z, y, right = outputs(2, 3, generator), torch.tensor([1, 2]), torch.tensor([1.0, 2.0])
    bare = Space(3, Classes(4))
    for space, targets, argument, got in (
        (joint, y, "targets", "Tensor"),
        (joint, {"digit": y}, "targets", ["digit"]),
        (joint, {"digit": y, "angle": torch.tensor([1.0])}, "angle", (1,)),
        (joint, {"digit": y.tolist(), "angle": right}, "digit", "list"),
        (bare, {"y": y}, "target", "dict"),
        (bare, y.tolist(), "target", "list"),
    ):
        with pytest.raises(HyperprotoError) as raised:
            space.loss(z, targets)
        assert (raised.value.argument, raised.value.got) == (argument, got)
    with pytest.raises(HyperprotoError) as raised:
        joint.loss(torch.ones(2, 4), {"digit": y, "angle": right})
    assert (raised.value.argument, raised.value.got) == ("z", (2, 4))
    with pytest.raises(HyperprotoError, match='Unknown reduction "avg"'):
        joint.loss(z, {"digit": y, "angle": right}, reduction="avg")


def test_spaces_that_make_no_sense_get_a_sentence():
    with pytest.raises(ValueError, match="A space must have at least one task"):
        Space(3)
    with pytest.raises(
        TypeError, match=r"A task must be a task such as hp.Classes\(10\) .*; got int"
    ):
        Space(3, 10)
    with pytest.raises(TypeError, match='"digit"'):
        Space(3, digit=10)
    with pytest.raises(TypeError, match="Task names must be strings; got 3"):
        Space(3, {3: Classes(4)})
    with pytest.raises(ValueError, match="`task` must be left out where tasks are given by name"):
        Space(3, Classes(4), other=Range(0, 1))


def test_a_state_dict_brings_other_prototypes_and_leaves_their_maker_alone():
    placed = place(6, 4)
    before = placed.vectors.clone()
    space, other = (
        Space(4, Classes(placed)),
        Space(4, Classes(place(6, 4, method="random", seed=1))),
    )
    space.load_state_dict(other.state_dict())
    assert torch.equal(placed.vectors, before)
    assert torch.equal(space.prototypes.vectors, other.prototypes.vectors)
    assert space.prototypes.certificate.max_cosine == pytest.approx(
        other.prototypes.certificate.max_cosine
    )


def test_changed_prototypes_are_used_at_once(generator):
    space, other = Space(4, Classes(6)), Space(4, Classes(place(6, 4, method="random", seed=1)))
    z, y = outputs(5, 4, generator, torch.float32), torch.arange(5)
    assert space.loss(z, y) != other.loss(z, y)
    space.load_state_dict(other.state_dict())
    assert torch.equal(space.loss(z, y), other.loss(z, y))
    with torch.no_grad():
        space.heads[0].prototypes.neg_()
    assert not torch.equal(space.loss(z, y), other.loss(z, y))


def test_a_device_that_is_not_there_leaves_the_space_whole(joint):
    before = set(joint.state_dict())
    with pytest.raises((RuntimeError, AssertionError)):
        joint.to("xpu" if torch.cuda.is_available() else "cuda")
    assert set(joint.state_dict()) == before
    assert "angle" in joint.predict(torch.ones(1, 3))


def test_a_space_says_what_it_asks_for(joint):
    assert "dim=3" in repr(joint)
    assert "5 classes: 2, 3, 4, 5, 7" in repr(joint)
    assert "0 to 180, margin=0" in repr(joint)


def test_a_negative_id_other_than_minus_one_is_no_missing_label(generator):
    with pytest.raises(ValueError, match="must be class ids in .* got -2 in row 0"):
        Space(3, Classes(4)).loss(outputs(1, 3, generator), torch.tensor([-2]))


def test_a_non_finite_row_shows_even_where_its_label_is_missing(generator):
    z = outputs(3, 3, generator)
    with torch.no_grad():
        z[1] = math.nan
    assert Space(3, Classes(4)).loss(z, torch.tensor([0, -1, 2])).isnan()


def test_weights_are_summed_in_float32_or_better():
    space, z = Space(2, Classes(3)), torch.tensor([[1.0, 0.2]]).expand(70_000, 2)
    labels, half = torch.zeros(70_000, dtype=torch.int64), torch.ones(70_000, dtype=torch.float16)
    torch.testing.assert_close(space.loss(z, labels, sample_weight=half), space.loss(z, labels))
    baseline = ConventionalSpace(Classes(3, class_weight=[1, 2, 3]))
    logits = torch.zeros(70_000, 3)
    torch.testing.assert_close(baseline.half().loss(logits, labels), torch.tensor(math.log(3)))


def test_values_of_the_wrong_form_are_named(joint):
    with pytest.raises(HyperprotoError) as raised:
        joint.check({"digit": [1], "angle": torch.tensor([1.0])})
    assert (raised.value.argument, raised.value.got) == ("digit", "list")
    with pytest.raises(HyperprotoError) as raised:
        joint.encode({"digit": ["2"]})
    assert raised.value.got == ["digit"]


def test_a_space_survives_copying_and_pickling(joint, generator):
    z = outputs(3, 3, generator)
    for twin in (copy.deepcopy(joint), pickle.loads(pickle.dumps(joint))):
        assert torch.equal(twin.predict(z)["angle"], joint.predict(z)["angle"])


def test_whole_numbers_are_fine_as_regression_targets(generator):
    space = Space(3, Range(1500, 1900))
    z = outputs(2, 3, generator)
    torch.testing.assert_close(
        space.loss(z, torch.tensor([1600, 1700])),
        space.loss(z, torch.tensor([1600.0, 1700.0], dtype=torch.float64)),
    )


def test_given_prototypes_are_used_as_they_are():
    placed = place(["x", "y", "z"], 5, seed=3)
    space = Space(5, Classes(placed))
    assert torch.equal(space.prototypes.vectors, placed.vectors)
    assert space.prototypes.names == ("x", "y", "z")
    assert space.prototypes.certificate == placed.certificate


@pytest.mark.filterwarnings("ignore")  # what the compiler warns of is not ours
def test_the_joint_loss_compiles_without_a_break(joint, generator):
    z = outputs(8, 3, generator, torch.float32)
    targets = {"digit": torch.arange(8) % 5 - 1, "angle": torch.linspace(0, 180, 8)}
    compiled = torch.compile(lambda z, t: joint.loss(z, t), fullgraph=True, backend="aot_eager")
    loss = compiled(z, targets)
    loss.backward()
    again = z.detach().clone().requires_grad_()
    joint.loss(again, targets).backward()
    torch.testing.assert_close(z.grad, again.grad)


def test_the_baseline_is_cross_entropy_plus_squared_error(generator):
    space = ConventionalSpace(digit=Classes(5), angle=Range(0, 180, weight=0.25))
    z = outputs(4, 6, generator)
    targets = {"digit": torch.tensor([0, 4, 2, 1]), "angle": torch.tensor([0.0, 45.0, 90.0, 180.0])}
    expected = functional.cross_entropy(z[:, :5], targets["digit"])
    expected = expected + 0.25 * ((targets["angle"] / 180 - z[:, 5]) ** 2).mean()
    torch.testing.assert_close(space.loss(z, targets), expected)
    found = space.predict(z)
    assert torch.equal(found["digit"], z[:, :5].argmax(dim=1))
    torch.testing.assert_close(found["angle"], z[:, 5].detach().clamp(0, 1) * 180)


def test_the_baseline_alone_is_softmax_classification(generator):
    space = ConventionalSpace(Classes(5))
    z, y = outputs(4, 5, generator), torch.arange(4)
    torch.testing.assert_close(space.loss(z, y), functional.cross_entropy(z, y))
    with pytest.raises(ValueError, match="`z` must be finite"):
        space.predict(torch.full((1, 5), math.nan))


def test_an_output_space_of_ones_own_needs_two_methods(generator):
    class Nearest(OutputSpace):
        dim = 2

        def losses(self, z, targets, *, reduction="mean"):
            return {"a": z.mean(), "b": z.sum()}

        def predict(self, z):
            return z.argmax(dim=1)

    space = Nearest()
    z = outputs(3, 2, generator)
    torch.testing.assert_close(space.loss(z, {}), z.mean() + z.sum())
    space.begin_epoch(0)
    space.observe(z, {})
    space.check({})
    with pytest.raises(TypeError, match="abstract"):
        OutputSpace()


def test_one_unnamed_task_may_be_given_by_its_name_too(generator):
    bare, named = Space(3, Classes(4)), Space(3, kind=Classes(4), size=Range(0, 1))
    z, y = outputs(3, 3, generator), torch.tensor([0, 3, -1])
    assert torch.equal(bare.losses(z, {"target": y})["target"], bare.losses(z, y))
    assert torch.equal(bare.loss(z, {"target": y}), bare.loss(z, y))
    assert bare.label_counts({"target": y}) == bare.label_counts(y) == {"target": 2}
    assert by_name(bare.predict(z)).keys() == {"target"}
    assert bare.metric_name("target", "accuracy") == "accuracy"
    assert named.metric_name("kind", "accuracy") == "kind/accuracy"
    assert set(named.predict(z)) == set(by_name(named.scores(z))) == {"kind", "size"}
    assert set(named.top_k(z, 2)) == set(named.prototypes) == {"kind"}
    for wrong in ({"kind": y}, y.tolist()):
        with pytest.raises(HyperprotoError):
            bare.loss(z, wrong)


def test_an_output_space_of_ones_own_is_used_by_task_whatever_its_form(generator):
    class Bare(OutputSpace):
        dim = 2

        def losses(self, z, targets, *, reduction="mean"):
            return functional.cross_entropy(z, targets, reduction=reduction)

        def predict(self, z):
            return z.argmax(dim=1)

    class Named(Bare):
        def losses(self, z, targets, *, reduction="mean"):
            return {"kind": super().losses(z, targets["kind"], reduction=reduction)}

        def predict(self, z):
            return {"kind": super().predict(z)}

    z, y = outputs(3, 2, generator), torch.tensor([0, 1, 1])
    for space, targets, name in ((Bare(), y, "target"), (Named(), {"kind": y}, "kind")):
        assert torch.equal(by_name(space.losses(z, targets))[name], space(z, targets))
        assert torch.equal(space(z, targets), functional.cross_entropy(z, y))
        assert torch.equal(by_name(space.predict(z))[name], z.argmax(dim=1))
        assert space.label_counts(targets) == {name: 3}
        data = (z.float(), targets)
        run = fit(torch.nn.Linear(2, 2), space, data, valid=data, epochs=1)
        assert set(run.metrics) == {space.metric_name(name, "accuracy")}


def test_a_space_is_a_criterion_and_takes_its_arguments_by_keyword(generator):
    z, y = outputs(6, 5, generator), torch.arange(6)
    spaces = [Space(dim=5, task=Classes(10)), Space(5, Classes(10)), Space(5, task=Classes(10))]
    for space in spaces:
        assert torch.equal(space(z, y), space.loss(z, y))
        assert torch.equal(space(z, y), spaces[0](z, y))
    assert Space(dim=5, kind=Classes(10)).names == ("kind",)


def test_contracts_are_abstract():
    for contract in (Head, TaskSpace):
        with pytest.raises(TypeError, match="abstract"):
            contract(5, Classes(3))


@pytest.mark.parametrize(
    ("num_classes", "dim"), [(5, 4), (12, 8), (16, 6), (24, 7), (100, 25), (1000, 64)]
)
def test_what_is_placed_for_training_leaves_no_axis_empty(num_classes, dim):
    placed = Space(dim, Classes(num_classes)).prototypes
    spread = torch.linalg.svdvals(placed.vectors)
    assert spread[-1] > 0.1 * spread[0]
    assert placed.certificate.max_cosine < known_max_cosine(num_classes, dim) + 1 / 32


@pytest.mark.parametrize(("num_classes", "dim"), [(24, 7), (1000, 64)])
def test_every_axis_is_used_the_same_way_every_time(num_classes, dim):
    first, second = (place(num_classes, dim, effort="fast", every_axis=True) for _ in range(2))
    assert torch.equal(first.vectors, second.vectors)


def test_a_padded_code_is_used_where_it_is_asked_for():
    padded = place(16, 6, effort="fast", method="codes")
    assert torch.linalg.matrix_rank(padded.vectors) == 5
    assert torch.equal(Space(6, Classes(padded)).prototypes.vectors, padded.vectors)


def test_scores_can_be_traced_the_first_time():
    space, z = Space(3, Classes(5)), torch.randn(4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated, and remarks on checks of shapes
        traced = torch.jit.trace(lambda z: space.scores(z), (z,))
    torch.testing.assert_close(traced(z[:2]), space.scores(z[:2]))


@pytest.mark.filterwarnings("ignore")  # what the compiler warns of is not ours
@pytest.mark.parametrize("separate", [False, True])
def test_predict_can_be_exported_and_compiled_whole(separate):
    space = Space(12, kind=Classes(5), size=Range(0, 1), separate=separate)

    class Predict(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.space = space

        def forward(self, z):
            return self.space.predict(z)

    z = torch.randn(7, 12, generator=torch.Generator().manual_seed(0))
    graph = torch.export.export(
        Predict(), (z[:3],), dynamic_shapes=({0: torch.export.Dim("n")},)
    ).module()
    compiled = torch.compile(space.predict, fullgraph=True, backend="eager")
    for found in (graph(z), compiled(z)):
        for name, wanted in space.predict(z).items():
            assert torch.equal(found[name], wanted)
    with pytest.raises(ValueError, match="must be finite"):
        space.predict(z * torch.nan)
