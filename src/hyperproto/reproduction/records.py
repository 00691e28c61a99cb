"""A finished cell as a small JSON file; where there is one, the cell is done."""

import platform
from pathlib import Path
from typing import Any

import scipy
import torch

from hyperproto._core.errors import InputError
from hyperproto._core.files import read_json, write_json
from hyperproto._version import __version__
from hyperproto.reproduction.spec import Spec

__all__ = ["FORMAT", "comparable", "find_record", "read_record", "versions", "write_record"]

FORMAT = "hyperproto.cell/1"


def versions() -> dict[str, str]:
    """Return what computed a record."""
    return {
        "hyperproto": __version__,
        "torch": torch.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def write_record(results: Path, name: str, record: dict[str, Any]) -> Path:
    """Write ``results/cells/NAME/ADDRESS.json``."""
    path = results / "cells" / name / f"{record['address']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, record)
    return path


def find_record(results: Path, spec: Spec, name: str = "*") -> dict[str, Any] | None:
    """Return the record of a cell, of its own table or of another one that has the same cell; None if not done."""
    held = sorted((results / "cells").glob(f"*/{spec.address}.json"), key=lambda path: path.parent.name != name)
    return read_record(held[0], spec) if held else None


def read_record(path: Path, spec: Spec) -> dict[str, Any]:
    """Read a record and check that it is of this cell."""
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") != FORMAT or Spec.from_dict(record["spec"]) != spec:
        raise InputError(f'"{path}" must be the record of the cell that its name says; it is not. Remove it.')
    return record


def comparable(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without its times: what the same cell gives again, bit for bit, on the same machine."""
    return {key: value for key, value in record.items() if key != "times"}
