"""Damage to files: of bytes, and of the structure of JSON, alone or within gzip and safetensors."""

import gzip
import json
import random
import struct
from typing import Any

ODD_BYTES = (
    b"",
    b"\x00",
    b"\xff\xff\xff\x7f",
    b"\xff" * 8,
    b"\x80",
    b"\n",
    b'"',
    b",",
    b"9" * 400,
    b"-1",
    b"nan",
    b"..",
)
ODD_VALUES = (
    None, True, 0, -1, 2, 1e308, 10**30, -(2**63), float("nan"), float("inf"), "", "x" * 3000, "\x00", "\ud800",
    "../..", [], {}, [[]], [None], [1, 2, 3], {"a": 1}, {"name": None},
)  # fmt: skip


def damage(content: bytes, draw: random.Random) -> bytes:
    """Return a file that differs from a good one, by structure where it has one."""
    if content[:2] == b"\x1f\x8b" and draw.random() < 0.5:
        return gzip.compress(damage(gzip.decompress(content), draw), compresslevel=1)
    if draw.random() < 0.5:
        for structured in (_json, _json_lines, _safetensors):
            try:
                return structured(content, draw)
            except (ValueError, KeyError, struct.error, RecursionError):
                continue
    for _ in range(draw.choice((1, 1, 1, 2, 5, 20))):
        content = _bytes(content, draw)
    return content


def _bytes(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(min(len(content), draw.choice((16, 256, 1 << 30))) + 1)  # headers first
    end = min(len(content), at + draw.choice((1, 1, 2, 4, 8, 64, 1000)))
    kind = draw.randrange(7)
    if kind == 0:  # flip a bit
        flipped = bytes(byte ^ 1 << draw.randrange(8) for byte in content[at : at + 1])
        return content[:at] + flipped + content[at + 1 :]
    if kind == 1:
        return content[:at] + draw.randbytes(end - at) + content[end:]
    if kind == 2:
        return content[:at] + content[end:]
    if kind == 3:
        return content[:at] + content[at:end] * draw.choice((2, 3, 50)) + content[end:]
    if kind == 4:
        odd = draw.choice(ODD_BYTES)
        return content[:at] + odd + content[at + draw.choice((0, len(odd))) :]
    if kind == 5:
        return content[:at]
    other = draw.randrange(len(content) + 1)
    return content[:at] + content[other : other + end - at] + content[end:]


def _json(content: bytes, draw: random.Random) -> bytes:
    return json.dumps(_change(json.loads(content), draw)).encode()


def _json_lines(content: bytes, draw: random.Random) -> bytes:
    lines = [json.loads(line) for line in content.splitlines()]
    index = draw.randrange(len(lines))
    lines[index] = _change(lines[index], draw)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _safetensors(content: bytes, draw: random.Random) -> bytes:
    """Change a header, or the JSON that an entry of its metadata is."""
    (size,) = struct.unpack("<Q", content[:8])
    header, tensors = json.loads(content[8 : 8 + size]), content[8 + size :]
    about = header.get("__metadata__", {})
    if about and draw.random() < 0.7:
        key = draw.choice(sorted(about))
        about[key] = json.dumps(_change(json.loads(about[key]), draw))
    else:
        header = _change(header, draw)
    changed = json.dumps(header).encode()
    return struct.pack("<Q", len(changed)) + changed + tensors


def _change(value: Any, draw: random.Random) -> Any:
    """Change one part, at any depth: another value, one less, one more, or one
    under another name.
    """
    if not isinstance(value, dict | list) or not value or draw.random() < 0.15:
        return draw.choice(ODD_VALUES) if draw.random() < 0.9 else [value]
    keys = sorted(value) if isinstance(value, dict) else range(len(value))
    key: Any = draw.choice(keys)
    kind = draw.random()
    if kind < 0.1:
        value.pop(key)
    elif kind < 0.15 and isinstance(value, dict):
        value[str(draw.choice(ODD_VALUES))] = value.pop(key)
    elif kind < 0.2 and isinstance(value, list):
        value.extend([value[key]] * draw.choice((1, 100)))
    elif kind < 0.25:
        value[key] = value[draw.choice(keys)]
    elif isinstance(value[key], int | float) and kind < 0.4:
        value[key] = value[key] * draw.choice((-1, 0, 2, 1000, 10**9))
    else:
        value[key] = _change(value[key], draw)
    return value
