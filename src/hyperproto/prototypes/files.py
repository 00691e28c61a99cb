"""Prototypes on disk: one safetensors file, which can hold numbers and text but no code."""

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from hyperproto._core.errors import InputError
from hyperproto._core.files import replacing
from hyperproto.codes import Certificate

__all__ = ["read_prototypes", "write_prototypes"]

FORMAT = "hyperproto.prototypes/1"


def write_prototypes(
    path: str | Path,
    vectors: Tensor,
    certificate: Certificate,
    names: tuple[str, ...] | None,
    reserve: Tensor | None = None,
) -> None:
    """Write the vectors, and those in reserve, with their certificate and names in the header."""
    header = {"format": FORMAT, "certificate": json.dumps(certificate.to_dict()), "names": json.dumps(names)}
    held = {"vectors": vectors.contiguous()} | ({} if reserve is None else {"reserve": reserve.contiguous()})
    with replacing(path) as beside:
        save_file(held, beside, metadata=header)


def read_prototypes(path: str | Path) -> tuple[Tensor, Certificate, tuple[str, ...] | None, Tensor | None]:
    """Return vectors, certificate, names and reserve, or say what the file is instead.

    Older files have no reserve, and neither have those of prototypes that keep none.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f'No prototype file at "{path}". `hyperproto place K D -o FILE` makes one.')
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            found = header.get("format", "no format")
            if found != FORMAT or "vectors" not in file.keys():  # noqa: SIM118 (not a dict)
                raise InputError(
                    f'"{path}" must be a prototype file of format {FORMAT}; it says {found}. '
                    "Prototypes.from_npy reads the authors' files."
                )
            vectors = file.get_tensor("vectors")
            certificate = Certificate.from_dict(json.loads(header["certificate"]))
            names = json.loads(header["names"])
            reserve = file.get_tensor("reserve") if "reserve" in file.keys() else None  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise InputError(f'"{path}" is not a readable prototype file ({error}). It may be cut short.') from None
    return vectors, certificate, None if names is None else tuple(names), reserve
