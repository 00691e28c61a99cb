"""Augmentation one sample and one pixel at a time: slow, and plain to see."""

import math

import numpy as np
import torch


def pad_crop_flip(image, top, left, size, padding, mirror):
    """Crop and mirror one image, uint8, shape (height, width, channels), by looking up every pixel."""
    height, width, channels = image.shape
    result = np.zeros((size, size, channels), dtype=np.uint8)
    for row in range(size):
        for column in range(size):
            y, x = top + row - padding, left + column - padding
            if 0 <= y < height and 0 <= x < width:
                result[row, size - 1 - column if mirror else column] = image[y, x]
    return result


def warp(image, box, size, degrees=None):
    """Turn one image about its centre and scale a box of it to a square, by linear interpolation; float64."""
    side, _, channels = image.shape
    top, left, height, width = (int(value) for value in box)
    turn = math.radians(degrees or 0)
    result = np.zeros((size, size, channels))
    for row in range(size):
        for column in range(size):
            y = top + (row + 0.5) / size * height - side / 2
            x = left + (column + 0.5) / size * width - side / 2
            y, x = math.sin(turn) * x + math.cos(turn) * y, math.cos(turn) * x - math.sin(turn) * y
            result[row, column] = _between(image, y + side / 2 - 0.5, x + side / 2 - 0.5, black=degrees is not None)
    return result


def _between(image, y, x, *, black):
    side = image.shape[0]
    total = np.zeros(image.shape[2])
    for row in (math.floor(y), math.floor(y) + 1):
        for column in (math.floor(x), math.floor(x) + 1):
            share = (1 - abs(y - row)) * (1 - abs(x - column))
            inside = 0 <= row < side and 0 <= column < side
            if inside or not black:
                total += share * image[min(max(row, 0), side - 1), min(max(column, 0), side - 1)]
    return total


def normalise(image, mean, std):
    """Return (image / 255 - mean) / std in float64, shape (channels, height, width)."""
    values = (torch.from_numpy(image).double() / 255 - torch.tensor(mean, dtype=torch.float64)) / torch.tensor(
        std, dtype=torch.float64
    )
    return values.permute(2, 0, 1)
