import io
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hyperproto
from hyperproto.data import ImagePreprocessing
from hyperproto.data.image_files import ImageFiles, find_corrupt
from hyperproto.runtime.images import EXTENSIONS, CorruptImageError
from hyperproto.runtime.images import decode as decode_channels_last
from tests.attack import images as hostile

RGB = ImagePreprocessing(size=16)
GREY = ImagePreprocessing(size=16, mean=(0.5,), std=(0.5,))


def decode(path, preprocessing):
    return decode_channels_last(path, preprocessing).transpose(2, 0, 1)


def ramp(width=16, height=16):
    """Red grows to the right, green downwards."""
    x, y = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([x, y, np.full_like(x, 40)], axis=2).astype(np.uint8))


def test_an_image_of_the_right_size_is_taken_as_it_is(tmp_path):
    ramp().save(tmp_path / "a.png")
    assert np.array_equal(decode(tmp_path / "a.png", RGB), np.asarray(ramp()).transpose(2, 0, 1))


def test_the_shorter_side_is_scaled_and_the_middle_kept(tmp_path):
    ramp(96, 32).save(tmp_path / "wide.png")
    got = decode(tmp_path / "wide.png", RGB)
    assert got.shape == (3, 16, 16)
    red, green = got[0, 8].astype(int), got[1, :, 8].astype(int)
    assert red[0] == pytest.approx(255 / 3, abs=4)  # the middle third
    assert red[-1] == pytest.approx(255 * 2 / 3, abs=4)
    assert green[0] < 8
    assert green[-1] > 247
    larger = decode(tmp_path / "wide.png", ImagePreprocessing(size=16, resize=20))
    assert larger.shape == (3, 20, 20)


def test_a_large_jpeg_decoded_small_looks_the_same(tmp_path):
    ramp(512, 512).save(tmp_path / "a.jpg", quality=95)
    exact = np.asarray(ramp(512, 512).resize((16, 16), Image.Resampling.BOX)).transpose(2, 0, 1)
    assert np.abs(decode(tmp_path / "a.jpg", RGB).astype(int) - exact).max() < 10


def test_a_photograph_is_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held a quarter turn clockwise
    ramp().save(tmp_path / "a.png", exif=exif)
    assert np.array_equal(
        decode(tmp_path / "a.png", RGB), np.asarray(ramp().rotate(-90)).transpose(2, 0, 1)
    )


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "RGBA", "LA", "I;16", "YCbCr"])
@pytest.mark.parametrize("preprocessing", [RGB, GREY], ids=["rgb", "gray"])
def test_any_kind_of_pixel_becomes_rgb_or_gray(tmp_path, mode, preprocessing):
    gray = np.full((16, 16), 255, dtype=np.uint8)
    gray[:8] = 0
    image = Image.fromarray(gray)
    image = (
        Image.fromarray(gray.astype(np.uint16) * 257)
        if mode == "I;16"
        else image.convert("RGB").convert(mode)
    )
    image.save(tmp_path / ("a.tif" if mode in ("CMYK", "YCbCr") else "a.png"))
    got = decode(next(tmp_path.iterdir()), preprocessing)
    assert got.shape == (preprocessing.channels, 16, 16)
    assert (got[:, :8] <= 1).all()
    assert (got[:, 8:] >= 254).all()


def test_what_is_transparent_becomes_white(tmp_path):
    clear = ramp().convert("RGBA")
    clear.putalpha(0)
    clear.save(tmp_path / "a.png")
    assert (decode(tmp_path / "a.png", RGB) == 255).all()
    palette = ramp().convert("P")
    palette.save(tmp_path / "p.png", transparency=palette.getpixel((0, 0)))
    assert (decode(tmp_path / "p.png", RGB)[:, 0, 0] == 255).all()


@pytest.mark.parametrize("mode", ["RGBA", "P", "LA", "I;16", "CMYK"])
@pytest.mark.parametrize("preprocessing", [RGB, GREY], ids=["rgb", "gray"])
def test_an_image_that_is_converted_in_strips_is_the_same(
    tmp_path, monkeypatch, mode, preprocessing
):
    noise = np.random.default_rng(0).integers(0, 256, (50, 40, 4), dtype=np.uint8)
    image = Image.fromarray(noise)
    if mode == "I;16":
        image = Image.fromarray(noise[..., 0].astype(np.uint16) * 257)
    else:
        image = (image if mode.endswith("A") else image.convert("RGB")).convert(mode)
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    image.save(path, **({"transparency": 3} if mode == "P" else {}))
    whole = decode(path, preprocessing)
    monkeypatch.setattr("hyperproto.runtime.images.STRIP", 7 * 40)
    assert np.array_equal(decode(path, preprocessing), whole)


PEAK = """
import sys
from hyperproto.runtime.images import ImagePreprocessing, decode
def peak():
    return 1024 * int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
before = peak()
decode(open(sys.argv[1], "rb").read(), ImagePreprocessing(224))
print(peak() - before)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the peak of memory from /proc"
)
def test_a_large_image_with_transparency_takes_few_bytes_for_each_pixel(tmp_path):
    path = tmp_path / "a.png"
    Image.new("P", (4096, 4096)).save(path, transparency=0)
    assert path.stat().st_size < 2**15
    run = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 9 * 4096**2  # 1 as it is stored, 4 in RGB; converted at once, 17


def encoded(kind):
    file = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(file, kind)
    return file.getvalue()


CORRUPT = {
    "page.jpg": (
        b"\n <!DOCTYPE html><html><body>404 Not Found</body></html>",
        "a file of no known format .it starts with b'.*<!DOCTYPE html",
    ),
    "empty.jpg": (b"", "an empty file"),
    "cut.jpg": (encoded("jpeg")[:1500], "a file that is cut short"),
    "cut.png": (encoded("png")[:3000], "a file that is cut short"),
    "pointer.png": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
        "a file of no known format .it starts with b'version https://git-lfs",
    ),
    "noise.png": (
        b"\x00\x01\x02\x03nothing anyone knows",
        "a file of no known format .it starts with",
    ),
    "broken.png": (
        encoded("png")[:200] + b"\xff" * 3000 + encoded("png")[3200:],
        "a file that (cannot be decoded|is cut short)",
    ),
}


@pytest.mark.parametrize("name", CORRUPT)
def test_a_file_that_is_no_image_is_named_with_what_it_is(tmp_path, name):
    content, sentence = CORRUPT[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        CorruptImageError, match=f'{name}" must be an image; got ({sentence}).* skip_corrupt=True'
    ):
        decode(tmp_path / name, RGB)


def test_a_missing_file_is_not_a_corrupt_one(tmp_path):
    with pytest.raises(
        FileNotFoundError, match='gone.jpg" must be an image file that can be opened: No such file'
    ):
        decode(tmp_path / "gone.jpg", RGB)


def test_more_pixels_than_can_be_meant_get_a_sentence(tmp_path, monkeypatch):
    ramp(40, 40).save(tmp_path / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(
        CorruptImageError, match='bomb.png" must be an image; got .*exceeds limit of 200 pixels'
    ):
        decode(tmp_path / "bomb.png", RGB)


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\nshowpage\n%%EOF\n"


def test_an_image_that_would_start_another_program_is_refused_whatever_its_name(
    tmp_path, monkeypatch
):
    def started(*args, **kwargs):
        raise AssertionError("Ghostscript was started")

    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", started)
    (tmp_path / "photo.jpg").write_bytes(POSTSCRIPT)
    with pytest.raises(
        CorruptImageError, match="of no known format \\(it starts with b'%!PS-Adobe"
    ):
        decode(tmp_path / "photo.jpg", RGB)
    assert list(find_corrupt(ImageFiles([tmp_path / "photo.jpg"]))) == [0]


def test_an_image_is_read_by_its_content_among_the_formats_of_our_extensions(tmp_path):
    for extension, kind in EXTENSIONS.items():
        path = tmp_path / f"misnamed{extension}"
        ramp().save(path, format="PNG" if kind == "JPEG" else "JPEG")
        assert decode(path, RGB).shape == (3, 16, 16)
    ramp().save(tmp_path / "a.jpg", format="TGA")
    with pytest.raises(CorruptImageError, match="a file of no known format"):
        decode(tmp_path / "a.jpg", RGB)


@pytest.mark.parametrize("trick", hostile.HOSTILE)
def test_a_file_that_takes_minutes_to_decode_is_refused_at_once(tmp_path, trick):
    (tmp_path / "a.png").write_bytes(hostile.HOSTILE[trick]())
    started = time.process_time()
    with pytest.raises(CorruptImageError, match="a file that cannot be decoded"):
        decode(tmp_path / "a.png", RGB)
    assert list(find_corrupt(ImageFiles([tmp_path / "a.png"]))) == [0]
    assert time.process_time() - started < 2


ALMOST = {
    "scans": lambda: hostile.jpeg_of_scans(90, side=64),
    "comments": lambda: hostile.ppm_of_comments(32_000),
    "strips": lambda: hostile.tiff_of_strips(64),
    "chunks": lambda: hostile.png_of_chunks(9_990),
}


@pytest.mark.parametrize("trick", ALMOST)
def test_a_file_with_almost_as_many_parts_as_are_refused_is_decoded(tmp_path, trick):
    (tmp_path / "a.png").write_bytes(ALMOST[trick]())
    assert decode(tmp_path / "a.png", RGB).shape == (3, 16, 16)


def test_bytes_behind_a_photograph_are_not_taken_for_scans(tmp_path):
    video = np.random.default_rng(0).bytes(2**23)  # 128 times the two bytes of a marker
    assert video.count(b"\xff\xda") > 100
    (tmp_path / "a.jpg").write_bytes(encoded("jpeg") + video)
    assert decode(tmp_path / "a.jpg", RGB).shape == (3, 16, 16)


def test_images_are_opened_in_one_place_only():
    places = (Path(package.__file__).parent for package in (hyperproto,))
    files = [path for place in places for path in place.rglob("*.py")]
    opened = [path.name for path in files if "pillow.open(" in path.read_text(encoding="utf-8")]
    assert opened == ["images.py"]
