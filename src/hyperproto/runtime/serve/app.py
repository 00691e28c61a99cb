"""The addresses of the server, and what each answers."""

import asyncio
import base64
import hashlib
import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from ..._core.errors import HyperprotoError, InputError
from ..._version import __version__
from ..model import ModelError
from ..predictor import AT_ONCE, Predictor
from . import people, protocol
from .batching import Batcher
from .decoding import Decoders
from .gate import Gate, JsonBounds, Metrics, RefusedError
from .options import ServeOptions

T = TypeVar("T")
PAGE = Path(__file__).with_name("page.html")
SMALL = 2**12  # bytes of a request that is not worth another thread
LARGE = 2**18  # bytes of one that is read by itself: JSON takes up to 100 times its size in memory
LONGEST_SENTENCE = 400


def make_app(
    predictor: Predictor,
    name: str = "model",
    limits: ServeOptions | None = None,
    hosts: frozenset[str] | None = None,
) -> Gate:
    """Return the ASGI application that serves a model.

    Parameters
    ----------
    predictor : Predictor
    name : str
        What the Open Inference Protocol calls the model.
    limits : ServeOptions, optional
    hosts : set of str, optional
        What requests may call the server; anything by default.
    """
    limits, metrics = ServeOptions() if limits is None else limits, Metrics()
    app = FastAPI(
        title="hyperproto", version=__version__, docs_url=None, redoc_url=None
    )  # which load from elsewhere
    gate = Gate(app, limits, metrics, hosts)
    work = _Work(predictor, limits, metrics)
    _follow_protocol(app, gate, work, name)
    _answer_people(app, work, name)

    @app.get("/metrics")
    async def measured() -> Response:
        return Response(
            generate_latest(metrics.registry), headers={"content-type": CONTENT_TYPE_LATEST}
        )

    _explain_mistakes(app)
    return gate


class _Work:
    """How requests become inputs, are run together, and are answered."""

    def __init__(self, predictor: Predictor, limits: ServeOptions, metrics: Metrics) -> None:
        self.predictor, self.model = predictor, predictor.model
        self.batcher = Batcher(predictor, metrics.rows.observe)
        threads = min(4, os.cpu_count() or 1)
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="requests")
        self.large = ThreadPoolExecutor(1, thread_name_prefix="large requests")
        images = self.model.inputs.images
        self.decoders = None if images is None else Decoders(images, limits.most_pixels, threads)
        widest = max(
            math.prod(self.model.inputs.shape), sum(len(task.classes) for task in self.model.tasks)
        )
        self.most_rows = max(1, min(limits.most_rows, AT_ONCE // widest))
        form, lists = self.model.inputs, float("inf")
        if form.encoder is None:  # else texts may have brackets
            lists = 64 + 2 * self.most_rows * math.prod(form.shape[:-1])
        self.json = JsonBounds(limits.most_json, lists)

    async def apart(self, size: int, function: Callable[[threading.Event], T]) -> T:
        """Call a function in another thread where it may take long, such that others are answered
        meanwhile. The event it is given is set when its answer is not waited for any more.
        """
        given_up = threading.Event()
        if size <= SMALL and self.decoders is None:
            return function(given_up)
        pool = self.large if size > LARGE and self.decoders is None else self.pool
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, function, given_up)
        finally:
            given_up.set()

    def prepare(self, inputs: Any, given_up: threading.Event) -> Any:
        """Return inputs as ``model.onnx`` takes them."""
        if not len(inputs):
            raise InputError("The request", "have at least one input", "none")
        if self.decoders is not None and isinstance(inputs, list):
            inputs = self.decoders.decode(inputs, given_up)
        prepared = np.concatenate(list(self.predictor.prepare(inputs)))
        self.predictor.check_prepared(prepared)  # here, where it does not fail others of its batch
        return prepared

    async def answer(
        self, prepared: Any, parts: Sequence[str], write: Callable[[Mapping[str, Any]], T]
    ) -> T:
        """Run inputs, together with those of others, and return what ``write`` makes of the
        outputs.
        """
        found = await self.batcher.run(prepared, parts)
        return await self.apart(
            sum(values.nbytes for values in found.values()), lambda _: write(found)
        )


def _follow_protocol(app: FastAPI, gate: Gate, work: _Work, name: str) -> None:
    """Add the addresses of the Open Inference Protocol: tensors in, tensors out."""
    version = protocol.VERSION

    async def check_name(model_name: str) -> None:
        if model_name != name:
            raise RefusedError(404, f'There is no model "{model_name[:80]}" here, only "{name}".')

    async def check_version(model_version: str) -> None:
        if model_version != version:
            raise RefusedError(
                404, f'There is no version "{model_version[:80]}" here, only "{version}".'
            )

    routes = APIRouter(dependencies=[Depends(check_name)])
    _add_health(app, routes, gate, work, name)
    _add_inference(routes, work, name)
    app.include_router(routes, prefix="/v2/models/{model_name}")
    checked = [Depends(check_version)]
    app.include_router(
        routes, prefix="/v2/models/{model_name}/versions/{model_version}", dependencies=checked
    )


def _add_health(app: FastAPI, routes: APIRouter, gate: Gate, work: _Work, name: str) -> None:
    """Say what serves, whether it lives, and whether it and the model are ready."""

    def readiness(**about: Any) -> JSONResponse:
        late = work.decoders is not None and work.decoders.are_late
        is_ready = not gate.stopping and not late
        return JSONResponse({**about, "ready": is_ready}, 200 if is_ready else 503)

    @app.get("/v2")
    async def server() -> dict[str, Any]:
        return {"name": "hyperproto", "version": __version__, "extensions": ["binary_tensor_data"]}

    @app.get("/v2/health/live")
    async def live() -> dict[str, Any]:
        return {"live": True}

    @app.get("/v2/health/ready")
    async def ready() -> JSONResponse:
        return readiness()

    @routes.get("/ready")
    async def model_ready() -> JSONResponse:
        return readiness(name=name)


def _add_inference(routes: APIRouter, work: _Work, name: str) -> None:
    """Describe the tensors of the model, and run it on some."""
    known, form = protocol.outputs_of(work.predictor), work.model.inputs
    schema = {"application/json": {"schema": protocol.InferRequest.model_json_schema()}}

    @routes.get("")
    async def metadata() -> dict[str, Any]:
        outputs = [
            {"name": key, "datatype": o.datatype, "shape": [-1, *o.shape]}
            for key, o in known.items()
        ]
        inputs = protocol.describe_inputs(form)
        about = {"name": name, "versions": [protocol.VERSION], "platform": "hyperproto_onnx"}
        return about | {"inputs": inputs, "outputs": outputs}

    @routes.post("/infer", openapi_extra={"requestBody": {"required": True, "content": schema}})
    async def infer(
        request: Request,
        content_type: Annotated[str, Header()] = "",
        inference_header_content_length: Annotated[str | None, Header()] = None,
    ) -> Response:
        kind = content_type.partition(";")[0].strip().lower()
        if kind not in (
            "",
            "application/json",
            "application/octet-stream",
            "application/x-www-form-urlencoded",
        ):
            raise RefusedError(415, f'A request must be application/json; got "{kind[:80]}".')
        body = await request.body()

        def read(
            given_up: threading.Event,
        ) -> tuple[protocol.InferRequest, dict[str, bool], Any]:
            asked, binary = protocol.read_request(body, inference_header_content_length, work.json)
            chosen = protocol.chosen_outputs(asked, known)
            inputs = protocol.read_inputs(asked, binary, form, work.most_rows)
            return asked, chosen, work.prepare(inputs, given_up)

        asked, chosen, prepared = await work.apart(len(body), read)
        parts = list(dict.fromkeys(part for key in chosen for part in known[key].parts))
        write = partial(protocol.write_answer, name, asked.id, known, chosen)
        content, length = await work.answer(prepared, parts, write)
        if length is None:
            return Response(content, media_type="application/json")
        headers = {"inference-header-content-length": str(length)}
        return Response(content, media_type="application/octet-stream", headers=headers)


def _answer_people(app: FastAPI, work: _Work, name: str) -> None:
    """Add ``/predict``, the page that asks it, and what the page needs to know."""
    page = PAGE.read_text(encoding="utf-8")
    headers = {"content-security-policy": _policy_of(page)}

    @app.post("/predict")
    async def predict(
        request: Request,
        content_type: Annotated[str, Header()] = "",
        top: Annotated[int, Query(ge=1, le=1000)] = 3,
        sphere: bool = False,
    ) -> Response:
        body, form = await request.body(), work.model.inputs
        if content_type.startswith("multipart/form-data") and form.kind == "images":
            body, content_type = await _file_of(request), ""

        def read(given_up: threading.Event) -> tuple[Any, bool]:
            inputs, single = people.read_inputs(body, content_type, form, work.most_rows, work.json)
            return work.prepare(inputs, given_up), single

        prepared, single = await work.apart(len(body), read)
        write = partial(people.describe, work.predictor, top=top, sphere=sphere)
        answers = await work.answer(prepared, list(work.model.outputs), write)
        return JSONResponse(answers[0] if single else answers)

    @app.get("/model")
    async def about() -> dict[str, Any]:
        return people.describe_model(work.model, name)

    @app.get("/")
    async def show() -> Response:
        return Response(page, media_type="text/html", headers=headers)


def _explain_mistakes(app: FastAPI) -> None:
    """Answer what goes wrong with a status and a sentence."""

    @app.exception_handler(RefusedError)
    async def refused(request: Request, error: RefusedError) -> Response:
        return error.response()

    @app.exception_handler(HyperprotoError)
    async def mistaken(request: Request, error: HyperprotoError) -> Response:
        sentence = str(error)
        cut = (
            sentence if len(sentence) <= LONGEST_SENTENCE else f"{sentence[:LONGEST_SENTENCE]} ..."
        )
        status = 500 if isinstance(error, ModelError) else 422
        return RefusedError(status, cut).response()

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return RefusedError(422, f"{'/'.join(map(str, first['loc']))}: {first['msg']}.").response()

    @app.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: HTTPException) -> Response:
        return RefusedError(error.status_code, f"{error.detail}.").response()

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return RefusedError(500, "The server failed; its log says why.").response()


def _policy_of(page: str) -> str:
    """Return the Content-Security-Policy of a page: its one script and style run, and no other."""
    allowed = []
    for part in ("script", "style"):
        content = page.partition(f"<{part}>")[2].partition(f"</{part}>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        allowed.append(f"{part}-src 'sha256-{digest}'")
    rules = ("default-src 'none'", *allowed, "img-src blob:", "connect-src 'self'")
    return "; ".join((*rules, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"))


async def _file_of(request: Request) -> bytes:
    """Return the one file of a form."""
    try:
        async with request.form(max_files=1, max_fields=8) as form:
            for part in form.values():
                if isinstance(part, UploadFile):
                    return await part.read()
    except (HTTPException, MultiPartException):
        pass
    raise InputError("The form", "have one file")
