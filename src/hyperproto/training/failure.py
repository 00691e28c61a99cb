"""What is left of a batch whose loss is not finite."""

from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor

from hyperproto._core.errors import NonFiniteLossError
from hyperproto._core.files import replacing

__all__ = ["explain_failure"]

NAMED = 8  # examples in the sentence; all of them are in the file


def explain_failure(
    error: NonFiniteLossError, ids: Tensor, batch: tuple[Any, Any], folder: Path | None
) -> NonFiniteLossError:
    """Save a batch where there is a folder, and return the error with what is known added to its sentence.

    Parameters
    ----------
    error : NonFiniteLossError
    ids : Tensor, shape (n,)
        The rows of the data set that the batch was made of.
    batch : (inputs, targets)
        As the network got them; tensors, or dicts of them.
    folder : Path or None
    """
    rows = ", ".join(map(str, ids[:NAMED].tolist())) + (", ..." if len(ids) > NAMED else "")
    known = f"Its {len(ids)} examples are rows {rows} of the data"
    if folder is not None and folder.is_dir():
        path = folder / "failed_batch.safetensors"
        inputs, targets = (_named(part, name) for part, name in zip(batch, ("inputs", "targets"), strict=True))
        with replacing(path) as beside:
            save_file({"ids": ids.contiguous()} | inputs | targets, beside)
        known += f', saved in "{path}"'
    return NonFiniteLossError(f"{error} {known}. Lower lr, or look for NaN or huge values in them.")


def _named(part: Any, name: str) -> dict[str, Tensor]:
    parts = {name: part} if isinstance(part, Tensor) else {f"{name}.{key}": value for key, value in part.items()}
    return {key: value.detach().cpu().clone().contiguous() for key, value in parts.items()}
