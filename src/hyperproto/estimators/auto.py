"""What a user gets who does not choose: dimension, loss, and prototypes without a long search."""

import torch
from torch import Tensor

from hyperproto._core.checks import check_integer
from hyperproto._core.registry import choose
from hyperproto.codes import known_max_cosine
from hyperproto.codes.best import MATRIX_POINTS
from hyperproto.losses import LOSSES, ClassLoss
from hyperproto.priors import from_data
from hyperproto.prototypes import Prototypes, place

__all__ = ["choose_dim", "choose_loss", "choose_range_dim", "choose_steps", "lay_out_classes", "scale_of"]

SIMPLEX_UP_TO = 64  # dimensions: so far every pair of classes is equally far apart
WIDEST = 256
CLOSEST = 0.1  # the largest cosine between two classes that `dim="auto"` accepts beyond that
ROWS, PASSES, LEAST_STEPS = 64, 15, 60  # in a batch, over the data, and altogether; by results/estimators-*.csv
UNFITTED_SCALE = 10.0  # of the softmax of probabilities, where neither a loss nor held-out data gives one
SOFTMAX_UP_TO = 1000  # classes: beyond, looking at all of them costs more than the network


def choose_dim(dim: int | str, num_classes: int) -> int:
    """Return the number of axes for K classes.

    "auto" is K - 1 up to 64 axes, where the simplex fits and all pairs are equally far apart. Beyond that it is the
    smallest number from 64 on for which a known code keeps the maximum cosine at 0.1 or below, at most 256.

    >>> [choose_dim("auto", num_classes) for num_classes in (2, 3, 10, 65, 100, 1000, 10_000)]
    [2, 2, 9, 64, 64, 64, 178]
    """
    if not isinstance(dim, str):
        return check_integer(dim, "dim", at_least=2)
    choose(dim, {"auto": 0}, what="dimension")
    if num_classes - 1 <= SIMPLEX_UP_TO:
        return max(2, num_classes - 1)
    wide_enough = (d for d in range(SIMPLEX_UP_TO, WIDEST) if known_max_cosine(num_classes, d) <= CLOSEST + 1e-9)
    return next(wide_enough, WIDEST)


def choose_range_dim(dim: int | str, numbers: int) -> int:
    """Return the number of axes where only numbers are asked for; "auto" is one for each and seven more.

    Two would do, and do not learn well: on a circle an output on the wrong side has no way round the poles.

    >>> choose_range_dim("auto", 1)
    8
    """
    if not isinstance(dim, str):
        return check_integer(dim, "dim", at_least=numbers + 1)
    choose(dim, {"auto": 0}, what="dimension")
    return numbers + 7


def choose_loss(loss: str | ClassLoss, num_classes: int, *, beside_numbers: bool = False) -> ClassLoss:
    """Return the loss for a class task.

    "auto" is cosine softmax up to 1,000 classes, which learns in fewer steps, and the paper's squared cosine beyond,
    whose cost does not depend on the number of classes. Beside numbers it is the squared cosine too: one loss for
    both, where cosine softmax would be so much the larger that numbers are learned late.
    """
    if not isinstance(loss, str):
        return loss
    if loss == "auto":
        few = num_classes <= SOFTMAX_UP_TO and not beside_numbers
        loss = "cosine_softmax" if few else "squared_cosine"
    built: ClassLoss = choose(loss, LOSSES, what="loss")()
    return built


def scale_of(loss: ClassLoss, num_classes: int) -> float:
    """Return what cosines are multiplied by for probabilities until held-out data says better."""
    return loss.cosine_scale(num_classes) or UNFITTED_SCALE


def choose_steps(epochs: int | str, batch_size: int | str, n: int) -> tuple[int, int]:
    """Return the number of passes and the rows in a batch, for n rows.

    By "auto" batches are equal parts of at most 64 rows, and there are 15 passes, or as many as give 60 steps.

    >>> choose_steps("auto", "auto", 1437), choose_steps("auto", "auto", 142), choose_steps(3, 1000, 142)
    ((15, 63), (20, 48), (3, 142))
    """
    if isinstance(batch_size, str):
        choose(batch_size, {"auto": 0}, what="batch size")
        batch_size = -(-n // -(-n // ROWS))
    rows = min(check_integer(batch_size, "batch_size", at_least=1), n)
    if not isinstance(epochs, str):
        return check_integer(epochs, "epochs", at_least=1), rows
    choose(epochs, {"auto": 0}, what="number of epochs")
    return max(PASSES, -(-LEAST_STEPS // -(-n // rows))), rows


def lay_out_classes(num_classes: int, dim: int, seen: tuple[Tensor, Tensor] | None = None) -> Prototypes:
    """Place K prototypes; where they are more than a simplex holds, with a look at inputs and labels that are given.

    Fixed points in few dimensions are hard to reach from where the data put the classes, unless neighbours on the
    sphere are neighbours in the data. Without a look it is a known code where one separates well enough, else a short
    search.
    """
    if seen is not None and dim + 1 < num_classes <= MATRIX_POINTS and len(torch.unique(seen[1])) > 2:
        prior = from_data(*seen, num_classes=num_classes, missing="free")
        return place(num_classes, dim, prior=prior, effort="fast", workers=1, progress=False)
    known = num_classes <= dim + 1 or known_max_cosine(num_classes, dim) <= CLOSEST + 1e-9
    return place(num_classes, dim, method="codes" if known else "auto", effort="fast", progress=False)
