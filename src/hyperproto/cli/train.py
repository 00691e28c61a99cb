"""``hyperproto train``: train on the digits with your own choices."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

__all__ = ["Train"]


@dataclass
class Train:
    """Train on scikit-learn's digits: ten classes, or five of them with their rotation."""

    data: Literal["digits", "rotated-digits"] = "digits"
    """Which task: the digit, or the digit and its angle."""

    space: Literal["sphere", "conventional"] = "sphere"
    """The sphere, or softmax and squared error."""

    dim: int = 10
    """Dimensions of the sphere."""

    loss: Literal["squared", "softmax"] = "squared"
    """On the sphere: the paper's squared cosine loss, or cross-entropy over scaled cosines."""

    margin: float = 0.0
    """Keeps regression targets away from the poles."""

    epochs: int = 20
    """Passes over the training images."""

    batch_size: int = 128
    """Examples a step."""

    lr: float = 0.2
    """Learning rate at the peak of the schedule, for the mean loss of a batch."""

    schedule: Literal["one-cycle", "paper", "constant"] = "one-cycle"
    """How the learning rate changes."""

    seed: int = 0
    """Fixes the split, the weights and the order."""

    folder: Annotated[Path | None, arg(aliases=["-o"])] = None
    """Store the run here; the folder must not exist or be empty."""

    def run(self) -> None:
        """Train and print the held-out measures."""
        from rich.console import Console

        from hyperproto.experiments.digits import train_digits
        from hyperproto.training.progress import describe

        result = train_digits(**vars(self))
        console = Console()
        console.print(f"Held out: {describe(result.metrics)}", highlight=False)
        if self.folder is None:
            console.print("Not stored; --folder RUN keeps the run.")
        else:
            console.print(f'Run: {self.folder}   network, space = hyperproto.load("{self.folder}")', soft_wrap=True)
