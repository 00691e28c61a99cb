"""A network's answers to a whole data set, with little more memory than the answers take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from hyperproto._core.checks import check_integer
from hyperproto.data import Batches, as_dataset
from hyperproto.evaluation.confidence import Confidence, TaskCalibration
from hyperproto.spaces import Classes, OutputSpace, Space, Targets
from hyperproto.spaces.space import PrototypeHead
from hyperproto.spaces.task_space import TaskSpace
from hyperproto.spaces.top_k import TopK
from hyperproto.training.evaluate import add_terms, mean_terms, measure
from hyperproto.training.outputs import network_outputs

__all__ = [
    "Answers",
    "Predictions",
    "by_name",
    "in_form",
    "lengths",
    "predict_split",
    "score_name",
    "task_axes",
]

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
    confidence : Confidence or None
        What a calibration says about each answer, its probabilities of the k best.
    """

    predicted: Tensor
    targets: Tensor | None = None
    top: Tensor | None = None
    top_scores: Tensor | None = None
    confidence: Confidence | None = None


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
    network: nn.Module,
    space: OutputSpace,
    data: Any,
    *,
    batch_size: int = 512,
    top: int = 5,
    calibration: Mapping[str, TaskCalibration] | None = None,
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
    calibration : mapping of ClassCalibration or ConformalInterval, optional
        By task; says how sure the answers are.
    """
    top = check_integer(top, "top", at_least=1)
    dataset = as_dataset(data, name="data")
    batches = Batches(dataset, check_integer(batch_size, "batch_size", at_least=1), shuffle=False)
    gathered: dict[str, _Parts] = {}
    fitted = calibration or {}
    sums: dict[str, tuple[float, int]] = {}
    device = Accelerator().device
    space.to(device)
    for z, targets in network_outputs(network, batches, device=device):
        predictions = space.predict(z)
        truth = in_form(predictions, targets)
        if truth is not None:
            add_terms(sums, measure(predictions, truth))
        for name, predicted in by_name(predictions).items():
            target = None if truth is None else by_name(truth)[name]
            scores, best = _rank(space, name, z, predicted, top, all_scores=name in fitted)
            parts = gathered.setdefault(name, _Parts())
            parts.add(predicted, target, best)
            if name in fitted:
                ids = None if best is None else best.ids.cpu()
                norms = lengths(space, name, z)
                parts.confidence.append(fitted[name].describe(predicted.cpu(), scores, norms, ids))
    answers = {name: parts.joined() for name, parts in gathered.items()}
    return Predictions(answers, mean_terms(sums), batches.size)


def _rank(
    space: OutputSpace, task: str, z: Tensor, predicted: Tensor, top: int, *, all_scores: bool = False
) -> tuple[Tensor | None, TopK | None]:
    """Return the scores of all classes and the ``top`` best, the predicted one first; None where there are none.

    Of so many classes that ``predict`` looks at them in blocks, all scores are only made where they are asked for.
    """
    if not isinstance(space, TaskSpace) or not isinstance(space.tasks[task], Classes):
        return None, None
    head: Any = space.heads[space.names.index(task)]
    if isinstance(head, PrototypeHead) and head.many(z):
        return head.scores(z) if all_scores else None, head.top_k(z, top)
    scores: Tensor = head.scores(z)
    # the predicted class first, whatever order topk gives equals
    ids = scores.scatter(1, predicted[:, None], torch.inf).topk(min(top, scores.shape[1]), dim=1).indices
    return scores, TopK(scores.gather(1, ids), ids)


def score_name(space: OutputSpace) -> str:
    """Return what the scores of a space are called."""
    return "cosine" if isinstance(space, Space) else "score"


@dataclass
class _Parts:
    """What the batches so far had to say about one task, on the CPU."""

    held: dict[str, list[Tensor]] = field(default_factory=dict)
    confidence: list[Confidence] = field(default_factory=list)

    def add(self, predicted: Tensor, target: Tensor | None, best: TopK | None) -> None:
        """Keep the answers to a batch."""
        self.keep("predicted", predicted)
        if target is not None:
            self.keep("targets", target)
        if best is not None:
            self.keep("top", best.ids)
            self.keep("top_scores", best.values)

    def joined(self) -> Answers:
        confidence = Confidence.join(self.confidence) if self.confidence else None
        return Answers(**{name: torch.cat(parts) for name, parts in self.held.items()}, confidence=confidence)

    def keep(self, name: str, part: Tensor) -> None:
        """Add what a batch had to say."""
        self.held.setdefault(name, []).append(part.cpu())


def lengths(space: OutputSpace, task: str, z: Tensor) -> Tensor:
    """Return the lengths of the outputs on the axes that a task reads, shape (n,) of float64 on the CPU."""
    part: Tensor = z[:, task_axes(space, task)].cpu().double()
    return part.square().sum(dim=1).sqrt()


def task_axes(space: OutputSpace, task: str) -> slice:
    """Return the axes that a task reads; all of them where the space does not say."""
    heads: Any = space.heads if isinstance(space, TaskSpace) else ()
    held = [head.axes for name, head in zip(getattr(space, "names", ()), heads, strict=False) if name == task]
    return held[0] if held else slice(0, space.dim)


def by_name(values: Targets) -> dict[str, Tensor]:
    """Return tensors by task, whatever form they came in."""
    return {UNNAMED: values} if isinstance(values, Tensor) else dict(values)


def in_form(predictions: Targets, targets: Targets) -> Targets | None:
    """Return targets in the form the predictions have; None where there are none."""
    if isinstance(targets, Tensor):
        return targets
    if not targets:
        return None
    if isinstance(predictions, Tensor) and len(targets) == 1:
        return next(iter(targets.values()))  # data by name, and a space with one unnamed task
    return targets
