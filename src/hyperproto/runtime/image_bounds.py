"""Files that are small and take minutes to decode, refused before any of them is decoded.

Each bound is far above what programs write, and counts what costs time for no bytes or few.
"""

import re
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

SCANS = 100  # of a JPEG; a progressive one has about ten
PPM_HEADER = 2**16  # bytes; Pillow takes quadratic time for its comments
STRIPS = 2**16  # of a TIFF, or tiles
CHUNKS = 10_000  # of a PNG

# P5 or P6, width, height and the largest value, with blanks and comments between
PPM = re.compile(rb"P[56](?:(?:\s|#[^\r\n]*[\r\n])+\d+){3}\s")
STRIP_OFFSETS, TILE_OFFSETS, SAMPLES = 273, 324, 277  # tags of a TIFF


def check_content(content: bytes) -> None:
    """Raise ValueError where an image file is one of those, by its bytes alone."""
    match content[:2]:
        case b"\xff\xd8":
            # each scan starts by these, and next to nothing else does
            _check(content.count(b"\xff\xda\x00"), SCANS, "scans")
        case b"\x89P":
            _check(_count_chunks(content), CHUNKS, "chunks")
        case b"II" | b"MM":
            _check(_count_strips(content), STRIPS, "strips")
        case b"P0" | b"P1" | b"P2" | b"P3" | b"P4" | b"P5" | b"P6" | b"Pf" | b"Py":
            if not PPM.match(content, 0, PPM_HEADER):
                raise ValueError(f"not P5 or P6, or over {PPM_HEADER:,} bytes before its pixels")


def check_opened(image: "ImageFile") -> None:
    """Raise ValueError where an image is one of those, by what its header says."""
    if image.format == "BMP" and image.tile and image.tile[0][0] == "bmp_rle":
        raise ValueError("a BMP compressed by run lengths")
    if image.format == "TIFF":
        tags = image.tag_v2  # type: ignore[attr-defined]  # of a TiffImageFile
        _check(len(tags.get(STRIP_OFFSETS, ())), image.height * tags.get(SAMPLES, 1), "strips")


def _check(count: int, most: int, what: str) -> None:
    if count > most:
        raise ValueError(f"over {most:,} {what}")


def _count_chunks(content: bytes) -> int:
    """Return how many chunks a PNG has, or one more than it may have."""
    start, count = 8, 0
    while start < len(content) and count <= CHUNKS:
        start += 12 + int.from_bytes(content[start : start + 4], "big")
        count += 1
    return count


def _count_strips(content: bytes) -> int:
    """Return how many strips or tiles the first directory of a TIFF says that it has."""
    order = "<" if content[:2] == b"II" else ">"
    is_big = content[2:4] in (b"\x2b\x00", b"\x00\x2b")
    place, head, entry = (8, "Q", "HHQ8x") if is_big else (4, "H", "HHL4x")
    try:
        (start,) = struct.unpack_from(order + ("Q" if is_big else "L"), content, place)
        (entries,) = struct.unpack_from(order + head, content, start)
    except struct.error:  # cut short, which decoding it says
        return 0
    start += struct.calcsize(order + head)
    size = struct.calcsize(order + entry)
    entries = min(entries, (len(content) - start) // size)
    listed = struct.iter_unpack(order + entry, content[start : start + entries * size])
    counts = (count for tag, _, count in listed if tag in (STRIP_OFFSETS, TILE_OFFSETS))
    return max(counts, default=0)
