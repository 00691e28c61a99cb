"""What a backbone says about inputs it was not built for. Shapes and dtypes only: no synchronisation."""

from torch import Tensor

from hyperproto._core.errors import InputError, InputTypeError

__all__ = ["check_images", "check_rows"]

CHANNELS = {1: "1 (grey)", 3: "3 (RGB)"}


def check_images(images: Tensor, channels: int, *, at_least: int = 1, size: int | None = None) -> None:
    """Check that ``images`` is a batch of floating-point images of the right channels and size.

    Parameters
    ----------
    images : Tensor, shape (n, channels, height, width)
    channels : int
        What the first convolution takes.
    at_least : int, default 1
        Pixels the shorter side must have.
    size : int, optional
        Height and width that must hold exactly.
    """
    if images.ndim != 4:
        raise InputError(f"`images` must have shape (n, {channels}, height, width); got {tuple(images.shape)}.")
    _check_floats(images, "images", "Call .float() on them and divide by 255.")
    found, height, width = images.shape[1:]
    if found != channels:
        raise InputError(
            f"`images` must have {CHANNELS.get(channels, channels)} channels for this network; "
            f"got {CHANNELS.get(found, found)}. Build the network with channels={found}, or convert the images."
        )
    if size is not None and not height == width == size:
        raise InputError(
            f"`images` must be {size} x {size} pixels for this network; got {height} x {width}. "
            "Resize them, or build the network with their size."
        )
    if min(height, width) < at_least:
        raise InputError(
            f"`images` must be at least {at_least} pixels high and wide for this network; got {height} x {width}. "
            "Enlarge them, or choose a network with fewer stages."
        )


def check_rows(rows: Tensor, in_features: int) -> None:
    """Check that ``rows`` is a batch of floating-point rows of the right length."""
    if rows.ndim != 2 or rows.shape[1] != in_features:
        raise InputError(
            f"`rows` must have shape (n, {in_features}) for this network; got {tuple(rows.shape)}. "
            "Build the network with in_features equal to the number of columns."
        )
    _check_floats(rows, "rows", "Call .float() on them.")


def _check_floats(inputs: Tensor, name: str, hint: str) -> None:
    if not inputs.is_floating_point():
        raise InputTypeError(f"`{name}` must be floating point; got {inputs.dtype}. {hint}")
