"""``hyperproto-runtime``: predict files with an exported model, or serve it over HTTP."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from .._core.errors import HyperprotoError, InputError, require
from .._version import __version__
from .csv_files import read_table
from .serve.options import ServeOptions, tell_apart


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. A user's mistake prints one sentence and exits with 2."""
    parser = argparse.ArgumentParser(prog="hyperproto-runtime", description=__doc__)
    parser.add_argument("--version", action="version", version=f"hyperproto-runtime {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True)
    predict = verbs.add_parser(
        "predict", help="predict images, or the rows of tables, and print JSON lines"
    )
    predict.add_argument("model", type=Path, help="the folder of an exported model")
    predict.add_argument(
        "paths", type=Path, nargs="*", metavar="FILE", help="images and folders of them, or tables"
    )
    predict.add_argument("--text", nargs="+", default=(), help="texts, in place of files")
    predict.add_argument("--top", type=int, default=3, help="how many classes to name (default: 3)")
    served = verbs.add_parser("serve", help="answer requests over HTTP, with a page to try it")
    served.add_argument("model", nargs="?", help="the folder of an exported model")
    for item in fields(ServeOptions):
        about = item.metadata["help"] + (f" (default: {item.default})" if item.default else "")
        how: dict[str, Any] = {"default": item.default, "help": about}
        how["type"] = (*get_args(item.type), item.type)[0]  # of several, or None, the first
        how |= {"nargs": "*"} if item.default == () else {}
        served.add_argument(f"--{item.name.replace('_', '-')}", **how)
    given = parser.parse_args(arguments)
    try:
        if given.verb == "serve":
            given.model, given.hosts = tell_apart(given.model, given.hosts)
            require("fastapi", extra="serve", purpose="Serving a model")
            from .serve.server import serve

            told = {item.name: getattr(given, item.name) for item in fields(ServeOptions)}
            return serve(given.model, ServeOptions(**told))
        for row in predict_files(given.model, given.paths, texts=given.text, top=given.top):
            print(json.dumps(row))
    except (HyperprotoError, OSError) as error:
        print(f"hyperproto-runtime: {error}", file=sys.stderr)
        sys.exit(2)


def predict_files(
    folder: str | Path,
    paths: Sequence[str | Path] = (),
    *,
    texts: Sequence[str] = (),
    top: int = 3,
    read: Callable[[Path], list[dict[str, Any]]] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield for each image, row of a table or text, where it is from and what
    :meth:`Predictor.answer` says about it.

    ``read`` returns the rows of a table (default: :func:`read_table`).
    """
    from .images import images_in
    from .inputs import IMAGES_AT_ONCE
    from .predictor import Predictor, check_one_source

    check_one_source(paths, texts)
    predictor = Predictor(folder)
    kind = predictor.model.inputs.kind
    if texts:
        if kind != "text":
            raise InputError("text", "be left out for a model of other inputs", kind)
        for text, answer in zip(texts, predictor.answer(texts, top=top), strict=True):
            yield {"text": text, **answer}
        return
    if kind == "images":
        files = [file for path in map(Path, paths) for file in images_in(path)]
        for start in range(0, len(files), IMAGES_AT_ONCE):
            some = files[start : start + IMAGES_AT_ONCE]
            for file, answer in zip(some, predictor.answer(some, top=top), strict=True):
                yield {"file": str(file), **answer}
        return
    for path in map(Path, paths):
        rows: Any = (read or read_table)(path)
        if kind == "rows" and predictor.model.inputs.names is None:
            rows = [list(row.values()) for row in rows]
        for number, answer in enumerate(predictor.answer(rows, top=top), start=1):
            yield {"file": str(path), "row": number, **answer}


if __name__ == "__main__":
    main()
