"""Augmentation one sample and one pixel at a time: slow, and plain to see."""

import math

import numpy as np
import torch


def pad_crop_flip(image, top, left, size, padding, mirror):
    """Crop and mirror one image, uint8, shape (height, width, channels), by
    looking up every pixel.
    """
    height, width, channels = image.shape
    result = np.zeros((size, size, channels), dtype=np.uint8)
    for row in range(size):
        for column in range(size):
            y, x = top + row - padding, left + column - padding
            if 0 <= y < height and 0 <= x < width:
                result[row, size - 1 - column if mirror else column] = image[y, x]
    return result


def scale_box(image, box, size):
    """Scale a box of one image to a square by linear interpolation; float64."""
    side, _, channels = image.shape
    top, left, height, width = (int(value) for value in box)
    result = np.zeros((size, size, channels))
    for row in range(size):
        for column in range(size):
            y, x = (
                top + (row + 0.5) / size * height - 0.5,
                left + (column + 0.5) / size * width - 0.5,
            )
            for near_y in (math.floor(y), math.floor(y) + 1):
                for near_x in (math.floor(x), math.floor(x) + 1):
                    share = (1 - abs(y - near_y)) * (1 - abs(x - near_x))
                    result[row, column] += (
                        share * image[min(max(near_y, 0), side - 1), min(max(near_x, 0), side - 1)]
                    )
    return result


def normalize(image, mean, std):
    """Return (image / 255 - mean) / std in float64, shape (channels, height, width)."""
    values = (
        torch.from_numpy(image).double() / 255 - torch.tensor(mean, dtype=torch.float64)
    ) / torch.tensor(std, dtype=torch.float64)
    return values.permute(2, 0, 1)
