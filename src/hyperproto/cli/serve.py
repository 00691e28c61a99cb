"""``hyperproto serve``: an exported model over HTTP."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg


@dataclass
class Serve:
    """Answer requests over HTTP: the Open Inference Protocol, /predict, /metrics, and a page to try the model."""

    model: Annotated[Positional[Path], arg(metavar="MODEL")]
    """The folder of an exported model."""

    host: str = "127.0.0.1"
    """The address to listen on; only this machine reaches the default."""

    port: int = 8000
    """The port to listen on; 0 is any that is free."""

    name: str | None = None
    """What addresses call the model (default: the name of its folder)."""

    hosts: tuple[str, ...] = ()
    """Further names by which requests may call a server that only this machine reaches, such as behind a proxy."""

    threads: int | None = None
    """How many threads compute one prediction (default: one for each core)."""

    most_bytes: int = 2**24
    """Larger requests are refused."""

    most_pixels: int = 2**26
    """Larger images are refused."""

    most_requests: int = 256
    """More at a time are told to come back."""

    timeout: float = 30.0
    """Seconds in which a request must arrive, and again in which it must be answered."""

    def run(self) -> None:
        """Serve until told to stop."""
        from hyperproto_runtime.errors import require

        require("fastapi", extra="serve", purpose="Serving a model")
        from hyperproto_runtime.serve.server import serve

        options = {name: value for name, value in vars(self).items() if name != "model"}
        serve(self.model, **options)
