"""Small image files that take seconds to minutes to decode, each by another trick of its format."""

import io
import struct
import zlib

from PIL import Image


def encode(kind, size=(64, 64), mode="RGB", **options):
    file = io.BytesIO()
    Image.new(mode, size, "red" if mode == "RGB" else 0).save(file, kind, **options)
    return file.getvalue()


def jpeg_of_scans(count, side=4096):
    """Return a progressive JPEG whose last scan is repeated."""
    good = encode("JPEG", (side, side), progressive=True)
    return good[:-2] + good[good.rindex(b"\xff\xda") : -2] * count + good[-2:]


def ppm_of_comments(count):
    return b"P6\n" + b"#\n" * count + b"8 8 255\n" + bytes(192)


def tiff_of_strips(count, height=64):
    """Return a TIFF that says it has so many strips, each empty."""
    tags = [(256, 64), (257, height), (258, 8), (259, 1), (262, 1), (277, 1), (278, 1)]
    entries = [struct.pack("<HHLL", tag, 4, 1, value) for tag, value in tags]
    behind = 8 + 2 + 12 * (len(tags) + 2) + 4
    entries[5:5] = [struct.pack("<HHLL", 273, 4, count, behind)]
    entries.append(struct.pack("<HHLL", 279, 4, count, behind + 4 * count))
    head = b"II*\0" + struct.pack("<LH", 8, len(entries)) + b"".join(entries) + bytes(4)
    return head + struct.pack("<L", 8) * count + bytes(4 * count)


def png_of_chunks(count):
    good = encode("PNG")
    start = good.index(b"IDAT") - 4
    empty = struct.pack(">L", 0) + b"IDAT" + struct.pack(">L", zlib.crc32(b"IDAT"))
    return good[:start] + empty * count + good[start:]


def bmp_of_runs(side=4096):
    """Return a BMP of eight bits, compressed by run lengths."""
    pixels = b"\x00\x01" * 2**17
    head = struct.pack("<LllHHLLllLL", 40, side, side, 1, 8, 1, len(pixels), 1, 1, 256, 0)
    start = 14 + len(head) + 1024
    return b"BM" + struct.pack("<LLL", start + len(pixels), 0, start) + head + bytes(1024) + pixels


HOSTILE = {
    "scans": lambda: jpeg_of_scans(5_946),
    "comments": lambda: ppm_of_comments(2_000_000),
    "strips": lambda: tiff_of_strips(1_900_000, 2_000_000),
    "strips of few rows": lambda: tiff_of_strips(60_000),
    "chunks": lambda: png_of_chunks(1_300_000),
    "runs": bmp_of_runs,
    "bits": lambda: b"P1\n4096 4096\n" + b"0 " * 2**20,
}
