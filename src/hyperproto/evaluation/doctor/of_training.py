"""Findings in the losses of a run's epochs: a learning rate that is far off, or a run that ended too early."""

import math

from hyperproto.evaluation.doctor.finding import Finding
from hyperproto.evaluation.doctor.seen import Seen

__all__ = ["flat_loss", "loss_not_finite", "rising_loss", "still_falling"]

FEWEST = 4  # epochs to speak of a course
RISE, FLAT, PACE = 1.1, 0.02, 0.8


def loss_not_finite(seen: Seen) -> list[Finding]:
    """Find a loss that was not a number, or the batch it left behind."""
    losses = seen.losses()
    failed = (seen.record.folder / "failed_batch.safetensors").is_file() and not seen.record.finished
    bad = [epoch for epoch, loss in enumerate(losses) if not math.isfinite(loss)]
    if not failed and not bad:
        return []
    return [
        Finding(
            "loss not finite",
            "error",
            f"The loss was not finite in epoch {(bad[0] if bad else len(losses)) + 1}.",
            "Divide lr by 10, clip gradients, or look for NaN and huge values in failed_batch.safetensors.",
            {"epoch": float((bad[0] if bad else len(losses)) + 1), "lr": _rate(seen)},
        )
    ]


def rising_loss(seen: Seen) -> list[Finding]:
    """Find a loss that ends above its beginning."""
    losses = seen.losses()
    if not _has_course(losses):
        return []
    third = max(1, len(losses) // 3)
    first, last = sum(losses[:third]) / third, sum(losses[-third:]) / third
    if last <= RISE * first:
        return []
    return [
        Finding(
            "rising loss",
            "error",
            f"The loss rises: {first:.4g} over the first epochs, {last:.4g} over the last.",
            f"The learning rate {_rate(seen):g} is far too high; divide it by 10.",
            {"first": first, "last": last, "lr": _rate(seen)},
        )
    ]


def flat_loss(seen: Seen) -> list[Finding]:
    """Find a loss that hardly moves."""
    losses = seen.losses()
    if not _has_course(losses) or losses[0] <= 0 or rising_loss(seen):
        return []
    fall = 1 - min(losses) / losses[0]
    if fall >= FLAT:
        return []
    return [
        Finding(
            "flat loss",
            "warning",
            f"The loss hardly moves: {losses[0]:.4g} in the first epoch, {min(losses):.4g} at best.",
            f"Multiply the learning rate {_rate(seen):g} by 10; if that changes nothing, divide it by 10 instead and "
            "check that inputs are scaled and targets belong to them.",
            {"first": losses[0], "least": min(losses), "fall": fall, "lr": _rate(seen)},
        )
    ]


def still_falling(seen: Seen) -> list[Finding]:
    """Find a run whose last fifth goes as fast as its average: it was ended early, or its rate is too low."""
    losses = seen.losses()
    if not _has_course(losses) or losses[0] <= 0 or losses[0] - losses[-1] < FLAT * losses[0]:
        return []
    last = max(1, len(losses) // 5)
    average = (losses[0] - losses[-1]) / (len(losses) - 1)
    pace = (losses[-1 - last] - losses[-1]) / last
    if pace < PACE * average:
        return []
    return [
        Finding(
            "loss still falling",
            "note",
            f"The loss still falls by {pace:.4g} an epoch in the end, of {average:.4g} on average.",
            "Train for more epochs, or with a higher learning rate.",
            {"pace": pace, "average": average, "epochs": float(len(losses)), "lr": _rate(seen)},
        )
    ]


def _has_course(losses: list[float]) -> bool:
    return len(losses) >= FEWEST and all(math.isfinite(loss) for loss in losses)


def _rate(seen: Seen) -> float:
    held = [line.get("lr") for line in seen.record.history] or [seen.record.settings.get("lr")]
    rates = [float(rate) for rate in held if isinstance(rate, int | float)]
    return max(rates, default=float("nan"))
