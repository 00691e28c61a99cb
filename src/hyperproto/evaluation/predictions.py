"""A network's answers to a whole data set, with little more memory than the answers take."""

from dataclasses import dataclass, field
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from hyperproto._core.checks import check_integer
from hyperproto.data import Batches, as_dataset
from hyperproto.spaces import OutputSpace, Space, Targets
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.training.evaluate import add_terms, mean_terms, measure, outputs

__all__ = ["Answers", "Predictions", "predict_split", "score_name"]

UNNAMED = "target"  # what the one task of a space is called that takes and gives bare tensors


@dataclass(frozen=True, eq=False)
class Answers:
    """One task's answers.

    Attributes
    ----------
    predicted : Tensor, shape (n,)
        Class ids as int64, or numbers.
    targets : Tensor, shape (n,), or None
        What is true, where the data says so.
    top, top_scores : Tensor, shape (n, k), or None
        For classes of a space that gives scores: the k best, the predicted one first, and their cosines or logits.
    """

    predicted: Tensor
    targets: Tensor | None = None
    top: Tensor | None = None
    top_scores: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Predictions:
    """Answers by task, and the measures as training reports them.

    Attributes
    ----------
    tasks : dict of Answers
        One unnamed task is called "target".
    measures : dict of float
        What :func:`~hyperproto.training.evaluate.evaluate` returns; empty where the data has no targets.
    examples : int
        n.
    """

    tasks: dict[str, Answers]
    measures: dict[str, float]
    examples: int


@torch.no_grad()
def predict_split(
    network: nn.Module, space: OutputSpace, data: Any, *, batch_size: int = 512, top: int = 5
) -> Predictions:
    """Run a network over a data set in evaluation mode; every example once, the last uneven batch included.

    Of the scores of all classes only the ``top`` best of each example are kept.

    Parameters
    ----------
    network, space
        As :func:`~hyperproto.training.loading.load` gives them.
    data : pair (inputs, targets), Arrays, ImageData or Dataset
        Targets in the form the space takes; an empty dict where there are none.
    batch_size : int, default 512
        Measures agree to the bit with those of training where this is the same too.
    top : int, default 5
        How many classes to keep for each example.
    """
    top = check_integer(top, "top", at_least=1)
    dataset = as_dataset(data, name="data")
    batches = Batches(dataset, check_integer(batch_size, "batch_size", at_least=1), shuffle=False)
    gathered: dict[str, _Parts] = {}
    sums: dict[str, tuple[float, int]] = {}
    for z, targets in outputs(network, space, batches, Accelerator().device):
        predictions = space.predict(z)
        truth = _in_form(predictions, targets)
        if truth is not None:
            add_terms(sums, measure(predictions, truth))
        scores = space.scores(z) if isinstance(space, TaskSpace) else None
        for name, predicted in _by_name(predictions).items():
            target = None if truth is None else _by_name(truth)[name]
            score = None if scores is None else _by_name(scores)[name]
            gathered.setdefault(name, _Parts()).add(predicted, target, score, top)
    answers = {name: parts.joined() for name, parts in gathered.items()}
    return Predictions(answers, mean_terms(sums), batches.size)


def score_name(space: OutputSpace) -> str:
    """Return what the scores of a space are called."""
    return "cosine" if isinstance(space, Space) else "score"


@dataclass
class _Parts:
    """What the batches so far had to say about one task, on the CPU."""

    held: dict[str, list[Tensor]] = field(default_factory=dict)

    def add(self, predicted: Tensor, target: Tensor | None, scores: Tensor | None, top: int) -> None:
        self._keep("predicted", predicted)
        if target is not None:
            self._keep("targets", target)
        if scores is not None and scores.ndim == 2:
            # the predicted class first, whatever order topk gives equals
            lifted = scores.scatter(1, predicted[:, None], torch.inf)
            best = lifted.topk(min(top, scores.shape[1]), dim=1).indices
            self._keep("top", best)
            self._keep("top_scores", scores.gather(1, best))

    def joined(self) -> Answers:
        return Answers(**{name: torch.cat(parts) for name, parts in self.held.items()})

    def _keep(self, name: str, part: Tensor) -> None:
        self.held.setdefault(name, []).append(part.cpu())


def _by_name(values: Targets) -> dict[str, Tensor]:
    return {UNNAMED: values} if isinstance(values, Tensor) else dict(values)


def _in_form(predictions: Targets, targets: Targets) -> Targets | None:
    """Return targets in the form the predictions have; None where there are none."""
    if isinstance(targets, Tensor):
        return targets
    if not targets:
        return None
    if isinstance(predictions, Tensor) and len(targets) == 1:
        return next(iter(targets.values()))  # data by name, and a space with one unnamed task
    return targets
