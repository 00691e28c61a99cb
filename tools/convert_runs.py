"""Convert what earlier versions wrote: ``python tools/convert_runs.py RUN_OR_ESTIMATOR_OR_FILE
...``.

Runs of format hyperproto.run/1 have a flat "recipe" in place of the nested description of a run,
and prototypes of another format; they and those of format 2 describe networks and spaces with fewer
values, and tables in another way, and so do estimators of format 2. Weights and checkpoints stay as
they are, so an unfinished run can be resumed. Files are replaced one by one and the config last, so
that it can be started again.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from hyperproto._core.files import read_json, replacing, write_json
from hyperproto.data.preprocessing import Preprocessing, preprocessing_from_dict
from hyperproto.estimators.store import FORMAT as ESTIMATOR_FORMAT
from hyperproto.prototypes import Prototypes
from hyperproto.prototypes.prototypes import FORMAT as PROTOTYPES_FORMAT
from hyperproto.spec import DataSpec, NetworkSpec, RunSpec, SpaceSpec, TrainSettings
from hyperproto.training.load import stored_network, stored_space
from hyperproto.training.run import FORMAT, describe_run

__all__ = ["convert_estimator", "convert_prototypes", "convert_run", "nested_spec"]

CERTIFICATE = {"remark": "note", "meaning": "prior_agreement"}  # fields that were called otherwise
FORMATS = ("hyperproto.run/1", "hyperproto.run/2")
LOSSES = {
    "squared": "squared_cosine",
    "softmax": "cosine_softmax",
    "free": "free_norm_softmax",
    "power": "power_cosine",
    "cauchy": "cauchy_softmax",
}


def convert_run(folder: Path) -> None:
    """Rewrite the config and the prototypes of a run of an earlier format."""
    config = read_json(folder / "config.json")
    if config["format"] not in FORMATS:
        raise SystemExit(
            f'"{folder}" is of format {config["format"]}; expected {" or ".join(FORMATS)}.'
        )
    for path in folder.glob("prototypes.*.safetensors"):
        convert_prototypes(path)
    _convert_parts(config)
    network = None if config["network"] is None else stored_network(config["network"], folder)
    space = None if config["space"] is None else stored_space(config["space"], folder)
    described: Any = (
        describe_run(network, space) if network is not None and space is not None else config
    )  # type: ignore[arg-type]
    recipe, preprocessing = config.pop("recipe", None), config["preprocessing"]
    spec = None if recipe is None else nested_spec(recipe).to_dict()
    if spec is not None:
        write_json(folder / "spec.json", spec)
        (folder / "recipe.json").unlink(missing_ok=True)
    config |= {
        "format": FORMAT,
        "network": described["network"],
        "space": described["space"],
        "preprocessing": preprocessing and _convert_preprocessing(preprocessing).to_dict(),
        "spec": spec or config.get("spec"),
    }
    if spec is None and config["spec"] is not None:
        _move_size(config["spec"]["data"])
        write_json(folder / "spec.json", config["spec"])
    write_json(folder / "config.json", config)


def _convert_parts(config: Mapping[str, Any]) -> None:
    """Add to a network what was left out of its description, and take away what it or losses no
    longer have.
    """
    if config["network"] is not None and config["network"]["name"] == "mlp":
        config["network"].setdefault("norm", "batch")
    if config["network"] is not None and not config["network"].get("small_stem"):
        config["network"].pop("small_stem", None)
    for task in (config["space"] or {"tasks": ()})["tasks"]:
        if task["task"] == "classes":
            task["loss"].pop("kind", None)


def _move_size(data: dict[str, Any]) -> None:
    """Take the size of images from the options of a reader, where it was."""
    if data["reader"] != "rotated-digits" and "size" in data["options"]:
        data["image_size"] = data["options"].pop("size")


def convert_prototypes(path: Path) -> None:
    """Rewrite a prototype file of the first format, which has a header entry for each part; leave
    others alone.
    """
    with safe_open(path, framework="pt") as file:
        header = file.metadata() or {}
    if header.get("format") == "hyperproto.prototypes/1":
        stored = {
            CERTIFICATE.get(key, key): value
            for key, value in json.loads(header["certificate"]).items()
        }
        about = {
            "format": PROTOTYPES_FORMAT,
            "certificate": stored,
            "names": json.loads(header["names"]),
        }
        with replacing(path) as temporary:
            save_file(load_file(path), temporary, metadata={"prototypes": json.dumps(about)})
        Prototypes.load(path).save(path)


def _convert_preprocessing(values: Mapping[str, Any]) -> Preprocessing:
    """Return what is done to inputs. A table of numbers had no encoder, and the
    mean in its gaps.
    """
    if values["kind"] != "table":
        return preprocessing_from_dict(values)
    filled = [
        {"name": name, "kind": "number", "fill": [mean]}
        for name, mean in zip(values["columns"], values["mean"], strict=True)
    ]
    scaling = {"mean": values["mean"], "scale": [std or 1.0 for std in values["std"]]}
    encoder = values.get("encoder") or {"columns": filled}
    return preprocessing_from_dict({"kind": "table", "encoder": encoder, "scaling": scaling})


def convert_estimator(folder: Path) -> None:
    """Rewrite the description of an estimator of the second format."""
    described = read_json(folder / "estimator.json")
    if described["format"] != "hyperproto.estimator/2":
        raise SystemExit(
            f'"{folder}" is of format {described["format"]}; expected hyperproto.estimator/2.'
        )
    columns = described.get("encoder")
    described |= {
        "format": ESTIMATOR_FORMAT,
        "inputs": {name: np.ravel(values).tolist() for name, values in described["inputs"].items()},
        "encoder": columns and {"columns": columns},
        "flat": described.pop("multitask").get("flat_", True),
    }
    write_json(folder / "estimator.json", described)


def nested_spec(recipe: Mapping[str, Any]) -> RunSpec:
    """Return the description of a run that a flat recipe stood for."""
    flat = {"missing" if name == "prior_missing" else name: value for name, value in recipe.items()}
    parts: dict[str, dict[str, Any]] = {}
    for part, kind in (
        ("network", NetworkSpec),
        ("space", SpaceSpec),
        ("train", TrainSettings),
        ("data", DataSpec),
    ):
        names = {item.name for item in fields(kind)}  # type: ignore[arg-type]  # a dataclass
        parts[part] = {name: value for name, value in flat.items() if name in names}
    space = parts["space"]
    space |= {
        "kind": flat.get("space", "sphere"),
        "loss": LOSSES.get(space.get("loss", ""), "auto"),
    }
    space["prior"] = "data" if space.get("prior") == "examples" else space.get("prior")
    data = {**flat["data"], "options": dict(flat["data"]["options"]), **parts["data"]}
    _move_size(data)
    return RunSpec.from_dict({**parts, "data": data})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    about = "the folder of a run or of an estimator, or a file of prototypes"
    parser.add_argument("path", type=Path, nargs="+", help=about)
    for path in parser.parse_args().path:
        if (path / "estimator.json").is_file():
            convert_estimator(path)
        else:
            (convert_run if path.is_dir() else convert_prototypes)(path)
        print(f"{path} is converted.")
