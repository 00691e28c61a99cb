"""What a server can be told, for Python and both command lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..._core.errors import InputError


def _option(default: Any, about: str) -> Any:
    return field(default=default, metadata={"help": about})


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Where a model is served, and what is refused: each says what it is in the ``help`` of its
    metadata.
    """

    host: str = _option(
        "127.0.0.1", "The address to listen on; only this machine reaches the default."
    )
    port: int = _option(8000, "The port to listen on; 0 is any that is free.")
    name: str | None = _option(
        None, "What addresses call the model (default: the name of its folder)."
    )
    hosts: tuple[str, ...] = _option(
        (),
        "Further names by which requests may call a server that only this machine reaches, as "
        "behind a proxy.",
    )
    threads: int | None = _option(
        None, "How many threads compute one prediction (default: one for each core)."
    )
    most_bytes: int = _option(2**24, "Larger requests are refused.")
    most_json: int = _option(
        2**22, "Requests with more bytes of JSON are refused; tensors as bytes are not JSON."
    )
    most_pixels: int = _option(2**24, "Larger images are refused.")
    most_rows: int = _option(
        1024, "Requests with more inputs are refused; fewer of wide ones, or with many classes."
    )
    most_requests: int = _option(256, "More at a time are told to come back.")
    timeout: float = _option(
        30.0, "Seconds in which a request must arrive, and again in which it must be answered."
    )


def tell_apart(model: str | Path | None, hosts: Sequence[str]) -> tuple[Path, tuple[str, ...]]:
    """Return the model and the hosts of a command; a model that follows ``--hosts`` is taken for
    one of them.
    """
    if model is None and not hosts:
        raise InputError("model", "be the folder of an exported model", "none")
    return (Path(hosts[-1]), tuple(hosts[:-1])) if model is None else (Path(model), tuple(hosts))
