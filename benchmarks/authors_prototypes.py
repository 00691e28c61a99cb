"""Ours against the authors' published prototypes, file by file.

``HYPERPROTO_AUTHORS`` must name the folder of their ``prototypes-{D}d-{K}c.npy`` files.
"""

import os
import re
from pathlib import Path

import hyperproto as hp


def measure() -> tuple[str, list[dict[str, object]]]:
    folder = os.environ.get("HYPERPROTO_AUTHORS")
    if not folder:
        return "Authors' prototypes", [
            {"skipped": "set HYPERPROTO_AUTHORS to the folder of the authors' .npy files"}
        ]
    rows = []
    for path in sorted(Path(folder).glob("prototypes-*d-*c.npy"), key=shape):
        dim, num_classes = shape(path)
        theirs = hp.Prototypes.from_npy(path).certificate
        ours = hp.place(num_classes, dim).certificate
        rows.append(
            {
                "K": num_classes,
                "D": dim,
                "authors": round(theirs.max_cosine, 6),
                "ours": round(ours.max_cosine, 6),
                "bound": round(ours.bound, 6),
                "better": ours.max_cosine < theirs.max_cosine,
                "method": ours.method.partition(" (")[0],
            }
        )
    return "Maximum cosine: the authors' published prototypes and ours (balanced)", rows


def shape(path: Path) -> tuple[int, int]:
    dim, num_classes = re.findall(r"\d+", path.stem)
    return int(dim), int(num_classes)
