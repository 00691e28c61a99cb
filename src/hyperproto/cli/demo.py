"""``hyperproto demo``: classify and regress on one sphere, and draw it."""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from hyperproto.cli.console import print_table

if TYPE_CHECKING:
    from torch import Tensor

    from hyperproto.data import Arrays
    from hyperproto.report import SphereView
    from hyperproto.spaces import OutputSpace
    from hyperproto.training import Run

SPACES = ("S², the paper's loss", "S², the default losses", "softmax + squared error")
EPOCHS = 3
COPIES = 40  # how often each training image is turned: 27,080 images
# for the mean loss; near the best of each space on the validation part
# (benchmarks/rotated_digits.py)
LR = 0.4
SIZE, SHOWN = 8, 24  # pixels the network sees, pixels people see


@dataclass
class Demo:
    """Train the paper's joint task and a multi-task baseline on rotated digits, and draw the
    sphere.
    """

    output: Annotated[Path, arg(aliases=["-o"])] = Path("demo")
    """Folder for the pictures and pages; those of an earlier demo are replaced."""

    epochs: int = EPOCHS
    """Passes over the training images."""

    seed: int = 0
    """Fixes the split, the rotations, the weights and the order."""

    def run(self) -> None:
        """Train, print one table, write a picture and a page."""
        from hyperproto._core.errors import InputError, require
        from hyperproto.report import draw_sphere, write_sphere_page

        for module in ("matplotlib", "plotly"):  # better to know now than after the training
            require(module, extra="plots", purpose="The demo")
        if self.output.exists() and not self.output.is_dir():
            raise InputError(f'"{self.output}"', "be a folder", "a file", "Choose another name.")
        self.output.mkdir(parents=True, exist_ok=True)
        views, rows = {}, []
        for name in SPACES:
            started = time.perf_counter()
            outputs: list[Tensor] = []
            run, test = train_digits(
                make_space(name), epochs=self.epochs, lr=LR, seed=self.seed, outputs=outputs
            )
            measures = ("diverged", "diverged")
            if run is not None:
                measures = (
                    f"{100 * run.metrics['digit/accuracy']:.1f} %",
                    f"{run.metrics['angle/mae']:.1f}°",
                )
                views[name] = _view(run, test, outputs, self.seed)
            rows.append((name, *measures, f"{time.perf_counter() - started:.0f} s"))
        numbers = "digit, accuracy", "angle, mean error", "training"
        title = "Rotated digits 2, 3, 4, 5, 7: held-out quarter"
        print_table(rows, "output space", *numbers, title=title, numbers=numbers)
        for index, name in enumerate(SPACES, start=1):
            if (view := views.get(name)) is not None:
                stem = self.output / f"sphere-{index}"
                draw_sphere(view, stem.with_suffix(".png"))
                write_sphere_page(
                    view, stem.with_suffix(".html"), title=f"Rotated digits on {name}"
                )
                print(f"{name}: {stem}.png, and to turn with the mouse {stem}.html")


def make_space(name: str) -> "OutputSpace":
    """Return one of :data:`SPACES`."""
    from hyperproto.baselines import ConventionalSpace
    from hyperproto.data.digits import ROTATED_DIGITS
    from hyperproto.spaces import Space
    from hyperproto.tasks import Classes, Range

    digits, angle = list(ROTATED_DIGITS), Range(0, 180)
    paper, default, _ = SPACES
    if name == default:
        return Space(3, digit=Classes(digits), angle=angle)
    tasks = {"digit": Classes(digits, loss="paper"), "angle": angle}
    return Space(3, tasks) if name == paper else ConventionalSpace(tasks)


def train_digits(
    space: "OutputSpace",
    *,
    epochs: int = EPOCHS,
    lr: float,
    seed: int,
    part: Literal["test", "valid"] = "test",
    outputs: "list[Tensor] | None" = None,
) -> "tuple[Run | None, Arrays]":
    """Train with the same network, data and order whatever the space; None where training diverged.

    The second is the part that it was measured on; ``outputs`` gets those of its images after every
    epoch.
    """
    import torch

    from hyperproto._core.errors import NonFiniteLossError
    from hyperproto.data import load_rotated_digits
    from hyperproto.models import DigitNet
    from hyperproto.training import TrainSettings, fit
    from hyperproto.training.outputs import stack_outputs

    train, test = load_rotated_digits(seed=seed, part=part, copies=COPIES, size=SIZE)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = DigitNet(space.dim, size=SIZE, width=32)
    run = None
    kept = (
        [] if outputs is None else [lambda _: outputs.append(stack_outputs(network, test.inputs))]
    )
    settings = TrainSettings(epochs=epochs, lr=lr, reduction="mean", seed=seed)
    with suppress(NonFiniteLossError):  # squared error explodes at rates that the sphere bears
        run = fit(network, space, train, settings, valid=test, callbacks=kept)
    return run, test


def _view(run: "Run", test: "Arrays", outputs: "list[Tensor]", seed: int) -> "SphereView | None":
    """Return what there is to draw where the output space is a sphere, else None."""
    import torch

    from hyperproto.data import load_rotated_digits
    from hyperproto.data.digits import ROTATED_DIGITS
    from hyperproto.report import SphereView
    from hyperproto.spaces import Space
    from hyperproto.spaces.output_space import by_name

    if not isinstance(run.space, Space):
        return None
    prototypes = by_name(run.space.prototypes)["digit"]
    _, pictures = load_rotated_digits(seed=seed, copies=1, size=SHOWN)
    targets = by_name(test.targets)
    return SphereView(
        points=torch.stack([run.space.project(z).cpu() for z in outputs]).double().numpy(),
        labels=targets["digit"].numpy(),
        values=targets["angle"].double().numpy(),
        prototypes=prototypes.vectors.double().numpy(force=True),
        names=ROTATED_DIGITS,
        value_name="angle in degrees",
        images=(pictures.inputs[:, 0] * 255).byte().numpy(),
        certificate=prototypes.certificate,
    )
