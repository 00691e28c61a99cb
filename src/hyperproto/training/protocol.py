"""Settings that a recipe leaves open: a short schedule, or the paper's."""

from typing import Any

import torch

from hyperproto.training.recipe_values import Recipe

__all__ = ["paper_backbone", "settings_of"]

# paper: batch 128, in the authors' scripts 64 for the large images; rate 0.01, for OmniArt 0.001
PAPER_BATCH = {"cub-200-2011": 64, "omniart": 64}
PAPER_LR = {"omniart": 0.001}
PAPER_BACKBONES = {
    "cifar-100": "resnet-32",
    "cifar-100-uneven": "resnet-32",
    "imagenet-200": "resnet-32",
    "cub-200-2011": "resnet-3463",
    "omniart": "resnet-3463",
    "rotated-mnist": "rotated-mnist",
}
# the paper's, for a sum; the others, for a mean, did well on held-out images (past-tuning, past-joint)
LR_SUM, LR_MEAN = 0.01, {"softmax": 0.2, "free": 0.2, "cauchy": 0.1, "power": 1.0, "composite": 0.3}


def settings_of(recipe: Recipe) -> dict[str, Any]:
    """Return the keywords of :func:`~hyperproto.training.fit.fit`.

    What is given counts; then the protocol. The squared cosine loss is summed over the batch, at the paper's rate of
    0.01; all others are averaged, at rates from 0.1 to 1 (in the paper's protocol 0.01, too).
    """
    paper, reader = recipe.protocol == "paper", recipe.data["reader"]
    loss = recipe.loss if recipe.space == "sphere" else recipe.space
    loss = "squared" if loss == "auto" and paper else loss
    reduction = recipe.reduction or ("sum" if loss == "squared" else "mean")
    lr = PAPER_LR.get(reader, 0.01) if paper else LR_SUM if reduction == "sum" else LR_MEAN.get(loss, 0.1)
    return {
        "epochs": _or(recipe.epochs, 250 if paper else 20),
        "batch_size": _or(recipe.batch_size, PAPER_BATCH.get(reader, 128) if paper else 128),
        "lr": _or(recipe.lr, lr),
        "momentum": recipe.momentum,
        "weight_decay": recipe.weight_decay,
        "schedule": _or(recipe.schedule, "paper" if paper else "one-cycle"),
        "reduction": reduction,
        "seed": recipe.seed,
        "accumulate": recipe.accumulate,
        "patience": recipe.patience,
        "monitor": recipe.monitor,
        "mixed_precision": _or(recipe.mixed_precision, _where_it_pays()),
    }


def paper_backbone(reader: str, shape: tuple[int, ...]) -> str | None:
    """Return the network the paper used on a data set, or on the one most like it; None for a table."""
    if len(shape) == 1:
        return None
    return PAPER_BACKBONES.get(reader, "resnet-32" if shape[-1] <= 80 else "resnet-3463")


def _where_it_pays() -> str | None:
    """Return bf16 where the hardware computes in it; on a CPU it is slower."""
    return "bf16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False) else None


def _or(given: Any, rule: Any) -> Any:
    return rule if given is None else given
