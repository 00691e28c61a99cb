"""What goes wrong in practice: each check takes the evidence of a run and yields findings."""

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from hyperproto.data.giveaway import Giveaway
from hyperproto.metrics import most_likely
from hyperproto.prototypes.explore import separation_bound
from hyperproto.spaces import OutputSpace
from hyperproto.spaces.output_space import by_name
from hyperproto.sphere import normalize
from hyperproto.tasks import indexed, numeric
from hyperproto.training import RunRecord
from hyperproto.training.outputs import baseline_metrics, mean_terms, measure, not_better

Severity = Literal["error", "warning", "note"]
FLAT = 0.02  # share of the first loss
# Tables 1 and 3 of the paper: of 65 % with 100 classes 63 are left in 25 dimensions, where 0.07 is
# possible; 51 in 10 (0.28), 29 in 5 (0.64) and 6 in 3 (0.93)
LIMITS: dict[Severity, float] = {"error": 0.8, "warning": 0.5, "note": 0.25}
GOOD_COSINE = 0.1
FEWEST_OUTPUTS = 8
LISTED = 5


@dataclass(frozen=True)
class Finding:
    """One thing that is, or may be, wrong with a run.

    Attributes
    ----------
    name : str
        Which finding, such as "collapsed outputs".
    severity : {"error", "warning", "note"}
        An "error" has ruined the run, a "warning" costs it something, a "note" is worth knowing.
    message : str
        What was found, in a sentence.
    advice : str
        What to do.
    evidence : dict
        The numbers behind it.
    """

    name: str
    severity: Severity
    message: str
    advice: str
    evidence: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SplitOutputs:
    """A network's outputs and predictions for a split of the data.

    Attributes
    ----------
    name : str
        "train" or "test".
    z : Tensor, shape (n, dim)
    predicted, targets : dict of Tensor, shape (n,)
        By task. Where an output has no direction the prediction is missing: -1, or NaN.
    """

    name: str
    z: Tensor
    predicted: dict[str, Tensor]
    targets: dict[str, Tensor]

    @property
    def finite(self) -> Tensor:
        """The outputs that are finite, shape (m, dim)."""
        return self.z[self.z.isfinite().all(dim=1)]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything findings are made of; ``splits`` is empty where there is no data."""

    record: RunRecord
    space: OutputSpace
    splits: tuple[SplitOutputs, ...] = ()
    giveaways: tuple[Giveaway, ...] = ()

    @property
    def losses(self) -> list[float]:
        """The training loss of each epoch; NaN where it was not a number."""
        losses = [line.get("loss") for line in self.record.history]
        return [math.nan if loss is None else float(loss) for loss in losses]

    @property
    def lr(self) -> float:
        """The largest learning rate."""
        stored = [line.get("lr") for line in self.record.history]
        rates = [rate for rate in stored or [self.record.settings.get("lr")] if rate is not None]
        return max(map(float, rates), default=math.nan)

    @property
    def on_sphere(self) -> tuple[SplitOutputs, ...]:
        """The splits, where outputs are on a sphere; in other spaces their direction means
        nothing.
        """
        return self.splits if self.space.on_sphere else ()

    def measure(self, split: SplitOutputs) -> dict[str, float]:
        """Return accuracies and mean errors on a split."""
        return mean_terms(measure(self.space, split.predicted, split.targets))


def loss_not_finite(run: Evidence) -> Iterator[Finding]:
    """Find a loss that was not a number, or the batch it left behind."""
    losses = run.losses
    failed = (run.record.folder / "failed_batch.safetensors").is_file() and not run.record.finished
    bad = [epoch for epoch, loss in enumerate(losses) if not math.isfinite(loss)]
    if failed or bad:
        epoch = (bad[0] if bad else len(losses)) + 1
        yield Finding(
            "loss not finite",
            "error",
            f"The loss was not finite in epoch {epoch}.",
            "Divide lr by 10, clip gradients, or search failed_batch.safetensors for NaN and huge "
            "values.",
            {"epoch": epoch, "lr": run.lr},
        )


def loss_course(run: Evidence) -> Iterator[Finding]:
    """Find a loss that ends above its beginning, hardly moves, or goes as fast in its last fifth as
    on average.
    """
    losses, lr = run.losses, run.lr
    if len(losses) < 4 or not all(map(math.isfinite, losses)):
        return
    third, fifth = max(1, len(losses) // 3), max(1, len(losses) // 5)
    first, last = sum(losses[:third]) / third, sum(losses[-third:]) / third
    fall = 1 - min(losses) / losses[0] if losses[0] > 0 else math.inf
    average = (losses[0] - losses[-1]) / (len(losses) - 1)
    pace = (losses[-1 - fifth] - losses[-1]) / fifth
    if last > 1.1 * first:
        yield Finding(
            "rising loss",
            "error",
            f"The loss rises: {first:.4g} over the first epochs, {last:.4g} over the last.",
            f"The learning rate {lr:g} is far too high; divide it by 10.",
            {"first": first, "last": last, "lr": lr},
        )
    elif fall < FLAT:
        least = min(losses)
        yield Finding(
            "flat loss",
            "warning",
            f"The loss hardly moves: {losses[0]:.4g} in the first epoch, {least:.4g} at best.",
            f"Multiply the learning rate {lr:g} by 10; if that changes nothing, divide it by 10 "
            "instead and check that inputs are scaled and targets belong to them.",
            {"first": losses[0], "least": least, "fall": fall, "lr": lr},
        )
    elif 0 < FLAT * losses[0] <= losses[0] - losses[-1] and pace >= 0.8 * average:
        yield Finding(
            "loss still falling",
            "note",
            f"The loss still falls by {pace:.4g} per epoch at the end, {average:.4g} on average.",
            "Train for more epochs, or with a higher learning rate.",
            {"pace": pace, "average": average, "epochs": len(losses), "lr": lr},
        )


def dimension_too_small(run: Evidence) -> Iterator[Finding]:
    """Find prototypes too close together to separate outputs well."""
    for task, prototypes in by_name(run.space.prototypes).items():
        certificate, count, dim = prototypes.certificate, prototypes.num_classes, prototypes.dim
        cosine, bound = certificate.max_cosine, certificate.bound
        by_prior = certificate.prior_agreement is not None
        evidence = {"max_cosine": cosine, "bound": bound, "dim": dim, "classes": count}
        placed = f"{count:,} prototypes in {dim} dimensions"
        about = f"{task}: the nearest of {placed} have cosine {cosine:.3f}"
        severity = next((name for name, limit in LIMITS.items() if bound > limit), None)
        if severity is not None:
            # the bound falls as dimensions are added
            dims = range(dim + 1, max(count, dim + 1) + 1)
            few = bisect_left(dims, True, key=lambda d: separation_bound(count, d) <= GOOD_COSINE)
            how = ", placed by a prior" if by_prior else ""
            yield Finding(
                "dimension too small",
                severity,
                f"{about}{how}, and none could do better than {bound:.3f}.",
                f"Use {dims[few]} dimensions or more: there {GOOD_COSINE} is possible.",
                evidence | {"enough": dims[few]},
            )
        elif cosine > max(bound + 0.2, LIMITS["warning"]) and not by_prior:
            yield Finding(
                "prototypes badly separated",
                "warning",
                f"{about}; {bound:.3f} might be possible.",
                "Place them with hp.place, or in more dimensions.",
                evidence,
            )


def zero_norms(run: Evidence) -> Iterator[Finding]:
    """Find outputs that point nowhere."""
    for split in run.on_sphere:
        finite, n = split.z.isfinite().all(dim=1), len(split.z)
        zero = split.z.abs().amax(dim=1) <= torch.finfo(split.z.dtype).tiny
        count, broken = int((zero & finite).sum()), int((~finite).sum())
        if count or broken:
            yield Finding(
                "zero norms",
                "error",
                f"Of {n:,} {split.name} outputs {count:,} are zero and {broken:,} not finite: they "
                "point nowhere and have no prediction.",
                "Remove the ReLU after the last layer, give that layer a bias, and search the "
                "inputs for NaN.",
                {"zero": count, "not_finite": broken, "outputs": n},
            )
            return


def relu_before_sphere(run: Evidence) -> Iterator[Finding]:
    """Find outputs that are nowhere negative: of 2^dim corners of the sphere they reach one."""
    for split in run.on_sphere:
        z = split.finite
        if len(z) >= FEWEST_OUTPUTS and (least := float(z.min())) >= 0:
            zeros = float((z == 0).double().mean())
            yield Finding(
                "a ReLU before the sphere",
                "error",
                f"None of {z.numel():,} output values is negative ({100 * zeros:.0f} % are exactly "
                "0), so most prototypes cannot be reached.",
                "Let the network end in a linear layer, without ReLU, softmax or sigmoid.",
                {"least": least, "share_zero": zeros, "outputs": len(z)},
            )
            return


def collapsed_outputs(run: Evidence) -> Iterator[Finding]:
    """Find outputs that all lie in one direction, or predictions that are all one class."""
    for split in run.on_sphere:
        z, tasks = split.finite, run.space.tasks
        present = [target[tasks[name].present(target)] for name, target in split.targets.items()]
        if len(z) < FEWEST_OUTPUTS or all(
            len(torch.unique(target, dim=0)) < 2 for target in present
        ):
            continue
        length = float(normalize(z.double()).mean(dim=0).norm())
        classes = {name: split.predicted[name] for name in indexed(tasks)}
        one = [name for name, ids in classes.items() if len(torch.unique(ids[ids >= 0])) == 1]
        if length >= 0.95 or one:
            where = f"; every prediction of {one[0]} is the same class" if one else ""
            yield Finding(
                "collapsed outputs",
                "error",
                f"The mean of {len(z):,} unit outputs has length {length:.3f}; 1 is all in one "
                f"place{where}.",
                "Lower the learning rate, check that inputs are scaled and differ, and that labels "
                "belong to them; with few examples of most classes, weigh classes (--class-weight "
                "balanced).",
                {"mean_length": length, "one_class": bool(one), "outputs": len(z)},
            )
            return


def never_predicted(run: Evidence) -> Iterator[Finding]:
    """Find classes with examples that are never predicted."""
    for split in run.splits[:1]:
        for name, task in indexed(run.space.tasks).items():
            support, predicted = (
                ids[ids >= 0].long().bincount(minlength=task.num_classes)
                for ids in (most_likely(split.targets[name]), split.predicted[name])
            )
            never, seen = (
                ((support >= 5) & (predicted == 0)).nonzero()[:, 0],
                int(support.count_nonzero()),
            )
            if len(never):
                names = ", ".join(map(str, task.decode(never[:LISTED])))
                more = ", ..." if len(never) > LISTED else ""
                yield Finding(
                    "classes never predicted",
                    "warning",
                    f"{name}: {len(never):,} of {seen:,} classes are never predicted on "
                    f"{split.name} data: {names}{more}.",
                    "Train longer, weigh them where they are rare (--class-weight balanced), and "
                    "check their labels.",
                    {"classes": len(never), "seen": seen},
                )


def targets_at_bound(run: Evidence) -> Iterator[Finding]:
    """Find numbers many of which are at a bound or beyond it: there they cannot be distinguished."""
    for split in run.splits[:1]:
        for name, task in numeric(run.space.tasks).items():
            values, (least, most) = split.targets[name], task.bounds
            values, slack = values[task.present(values)].double(), 1e-6 * (most - least)
            low, high = (
                float(beyond.double().mean()) if len(values) else 0.0
                for beyond in (values <= least + slack, values >= most - slack)
            )
            if max(low, high) > 0.1:
                yield Finding(
                    "targets at a bound",
                    "warning",
                    f"{name}: {100 * low:.0f} % of the {split.name} values are at or below "
                    f"{least:g}, {100 * high:.0f} % at or above {most:g}.",
                    "Widen the range to hold all values, give it a margin such as 0.1, or take "
                    "logarithms of values that are mostly small; if the bound is a limit of the "
                    "instrument, those values are not known.",
                    {"at_low": low, "at_high": high, "low": least, "high": most},
                )


def train_test_gap(run: Evidence) -> Iterator[Finding]:
    """Find a network that is much better on its training data."""
    if len(run.splits) < 2:
        return
    both = [run.measure(split) for split in run.splits]
    for name, task in run.space.tasks.items():
        train, test = (measures[run.space.metric_name(name, task.metric)] for measures in both)
        if task.higher_is_better:
            large = train - test > 0.15
            about, values = task.metric, f"{100 * train:.1f} and {100 * test:.1f} %"
        else:
            truth = run.splits[-1].targets[name]
            least, most = truth[task.present(truth)].double().aminmax()
            spread = float(most - least)
            large = test - train > 0.05 * spread and test > 2 * train
            about, values = "mean error", f"{train:.4g} and {test:.4g}"
        if large:
            yield Finding(
                "train/test gap",
                "warning",
                f"{name}: the {about} on train and test data is {values}.",
                "Augment images, raise weight_decay, use a smaller network or more data, or use "
                "the best epoch.",
                {"train": train, "test": test},
            )


def no_better_than_baseline(run: Evidence) -> Iterator[Finding]:
    """Find measures that the baseline reaches as well."""
    for split in run.splits[-1:]:
        measures, baseline = run.measure(split), baseline_metrics(run.space, split.targets)
        for name in not_better(measures, baseline):
            value, other = measures[name], baseline[name]
            yield Finding(
                "no better than the baseline",
                "error",
                f"{name} on {split.name} data is {value:.4g}; always the same prediction, the "
                f"baseline, gives {other:.4g}.",
                "Check that labels belong to their inputs and inputs are scaled; train longer, or "
                "at another rate.",
                {"measure": value, "baseline": other},
            )


def given_away(run: Evidence) -> Iterator[Finding]:
    """Find columns that alone predict a target nearly without error."""
    for found in run.giveaways:
        yield Finding(
            "a column gives the target away",
            "warning",
            found.message,
            found.advice,
            {"share": found.share},
        )


FROM_FILES = {
    "a loss that is not finite": loss_not_finite,
    "a loss that rises, stays flat or still falls at the end": loss_course,
    "a dimension too small for the classes": dimension_too_small,
}
FROM_DATA = {
    "zero norms": zero_norms,
    "a ReLU before the sphere": relu_before_sphere,
    "collapsed outputs": collapsed_outputs,
    "classes never predicted": never_predicted,
    "targets at a bound": targets_at_bound,
    "a gap between train and test": train_test_gap,
    "predictions no better than the baseline": no_better_than_baseline,
    "columns that give the target away": given_away,
}
