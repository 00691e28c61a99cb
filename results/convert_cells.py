"""Convert records of cells from format hyperproto.cell/1 (one flat spec) to hyperproto.cell/2 (a
nested run).

    python results/convert_cells.py [results/cells ...]

A record gets a new address, the hash of its new description; its numbers stay as they are. Records
that are of the new format already are left alone.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hyperproto._core.files import write_json
from hyperproto.reproduction.cell import FORMAT, Cell, paper_cell

BEFORE = "hyperproto.cell/1"
RENAMED = {
    "kind": "job",
    "data": "reader",
    "classes": "first_classes",
    "train_images": "train_examples",
    "test_images": "test_examples",
    "held_out": "valid_examples",
    "size": "image_size",
    "network": "backbone",
    "network_options": "backbone_options",
    "space": "kind",
}
LOSSES = {
    "squared": "squared_cosine",
    "softmax": "cosine_softmax",
    "free": "free_norm_softmax",
    "power": "power_cosine",
    "cauchy": "cauchy_softmax",
}
PROTOTYPES = {"optimised": "optimized", "examples": "data-driven"}


def convert_spec(spec: dict[str, Any]) -> Cell:
    """Return the cell of a flat description."""
    values = {
        RENAMED.get(name, name): value for name, value in spec.items() if name != "loss_scale"
    }
    for name in ("options", "backbone_options", "loss_options"):
        values[name] = dict(values.get(name, ()))
    if spec["loss"] == "softmax":
        values["loss_options"] = {"scale": spec["loss_scale"]}
    values["loss"] = LOSSES[spec["loss"]]
    values["prototypes"] = PROTOTYPES.get(spec["prototypes"], spec["prototypes"])
    if values["job"] == "separation":
        del values["epochs"]  # was 0: nothing is trained
    return paper_cell(**values)


def convert_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record in the new format."""
    cell = convert_spec(record["spec"])
    known = {"format": FORMAT, "address": cell.address, "cell": asdict(cell)}
    rest = {
        "sphere" if name == "look" else name: value
        for name, value in record.items()
        if name not in known
    }
    return known | {name: value for name, value in rest.items() if name != "spec"}


def convert_folder(folder: Path) -> dict[str, str]:
    """Convert the records below a folder; return the new address of each old one."""
    moved = {}
    for path in sorted(folder.glob("*/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] == BEFORE:
            converted = convert_record(record)
            write_json(path.with_name(f"{converted['address']}.json"), converted)
            path.unlink()
            moved[record["address"]] = converted["address"]
    return moved


if __name__ == "__main__":
    for name in sys.argv[1:] or ["results/cells"]:
        print(f"{name}: {len(convert_folder(Path(name)))} records converted")
