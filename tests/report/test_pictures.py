import numpy as np
import pytest
from PIL import Image

from hyperproto.report.pictures import draw_contact_sheet


def read(path, mode):
    with Image.open(path) as image:
        return np.asarray(image.convert(mode))


def test_every_image_is_on_the_sheet_in_its_own_color(tmp_path):
    colors = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (0, 255, 255), (255, 0, 255), (9, 9, 200)]
    pictures = [(np.full((8, 8 + 300 * (i % 2), 3), color, np.uint8), f"class {i}") for i, color in enumerate(colors)]
    draw_contact_sheet(pictures, tmp_path / "sheet.png")
    sheet = read(tmp_path / "sheet.png", "RGB")
    for color in colors:
        assert (sheet == color).all(axis=2).any()
    assert sheet.shape[1] > sheet.shape[0] > 256  # six next to each other, and a second row


def test_captions_longer_than_their_image_are_shortened(tmp_path):
    black = np.zeros((8, 8, 3), np.uint8)
    draw_contact_sheet([(black, "long " * 50)], tmp_path / "long.png")
    draw_contact_sheet([(black, "")], tmp_path / "none.png")
    long, none = (read(tmp_path / f"{name}.png", "L") for name in ("long", "none"))
    assert long.shape == none.shape
    assert (long < 128).sum() > (none < 128).sum()
    assert (long[:, -4:] == 255).all()  # nothing runs over the edge


def test_no_image_is_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="must hold at least one image"):
        draw_contact_sheet([], tmp_path / "sheet.png")
