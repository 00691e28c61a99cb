"""``hyperproto train``: train on the paper's data, on your own, or on the digits."""

import json
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from tyro.conf import OmitArgPrefixes, arg

from hyperproto._core import errors
from hyperproto._core.errors import InputError
from hyperproto._core.files import Plain
from hyperproto._core.processes import from_first, is_first
from hyperproto.cli.console import plain_warnings
from hyperproto.cli.data import ColumnOptions, Data
from hyperproto.spec import (
    DataSpec,
    LoadingSpec,
    NetworkSpec,
    RunSpec,
    SpaceSpec,
    SphereSpec,
    TrainSettings,
)

if TYPE_CHECKING:
    from hyperproto.training import Run


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Which data."""

    data: Annotated[str | None, arg(metavar="PATH", aliases=["--table"])] = None
    """A data set, a table (.csv, .tsv, .parquet), or a folder with a subfolder for each class;
    "digits" or "rotated-digits" (default: digits). With --resume: where the data are now.
    """

    reader: Annotated[str | None, arg(metavar="NAME")] = None
    """Which data set PATH is: cifar-100, cifar-100-uneven, mnist, rotated-mnist, ... (default:
    detected)
    """


@dataclass(frozen=True, kw_only=True)
class DataOptions(LoadingSpec, ColumnOptions, SourceOptions):
    """What to train on."""

    columns: Annotated[tuple[str, ...], arg(metavar="COLUMN")] = ()
    """The columns of a table to learn from: numbers, words, dates (default: all that are not
    targets).
    """

    bounds: Annotated[tuple[str, ...], arg(metavar="COLUMN=LOW:HIGH")] = ()
    """Bounds of such numbers (default: the extremes of the training data)."""

    test: Annotated[Path | None, arg(metavar="FILE")] = None
    """A table to measure on (default: a share of the rows)."""

    held_out: Annotated[float | None, arg(metavar="SHARE")] = None
    """The share of your own data to measure on, where there is no test part (default: 0.2)."""

    unseen: Literal["error", "missing"] | None = None
    """What to do with a test label that training never saw: stop, or treat it as missing (default:
    error).
    """

    size: Annotated[int | None, arg(metavar="PIXELS")] = None
    """Height and width that the network gets, of images of any size (default: that of the files, at
    most 224; 128 for the pretrained network).
    """

    reader_options: Annotated[tuple[str, ...], arg(metavar="KEY=VALUE")] = ()
    """More options of the reader, such as from_year=1900 for OmniArt; see docs/how-to/data.md."""

    def spec(self, seed: int) -> DataSpec:
        """Return the data that the options describe."""
        from hyperproto.data.readers import describe_data

        options = self.for_reader() | read_pairs(self.reader_options, "reader_options")
        options |= {"columns": list(self.columns), "bounds": read_bounds(self.bounds)}
        options |= {"held_out": self.held_out, "unseen": self.unseen, "test": self.test}
        loading = {item.name: getattr(self, item.name) for item in fields(LoadingSpec)}
        described = describe_data(self.data or "digits", self.reader, seed=seed, **options)
        return replace(described, image_size=self.size, **loading)


@dataclass(frozen=True, kw_only=True)
class SpaceOptions(SphereSpec):
    """What the network's outputs mean."""

    kind: Annotated[Literal["sphere", "spheres", "conventional"] | None, arg(name="space")] = None
    """One sphere; one for each task; one point for a class and a number together; or softmax and
    squared error (default: one sphere, or one for each task where there are classes and numbers).
    """

    def spec(self) -> SpaceSpec:
        """Return the space that the options describe; files by their absolute paths."""
        files = {"prototypes": absolute(self.prototypes), "prior": absolute(self.prior)}
        return SpaceSpec(**{**vars(self), **files})


@dataclass(frozen=True, kw_only=True)
class NetworkOptions(NetworkSpec):
    """What maps inputs to outputs."""

    backbone: Annotated[str | None, arg(metavar="NAME")] = None
    backbone_options: Annotated[tuple[str, ...], arg(metavar="KEY=VALUE")] = ()  # type: ignore[assignment]
    weights: Annotated[str | None, arg(metavar="FILE", aliases=["--from"])] = None

    def __post_init__(self) -> None:
        """Leave checking to the description: tyro would print errors in its own words."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(TrainSettings):
    """How to train."""

    def __post_init__(self) -> None:
        """Leave checking to the description: tyro would print errors in its own words."""


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What becomes of the run."""

    folder: Annotated[Path | None, arg(aliases=["-o"], metavar="RUN")] = None
    """Store the run in this folder, which must not exist or be empty (default: runs/NAME-1, or the
    next free number; digits are not stored).
    """

    resume: Annotated[Path | None, arg(metavar="RUN")] = None
    """Continue this run, bit for bit as if it had not been interrupted; everything is read from its
    folder. With --epochs N: train it longer, to N epochs altogether, from the next step on by the
    schedule of such a run.
    """


@dataclass
class Train:
    """Train on a data set as published, a folder of images, a table, or scikit-learn's digits; or
    resume a run.
    """

    KEYWORDS: ClassVar[dict[str, str]] = Data.KEYWORDS | {"image_size": "size"}

    data: OmitArgPrefixes[DataOptions] = field(default_factory=DataOptions)
    space: OmitArgPrefixes[SpaceOptions] = field(default_factory=SpaceOptions)
    network: OmitArgPrefixes[NetworkOptions] = field(default_factory=NetworkOptions)
    training: OmitArgPrefixes[TrainingOptions] = field(default_factory=TrainingOptions)
    output: OmitArgPrefixes[OutputOptions] = field(default_factory=OutputOptions)

    def run(self) -> None:
        """Train or resume, and print the measures."""
        from hyperproto.training import resume_run, train

        folder = self.output.resume
        with plain_warnings():
            if folder is not None:
                self._check_alone()
                epochs, path = self.training.epochs, self.data.data
                run = resume_run(folder, epochs=epochs, path=path, say=_say, progress="lines")
            else:
                spec = self.spec()
                folder = self._folder(spec)
                run = train(spec, folder, say=_say, progress="lines")
            _report(run, folder)

    def spec(self) -> RunSpec:
        """Return the run that the options describe."""
        options = read_pairs(self.network.backbone_options, "backbone_options")
        weights = absolute(self.network.weights)
        return RunSpec(
            data=self.data.spec(self.training.seed),
            network=NetworkSpec(
                **{**vars(self.network), "backbone_options": options, "weights": weights}
            ),
            space=self.space.spec(),
            train=TrainSettings(**vars(self.training)),
        )

    def _folder(self, spec: RunSpec) -> Path | None:
        """Return where to store the run; data that come with a library are not
        stored by default.
        """
        from hyperproto.data.readers import BUILT_IN, data_name
        from hyperproto.training.folder import claim_folder

        if self.output.folder is not None or spec.data.reader in BUILT_IN:
            return self.output.folder
        return from_first(lambda: claim_folder(data_name(spec.data)))

    def _check_alone(self) -> None:
        """Refuse options next to ``--resume``, except for where the data are
        now and more epochs.
        """
        for group in fields(self):
            given = getattr(self, group.name)
            default = vars(type(given)())
            for name, value in vars(given).items():
                if name not in ("data", "epochs", "resume") and value != default[name]:
                    rule = f"be left out with {errors.arg('resume')}, which reads it from the run"
                    raise InputError(name, rule)


def absolute(name: str | None) -> str | None:
    """Return the absolute path of a file or folder, and anything else as it is."""
    if name in (None, "data", "none", "pretrained") or not Path(name).exists():
        return name
    return str(Path(name).absolute())


def read_pairs(given: tuple[str, ...], option: str) -> Plain:
    """Return options given as KEY=VALUE; a value is JSON where it can be read as such, and text
    where not.

    >>> read_pairs(("depth=8", "shortcut=pool"), "backbone_options")
    {'depth': 8, 'shortcut': 'pool'}
    """
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InputError(option, "be KEY=VALUE, such as depth=8", f'"{text}"')
        try:
            pairs[key] = json.loads(value)
        except json.JSONDecodeError:
            pairs[key] = value
    return pairs


def read_bounds(given: tuple[str, ...]) -> dict[str, list[float]]:
    """Return bounds given as COLUMN=LOW:HIGH.

    >>> read_bounds(("year=1500:1900",))
    {'year': [1500.0, 1900.0]}
    """
    bounds = {}
    for text in given:
        name, _, ends = text.rpartition("=")
        try:
            low, high = map(float, ends.split(":"))
        except ValueError:
            raise InputError(
                "bounds", "be COLUMN=LOW:HIGH, such as year=1500:1900", f'"{text}"'
            ) from None
        bounds[name] = [low, high]
    return bounds


def _say(sentence: str) -> None:
    """Print a line, in the first process only."""
    if is_first():
        print(sentence, flush=True)


def _report(run: "Run", folder: Path | None) -> None:
    """Print the measures, and what can be done with the run now."""
    from hyperproto.training.outputs import not_better
    from hyperproto.training.run import describe_measures

    best, measures = run.best, describe_measures(run.metrics, run.baseline)
    _say(f"Measured: {measures}" if run.metrics else "Nothing to measure on, so no measures.")
    if failed := not_better(run.metrics, run.baseline):
        _say(f"No better than the baseline: {', '.join(failed)}. hyperproto doctor may say why.")
    if best is not None and best is not run.history[-1]:
        _say(_about_best(best, run.history, folder))
    if folder is None:
        _say("Not stored; --folder RUN stores the run.")
        return
    _say(f"Run: {folder}")
    for words, purpose in {
        f"hyperproto evaluate {folder}": "measure it",
        f"hyperproto report {folder}": "the same as a page, with the worst mistakes",
        f"hyperproto predict {folder} FILE": "use it",
        f"hyperproto export {folder} -o FOLDER": "use it without torch",
        f'network, space = hyperproto.load("{folder}")': "in Python",
    }.items():
        _say(f"  {words}  # {purpose}")


def _about_best(best: Plain, history: list[Plain], folder: Path | None) -> str:
    """Return which epoch was best, by how much, and how to use it."""
    from hyperproto.tasks.task import higher_is_better
    from hyperproto.training.run import describe_measures

    last = history[-1]["valid"]
    changes = ", ".join(
        f"{name} {100 * (value - last[name]):+.1f} points"
        if higher_is_better(name)
        else f"{name} {value - last[name]:+.3g}"
        for name, value in best["valid"].items()
    )
    sentence = f"Best was epoch {best['epoch'] + 1} of {len(history)}: "
    sentence += f"{describe_measures(best['valid'])} ({changes}); chosen on the same examples, "
    sentence += "so too good for a test."
    if folder is not None:
        sentence += f" --which best uses its weights: hyperproto evaluate {folder} --which best"
    return sentence
