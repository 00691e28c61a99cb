"""The folder of a run before its first step: a recipe that can be resumed from the first moment."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hyperproto._core.errors import InputError
from hyperproto._core.files import read_json, write_json
from hyperproto._core.processes import is_first
from hyperproto.training.loading import read_run
from hyperproto.training.recipe_values import Recipe
from hyperproto.training.run import RECIPE, clear_false_start

__all__ = ["begun", "claim_folder", "stored_recipe"]


def claim_folder(name: str, root: Path = Path("runs")) -> Path:
    """Create and return ``root/name-1``, or the first number that is free; two commands never get the same."""
    _make_root(root)
    number = 1
    while True:
        try:
            (root / f"{name}-{number}").mkdir()
        except FileExistsError:
            number += 1
        else:
            return root / f"{name}-{number}"


def _make_root(root: Path) -> None:
    """Make sure that folders can be made in a folder."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f'Folder "{root}" cannot be made: {error.strerror}. Say where with --folder RUN.') from None


@contextmanager
def begun(folder: Path | None, recipe: Recipe) -> Iterator[None]:
    """Write the recipe down before anything that takes time; take it back where the block fails before training.

    A process that is killed leaves a folder that can be resumed; one that meets a mistake leaves none.
    """
    if folder is None or not is_first():
        yield
        return
    if (folder / "config.json").is_file():
        raise InputError(
            f'"{folder}" holds a run already. Continue it with --resume {folder} (resume_run in Python), or choose '
            "another folder."
        )
    clear_false_start(folder)
    write_json(folder / RECIPE, recipe.to_dict())
    try:
        yield
    except BaseException:
        if not (folder / "config.json").is_file():
            _take_back(folder)
        raise


def _take_back(folder: Path) -> None:
    """Remove a recipe, and its folder where that holds nothing else."""
    with suppress(OSError):
        (folder / RECIPE).unlink()
        folder.rmdir()


def stored_recipe(folder: Path) -> tuple[Recipe, bool]:
    """Return the recipe a run was begun with, and whether it got as far as a config."""
    if (folder / "config.json").is_file():
        values = read_run(folder).recipe
        if values is None:
            raise InputError(
                f'"{folder}" was not trained from a recipe, so its data are not known. '
                "Resume it as it was begun: fit(..., resume=True)."
            )
        return Recipe.from_dict(values), True
    if not (folder / RECIPE).is_file():
        raise FileNotFoundError(
            f'No run in "{folder}": expected "config.json" or "{RECIPE}". Begin one with --folder.'
        )
    return Recipe.from_dict(read_json(folder / RECIPE)), False
