"""What there is to see on a sphere, as plain arrays: the one input of the picture and of the page."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperproto._core.errors import InputError

__all__ = ["SphereView"]


@dataclass(frozen=True, eq=False)
class SphereView:
    """Outputs of a joint task on S², the pole pointing up.

    Attributes
    ----------
    points : array, shape (n, 3)
        Unit outputs: the range's axis first, as the space lays them out.
    labels : array of int, shape (n,)
        True class of each point.
    values : array, shape (n,)
        True number of each point.
    prototypes : array, shape (num_classes, 2)
        Class prototypes in the plane of the last two axes.
    names : tuple of str
        Class names.
    value_name : str
        What the number is, with its unit.
    images : array of uint8, shape (n, height, width)
        The picture behind each point.
    """

    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    values: NDArray[np.float64]
    prototypes: NDArray[np.float64]
    names: tuple[str, ...]
    value_name: str
    images: NDArray[np.uint8]

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.points.shape[1] != 3:
            raise InputError(f"Only outputs on S² can be drawn; got points of shape {self.points.shape}.")

    @property
    def xyz(self) -> NDArray[np.float64]:
        """The points with the pole along z, as the paper draws them. Shape (n, 3)."""
        return self.points[:, [1, 2, 0]]

    @property
    def prototypes_xyz(self) -> NDArray[np.float64]:
        """The prototypes on the equator. Shape (num_classes, 3)."""
        return np.column_stack([self.prototypes, np.zeros(len(self.prototypes))])
