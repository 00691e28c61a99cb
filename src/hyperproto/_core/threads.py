"""One thread for linear algebra: the number of threads changes the order of a sum, and so its last bits."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold numpy's and scipy's linear algebra to one thread while the block runs."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield
