"""``hyperproto serve``: an exported model over HTTP."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hyperproto._core.errors import require
from hyperproto.runtime.serve.options import ServeOptions, tell_apart


@dataclass(frozen=True, kw_only=True)
class Serve(ServeOptions):
    """Answer requests over HTTP: the Open Inference Protocol, /predict, /metrics, and a page to try
    the model.
    """

    model: Annotated[Positional[Path | None], arg(metavar="MODEL")] = None
    """The folder of an exported model."""

    def run(self) -> None:
        """Serve until told to stop."""
        require("fastapi", extra="serve", purpose="Serving a model")
        from hyperproto.runtime.serve.server import serve

        model, hosts = tell_apart(self.model, self.hosts)
        serve(model, replace(self, hosts=hosts))
