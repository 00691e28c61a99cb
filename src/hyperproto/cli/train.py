"""``hyperproto train``: train on the paper's data, on your own, or on the digits."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

__all__ = ["Train"]


@dataclass
class Train:
    """Train on a data set as published, a folder of images, a table, or scikit-learn's digits; or resume a run."""

    data: Annotated[str | None, arg(metavar="PATH")] = None
    """A data set, or a folder with a subfolder for each class; "digits" (unless given) or "rotated-digits". Beside
    --resume: where the data are now."""

    table: Annotated[Path | None, arg(metavar="FILE")] = None
    """A table (.csv, .tsv, .parquet) to train on."""

    resume: Annotated[Path | None, arg(metavar="RUN")] = None
    """Continue this run to the bits it would have had without the break; everything is taken from its folder."""

    reader: Annotated[str | None, arg(metavar="NAME", aliases=["--name"])] = None
    """Which data set PATH is, where it is not clear: cifar-100, cifar-100-uneven, mnist, rotated-mnist, ..."""

    image: Annotated[str | None, arg(metavar="COLUMN")] = None
    """Of a table: the column that names the images."""

    columns: Annotated[tuple[str, ...], arg(metavar="COLUMN")] = ()
    """Of a table without images: the columns of numbers to learn from; all that are not targets unless given."""

    classes: Annotated[tuple[str, ...], arg(metavar="COLUMN")] = ()
    """Of a table: the columns to predict as classes."""

    range: Annotated[tuple[str, ...], arg(metavar="COLUMN")] = ()
    """Of a table: the columns to predict as numbers."""

    bounds: Annotated[tuple[str, ...], arg(metavar="COLUMN=LOW:HIGH")] = ()
    """Of such numbers; the extremes of the training data unless given."""

    test: Annotated[Path | None, arg(metavar="FILE")] = None
    """A table to measure on; a share of the rows is held out unless given."""

    held_out: Annotated[float | None, arg(metavar="SHARE")] = None
    """Of your own data without a test part: the share to hold out; 0.2 unless given."""

    unseen: Literal["error", "missing"] | None = None
    """What a class is in the test part that training never saw: an error, or a missing label."""

    size: Annotated[int | None, arg(metavar="PIXELS")] = None
    """Height and width the network gets, of images of any size; 224 unless given."""

    reader_options: Annotated[tuple[str, ...], arg(metavar="KEY=VALUE")] = ()
    """More for reading the data, such as from_year=1900 for OmniArt; see docs/data.md."""

    protocol: Literal["short", "paper"] = "short"
    """Where settings come from that are not given: a short one-cycle schedule, or the paper with 250 epochs."""

    backbone: Annotated[str | None, arg(metavar="NAME")] = None
    """The network, such as resnet-32 or timm:resnet18; by the size of inputs unless given. See docs/backbones.md."""

    backbone_options: Annotated[tuple[str, ...], arg(metavar="KEY=VALUE")] = ()
    """Its settings, such as depth=8 width=32."""

    space: Literal["sphere", "composite", "conventional"] = "sphere"
    """The sphere; one point on it for a class and a number together; or softmax and squared error."""

    dim: Annotated[int | None, arg(metavar="D")] = None
    """Dimensions of the sphere; one for each class, at most 100, and one for each range unless given."""

    loss: Literal["auto", "squared", "softmax", "free", "power", "cauchy"] = "auto"
    """On the sphere: by the numbers of classes and dimensions unless given; squared is the paper's."""

    margin: float | None = None
    """Keeps regression targets off the poles; unless given 0.1 beside classes and in a composite space, else 0."""

    prototypes: Annotated[Path | None, arg(metavar="FILE")] = None
    """Take these prototypes, from hyperproto place -o FILE."""

    prior: Annotated[str | None, arg(metavar="FILE")] = None
    """Place prototypes by what is known about the classes: word vectors, a taxonomy, ... (see hyperproto place);
    "data", how alike the training examples are; or "none". Default: data where the loss is free and D small."""

    missing: Literal["error", "free"] = "error"
    """Classes the prior does not know: an error, or free to place them without it."""

    epochs: int | None = None
    """Passes over the training data; 20 unless given."""

    batch_size: int | None = None
    """Examples a step, of all processes together; 128 unless given."""

    lr: float | None = None
    """Learning rate at the peak of the schedule; unless given 0.01 for a summed loss, else 0.1 to 1, by the loss."""

    reduction: Literal["sum", "mean"] | None = None
    """How the losses of a batch become one; unless given a sum for the squared cosine loss, else a mean."""

    momentum: float = 0.9
    """Of stochastic gradient descent."""

    weight_decay: float = 1e-4
    """Of stochastic gradient descent."""

    schedule: Literal["one-cycle", "paper", "constant"] | None = None
    """How the learning rate changes; one-cycle unless given."""

    accumulate: int = 1
    """Compute a batch in so many parts, for want of memory."""

    patience: int | None = None
    """Stop after so many epochs that brought nothing better."""

    monitor: Annotated[str | None, arg(metavar="MEASURE")] = None
    """The measure that decides which epoch is best, such as style/accuracy; the first unless given."""

    mixed_precision: Literal["no", "bf16", "fp16"] | None = None
    """Unless given bf16 on a GPU that has it."""

    seed: int = 0
    """Fixes the split, the weights and the order."""

    valid_share: float = 0.0
    """Measure on this share of the training data during training, and leave the test data alone."""

    augment: bool = True
    """Vary training images; --no-augment does not."""

    keep: Literal["auto", "memory", "stream"] = "auto"
    """Hold images in memory, or decode them on the way."""

    workers: int | None = None
    """Processes that decode images; as many as there are cores unless given."""

    skip_corrupt: bool = False
    """Leave out images that cannot be read, rather than stop at the first."""

    log: Literal["tensorboard"] | None = None
    """A log beside the run's own JSON."""

    folder: Annotated[Path | None, arg(aliases=["-o"], metavar="RUN")] = None
    """Store the run here; the folder must not exist or be empty. Unless given, in runs/NAME-1 or the next number
    that is free; digits are then not stored."""

    def run(self) -> None:
        """Train or resume, and print the measures."""
        from hyperproto.cli.train_parts import speak, spoken_warnings

        with spoken_warnings():
            self._resume(speak) if self.resume is not None else self._train(speak)

    def _resume(self, say: Any) -> None:
        from hyperproto._core.errors import InputError
        from hyperproto.cli.train_parts import report, saying_how_to_go_on
        from hyperproto.training import resume_run

        assert self.resume is not None
        if changed := [name for name in _given(self) if name not in ("resume", "data", "log")]:
            flag = changed[0].replace("_", "-")
            raise InputError(f"--resume takes everything from the run; got --{flag} too. Leave it out.")
        with saying_how_to_go_on(self.resume):
            run = resume_run(self.resume, path=self.data, log=self.log, say=say, progress="lines")
        report(run, self.resume)

    def _train(self, say: Any) -> None:
        from hyperproto._core.processes import from_first
        from hyperproto.cli.train_parts import recipe_from, report, saying_how_to_go_on
        from hyperproto.data.readers import BUILT_IN, data_name
        from hyperproto.training import train
        from hyperproto.training.beginnings import claim_folder

        recipe = recipe_from(vars(self))
        folder = self.folder
        if folder is None and recipe.data["reader"] not in BUILT_IN:
            folder = from_first(lambda: claim_folder(data_name(recipe.data)))
        with saying_how_to_go_on(folder):
            run = train(recipe, folder, log=self.log, say=say, progress="lines")
        report(run, folder)


def _given(verb: Train) -> list[str]:
    """Return the options that are not what they are by default."""
    plain = vars(Train())
    return [name for name, value in vars(verb).items() if value != plain[name]]
