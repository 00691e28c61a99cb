"""The one place that chooses every default: pure functions of plain numbers.

The command line, the estimators, ``hp.fit`` and ``loss="auto"`` all ask here, so the same data get
the same sphere, the same loss and the same schedule whichever way they come in. The values for
images did best in recorded runs (``beyond_tuning``, ``beyond_short_runs`` and ``beyond_joint`` in
``reproduction``). Those for tables rest on ``python -m benchmarks own_data.tricks``, those for
texts, and for a class and a number together, on ``own_features --group choose``; both have other
data that say how good they are (``docs/explanation/results.md``). Imports nothing, so that anything
can ask.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

InputKind = Literal["rows", "wide rows", "binned rows", "sparse rows", "images"]

MAX_CLASS_AXES = (
    256  # of one class task: with more, prototypes are hardly better separated and steps cost more
)
NUMBER_AXES = (
    8  # of a number by itself: on a circle an output on the wrong side cannot get around the poles
)
MAX_CLASSES_OF_SUM = 10_000  # beyond, a sum over all classes costs more than a small network
MAX_CLASSES_OF_PRIOR = 4000  # a prior holds a number for every pair of classes
MARGIN = (
    0.1  # where classes and numbers share a sphere: near a pole classes are too close to each other
)
MOMENTUM, SCHEDULE = 0.9, "one-cycle"
IMAGE_SIZE = 224  # pixels per side, of photographs
PHOTO_CROP = (0.08, 1.0)  # shares of the area of a photograph, as for ImageNet
SMALL_IMAGE = 64  # pixels up to which nothing of an image is cut off but by a shift
PRETRAINED = "efficientnet-lite0"  # the network whose weights the extra "pretrained" brings
MAX_PER_CLASS = 1000  # images, from which on a network is trained from scratch
# hidden layers between features that do not change and the output, their dropout and weight decay
HEAD, HEAD_DROPOUT, HEAD_DECAY = (512,), 0.3, 0.003
WIDE = 256  # columns, from which on dense rows are taken for such features
MAX_PER_AXIS = (
    8  # classes on frozen features: with more of them a far class must count for still less
)
# of the usual rate, where a network starts from weights that it would lose at a higher one
FINE_TUNING = 0.001
# of training altogether, however few the examples
MIN_STEPS = {
    "images": 60,
    **dict.fromkeys(("rows", "wide rows", "binned rows", "sparse rows"), 300),
}
BATCHES: dict[InputKind, tuple[int, int]] = {
    "images": (20, 128),
    "rows": (15, 64),
    "wide rows": (15, 64),
    "binned rows": (15, 128),
    "sparse rows": (10, 256),
}
MANY_ROWS = 20_000  # of binned ones, from which on batches are twice as large
HIDDEN, BINNED_HIDDEN = (100,), (100, 100)  # layers of an MLP
TEXT_COLUMNS, TEXT_DROPOUT = (
    1000,
    0.5,
)  # of its hidden values, where rows are sparse with more columns than that
HEAVY_TAILS = (
    0.3  # of a column's standard deviation: where the median distance from the median is less
)
# bins of a column of a dense table: a few from 4,000 rows on, and no more than give so many columns
# altogether
ROWS_PER_BIN, FEWEST_BINS, MOST_BINS, MOST_BIN_COLUMNS = 1000, 4, 12, 500
HELD_OUT = (
    0.2  # share of a user's own data to measure on, where there is no test part: a usual choice
)
VALIDATION_FRACTION = (
    0.1  # of an estimator's rows, for early stopping or calibration, as scikit-learn's MLP
)
# through a network at once outside of training: more gains nothing, and images need the memory
INFERENCE_BATCH_SIZE, INFERENCE_ROWS = 512, 4096
COVERAGE, REJECTED = (
    0.9,
    0.05,
)  # of sets and intervals; share of known inputs that a threshold calls unknown
PATIENCE = 10  # epochs without improvement after which an estimator stops early
REPLAY_PER_CLASS = 20  # examples of each old class that are trained on next to those of new ones
UNFITTED_SCALE = 10.0  # of cosines in a softmax, where neither the loss nor a calibration gives one
# of |z| in an outlier score; chosen on digits with three classes left out; 0.1 to 0.3 are as good
LENGTH_POWER = 0.2
# of the learning rate, in ``partial_fit``: its passes have no schedule in which it would fall
PARTIAL_FIT_RATE = 0.3

# The paper's rate is for a sum over the batch; the others are for a mean.
SUM_RATE = 0.01
MEAN_RATES = {
    "cosine_softmax": 0.2,
    "sampled_cosine_softmax": 0.2,
    "free_norm_softmax": 0.2,
    "power_cosine": 1.0,
}
JOINT_RATE, OTHER_RATE = 0.1, 0.1
# tables, large ones and texts, by a softmax over the classes or for numbers alone
ROW_RATE, BINNED_RATE, SPARSE_RATE = 0.1, 0.2, 0.3
ROW_LOSSES = (
    "free_norm_softmax",
    "cosine_softmax",
    "squared_cosine",
    "absolute",
    "squared",
)  # that have those rates
# of the squared error of a plain number, which no sphere bounds (at 0.1 it diverges), and of its
# absolute error
PLAIN_NUMBER_RATES = {"squared": 0.01, "absolute": 0.03}


def choose_dim(class_counts: Sequence[int], num_ranges: int = 0, *, separate: bool = False) -> int:
    """Return the axes of a sphere: K - 1 for each task of K classes, from 2 to 256, and one for
    each number.

    K - 1 axes hold the simplex, in which all classes are equally far apart. Numbers alone get seven
    more, and each number eight where it has a sphere of its own.

    >>> choose_dim([10]), choose_dim([2]), choose_dim([1000]), choose_dim([40], 1)
    (9, 2, 256, 40)
    >>> choose_dim([], 1), choose_dim([40], 1, separate=True)
    (8, 47)
    """
    numbers = num_ranges * NUMBER_AXES if separate else num_ranges
    if not class_counts:
        return numbers if separate else numbers + NUMBER_AXES - 1
    return sum(min(max(2, count - 1), MAX_CLASS_AXES) for count in class_counts) + numbers


def choose_space(
    class_counts: Sequence[int], num_ranges: int, dim: int | None
) -> Literal["sphere", "spheres"]:
    """Return whether tasks share a sphere: all but classes next to numbers, where there are axes to
    separate them.

    On a shared sphere the number decides how much room classes have, and both lose by it.

    >>> choose_space([3], 0, None), choose_space([], 2, None)
    ('sphere', 'sphere')
    >>> choose_space([5], 1, None), choose_space([5], 1, 3)
    ('spheres', 'sphere')
    """
    both = bool(class_counts) and num_ranges > 0
    has_room = dim is None or dim >= choose_dim(class_counts, num_ranges, separate=True)
    return "spheres" if both and has_room else "sphere"


def choose_number_loss(class_loss: str) -> Literal["squared", "absolute"]:
    """Return the loss of a number: the absolute error, which is what people measure, with a default
    class loss.

    A class loss that is given by name, such as the paper's, comes with the paper's squared error.

    >>> choose_number_loss("auto"), choose_number_loss("squared_cosine")
    ('absolute', 'squared')
    """
    return "absolute" if class_loss == "auto" else "squared"


def choose_loss(
    num_classes: int, dim: int, *, frozen_with_prior: bool = False
) -> tuple[str, dict[str, Any]]:
    """Return the name and the options of the loss for K classes in D dimensions.

    =====================  =====================  =====================  ====================
    dimensions             up to 10,000 classes   on frozen features     beyond 10,000
    =====================  =====================  =====================  ====================
    D >= K - 1             ``free_norm_softmax``  ``free_norm_softmax``  ``squared_cosine``
    D < K - 1              ``free_norm_softmax``  ``power_cosine``       ``power_cosine``
    =====================  =====================  =====================  ====================

    Classes must compete, and an output must be able to say that it does not know: products with
    outputs of any length do both, at every D. Beyond 10,000 classes a step must not cost more with
    every class. From D = K - 1 on prototypes form a simplex, all others are equally far away, and
    Equation 1 is enough; with fewer dimensions a far class must not count for more than a near one.
    On good features, with neighbors on the sphere that are neighbors in the data
    (``frozen_with_prior``), that is all it takes: 1 - cos, or its root where there are more than 8
    classes for a dimension. Without classes it is Equation 1 too.

    >>> choose_loss(100, 10), choose_loss(100, 25, frozen_with_prior=True)
    (('free_norm_softmax', {}), ('power_cosine', {'q': 1.0}))
    >>> choose_loss(100, 5, frozen_with_prior=True)
    ('power_cosine', {'q': 0.5})
    >>> choose_loss(20_000, 256), choose_loss(20_000, 20_000), choose_loss(0, 8)
    (('power_cosine', {'q': 0.5}), ('squared_cosine', {}), ('squared_cosine', {}))
    """
    is_simplex = dim >= num_classes - 1
    if 0 < num_classes <= MAX_CLASSES_OF_SUM and (is_simplex or not frozen_with_prior):
        return "free_norm_softmax", {}
    if is_simplex:
        return "squared_cosine", {}
    return "power_cosine", {
        "q": 1.0 if frozen_with_prior and num_classes <= MAX_PER_AXIS * dim else 0.5
    }


def uses_prior(
    class_counts: Sequence[int], num_ranges: int, dim: int, loss: str, *, frozen: bool = False
) -> bool:
    """Return whether to place prototypes by a data-driven prior: where the one class task has no
    room for a simplex.

    Fixed points in few dimensions are hard to reach from where the data put the classes, unless
    neighbors on the sphere are neighbors in the data. From scratch Equation 1 gains from it, too
    (``reproduction/reports/table3.md``), but where a loss of angles alone is asked for, as the
    paper's is, prototypes are placed as the paper does, without data.

    >>> cases = (0, 99), (0, 10), (1, 10)
    >>> [uses_prior([100], ranges, dim, "free_norm_softmax") for ranges, dim in cases]
    [False, True, False]
    """
    alone = len(class_counts) == 1 and not num_ranges
    gains = frozen or loss in (
        "auto",
        "free_norm_softmax",
    )  # which is what "auto" is for so many classes
    return alone and gains and dim + 1 < class_counts[0] <= MAX_CLASSES_OF_PRIOR


def choose_prior_method(
    num_classes: int, dim: int, *, frozen: bool = False
) -> Literal["auto", "project"]:
    """Return how prototypes follow a data-driven prior: by its axes where there is no room for a
    simplex.

    Features that do not change are learned from best where only the order of its similarities is
    kept (Equation 6).

    >>> choose_prior_method(100, 10), choose_prior_method(100, 99)
    ('project', 'auto')
    >>> choose_prior_method(100, 10, frozen=True)
    'auto'
    """
    return "project" if dim < num_classes - 1 and not frozen else "auto"


def choose_margin(kind: str, loss: str, *, has_classes: bool) -> float:
    """Return how far numbers stay from the poles: 0.1 where they share a sphere with classes, else
    0.

    Equation 1 goes without, as in the paper. ``kind`` is that of the space.
    """
    meets_classes = kind == "sphere" and has_classes and loss != "squared_cosine"
    return MARGIN if meets_classes else 0.0


def choose_rate(
    loss: str,
    inputs: InputKind,
    reduction: Literal["sum", "mean"] | None = None,
    *,
    num_classes: int = 1,
    num_ranges: int = 0,
    on_sphere: bool = True,
) -> tuple[Literal["sum", "mean"], float]:
    """Return how the losses of a batch become one, and the learning rate.

    Parameters
    ----------
    loss : str
        The name of a class loss; of numbers alone "squared_cosine" or "absolute"; and off the
        sphere "squared" or "absolute".
    inputs : {"rows", "wide rows", "binned rows", "sparse rows", "images"}
        What the network gets; rows are binned where :func:`choose_bins` says so, and wide from 256
        columns on.
    reduction : {"sum", "mean"}, optional
        Where it is not for this function to choose.
    num_classes, num_ranges : int
        Of the largest class task, 0 where there is none; and how many numbers are predicted.
    on_sphere : bool, default True
        A plain number, whose squared error no sphere bounds, diverges at the rate of one that is.

    >>> choose_rate("squared_cosine", "images")
    ('sum', 0.01)
    >>> choose_rate("free_norm_softmax", "images", num_ranges=1)
    ('mean', 0.1)
    """
    if loss == "squared_cosine" and (num_classes or inputs == "images"):
        return ("mean", OTHER_RATE) if reduction == "mean" else ("sum", SUM_RATE)
    if reduction == "sum":
        return "sum", SUM_RATE
    if num_ranges and not on_sphere:
        return "mean", PLAIN_NUMBER_RATES[loss]
    if inputs in ("sparse rows", "binned rows") and loss in ROW_LOSSES:
        return "mean", SPARSE_RATE if inputs == "sparse rows" else BINNED_RATE
    if num_ranges and num_classes:
        return "mean", JOINT_RATE
    if inputs in ("rows", "wide rows") and loss in ROW_LOSSES:
        return "mean", ROW_RATE
    return "mean", MEAN_RATES.get(loss, OTHER_RATE)


def choose_steps(num_examples: int, inputs: InputKind) -> tuple[int, int]:
    """Return the number of epochs and the batch size.

    Images come in batches of 128, for 20 epochs; rows of a table in equal batches of at most 64,
    for 15, or 128 where they are binned and 256 from 20,000 on; sparse ones of at most 256, for 10:
    a step changes every weight, however few entries its rows have. There are more epochs where that
    would be fewer than 60 steps, or 300 of rows.

    >>> choose_steps(50_000, "images"), choose_steps(1437, "rows"), choose_steps(142, "rows")
    ((20, 128), (15, 63), (100, 48))
    >>> choose_steps(10_003, "sparse rows")
    (10, 251)
    >>> choose_steps(6000, "binned rows"), choose_steps(25_600, "binned rows")
    ((15, 128), (15, 256))
    """
    epochs, largest = BATCHES[inputs]
    if inputs == "binned rows" and num_examples >= MANY_ROWS:
        largest *= 2
    steps = math.ceil(num_examples / largest)
    batch_size = largest if inputs == "images" else math.ceil(num_examples / steps)
    return max(epochs, math.ceil(MIN_STEPS[inputs] / steps)), batch_size


DECAYS: dict[str, float] = {"images": 1e-4, "sparse rows": 1e-3, "wide rows": HEAD_DECAY}


def choose_weight_decay(num_examples: int, inputs: InputKind, num_classes: int = 1) -> float:
    """Return the weight decay: for images the paper's, for rows the more the fewer they are.

    Like a prior over the weights it counts as much as two examples, within bounds; six where there
    are only numbers, whose noise a network follows sooner. ``num_classes`` are those of the largest
    class task, 0 where there is none.

    >>> [choose_weight_decay(n, "rows") for n in (100, 1000, 50_000)]
    [0.006, 0.002, 0.0001]
    >>> choose_weight_decay(1000, "rows", 0)
    0.006
    >>> [choose_weight_decay(10_000, kind) for kind in ("sparse rows", "wide rows", "images")]
    [0.001, 0.003, 0.0001]
    """
    if inputs in DECAYS:
        return DECAYS[inputs]
    examples, most = (2, 6e-3) if num_classes else (6, 2e-2)
    return min(most, max(1e-4, examples / num_examples))


def choose_scaling(
    standardize: str, *, sparse: bool
) -> Literal["binned", "robust", "columns", "global", "none"]:
    """Return how the columns of a table are scaled: each by itself, or where they are sparse all by
    one number.

    The columns of a sparse table, such as counts of words, are of one kind, and rare ones would
    grow the largest.

    >>> choose_scaling("auto", sparse=False), choose_scaling("auto", sparse=True)
    ('binned', 'global')
    >>> choose_scaling("none", sparse=True)
    'none'
    """
    if standardize == "auto":
        return "global" if sparse else "binned"
    return standardize  # type: ignore[return-value]  # checked by whoever takes it from a user


def choose_bins(num_rows: int, num_columns: int) -> int:
    """Return the bins of each column of numbers in a dense table: one for every 1,000 rows, 12 at
    most.

    With fewer than 4,000 rows there are none, nor where a table is so wide that bins would be most
    of the work.

    >>> [choose_bins(rows, 7) for rows in (3000, 6000, 50_000)], choose_bins(50_000, 784)
    ([0, 6, 12], 0)
    """
    bins = min(MOST_BINS, num_rows // ROWS_PER_BIN, MOST_BIN_COLUMNS // max(1, num_columns))
    return bins if bins >= FEWEST_BINS else 0


def choose_new_class_settings(num_examples: int, inputs: InputKind) -> dict[str, Any]:
    """Return how to train classes that are added: batches of 32, since so few examples make too few
    larger ones.

    10 epochs do, more where those are fewer than 300 steps. On sparse rows a higher rate forgets
    the old classes, of which a replay has few words.

    >>> choose_new_class_settings(320, "images")
    {'epochs': 30, 'lr': 0.1, 'batch_size': 32, 'reduction': 'mean'}
    """
    epochs = max(10, math.ceil(MIN_STEPS["rows"] / math.ceil(num_examples / 32)))
    return {
        "epochs": epochs,
        "lr": 0.03 if inputs == "sparse rows" else 0.1,
        "batch_size": 32,
        "reduction": "mean",
    }


def choose_image_size(side: float) -> tuple[int, int | None]:
    """Return the height and width that a network gets, and the shorter side before the center is
    cut out.

    ``side`` is the median shorter side of the images. Small ones stay as they are (None: nothing is
    cut off), since enlarging them multiplies the work and adds no detail; photographs are scaled to
    224 pixels at most.

    >>> choose_image_size(32), choose_image_size(100), choose_image_size(1200)
    ((32, None), (100, 114), (224, 256))
    """
    size = max(8, min(round(side), IMAGE_SIZE))
    return (size, None) if size <= SMALL_IMAGE else (size, round(size * 8 / 7))


def choose_augment(size: int, *, is_cut: bool) -> dict[str, Any]:
    """Return how training images are varied, by the names of ``hyperproto.data.Augment``.

    Small images, of which nothing is cut off, are shifted by an eighth of their size; of
    photographs, whose center is cut out otherwise, random parts are scaled.

    >>> choose_augment(32, is_cut=False), choose_augment(224, is_cut=True)
    ({'padding': 4, 'flip': True}, {'resized_crop': (0.08, 1.0), 'flip': True})
    """
    return {
        **({"resized_crop": PHOTO_CROP} if is_cut else {"padding": max(1, size // 8)}),
        "flip": True,
    }


def uses_pretrained(
    num_images: int, num_classes: int, channels: int, size: int | None = None
) -> bool:
    """Return whether to take a pretrained network and train only its last layers, where its weights
    are installed.

    So it is for color images of which there are fewer than 1,000 per class, where training from
    scratch is worse and slower. Numbers without classes count as ten classes. A ``size`` that the
    user chose must suit such a network.

    >>> uses_pretrained(2000, 20, 3), uses_pretrained(50_000, 10, 3), uses_pretrained(1500, 10, 1)
    (True, False, False)
    >>> uses_pretrained(2000, 20, 3, size=96), uses_pretrained(2000, 20, 3, size=32)
    (True, False)
    """
    return (
        channels == 3
        and num_images < MAX_PER_CLASS * (num_classes or 10)
        and (size or IMAGE_SIZE) > SMALL_IMAGE
    )


def choose_backbone(shape: Sequence[int], inputs: InputKind = "rows") -> tuple[str, dict[str, Any]]:
    """Return the name and the options of a network for inputs of a shape: a start that suits a
    small machine.

    ====================================  =======================
    input                                 network
    ====================================  =======================
    a row of a table                      ``mlp`` whose last layer sees the row, too, without a norm
    a wide row, as features are           ``feature-head``, as on a pretrained network
    a binned row, of many                 the same with two hidden layers and batch norm
    a sparse row                          ``mlp``; where it is wide, as texts are, with dropout
    gray, square, even, at most 16 px     ``digit-net``
    at most 40 px                         ``resnet-8``
    at most 80 px                         ``resnet-20``
    larger                                ``resnet-3463-small``
    ====================================  =======================

    The residual ones have ``feature_norm=True``, so that outputs do not start out in nearly one
    direction.

    >>> choose_backbone((3, 32, 32))
    ('resnet-8', {'channels': 3, 'feature_norm': True})
    """
    if inputs == "wide rows":
        return "feature-head", {"in_features": shape[0]}
    if len(shape) == 1:
        options: dict[str, Any] = {"skip": True, "norm": "none"}
        if inputs == "binned rows":
            options = {"hidden": BINNED_HIDDEN, "skip": True, "norm": "batch"}
        if inputs == "sparse rows":
            options = {"dropout": TEXT_DROPOUT} if shape[0] > TEXT_COLUMNS else {}
        return "mlp", {"in_features": shape[0], **options}
    channels, height, width = shape
    size = max(height, width)
    if channels == 1 and height == width <= 16 and size % 2 == 0:
        return "digit-net", {"size": size}
    name = "resnet-8" if size <= 40 else "resnet-20" if size <= 80 else "resnet-3463-small"
    return name, {"channels": channels, "feature_norm": True}
