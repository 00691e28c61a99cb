"""Several processes, started here or by ``torchrun`` and its like, one thread in each, and seeds
for them.
"""

import atexit
import gc
import hashlib
import math
import os
import signal
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
Task: TypeAlias = tuple[Callable[..., Any], tuple[object, ...]]  # a function and its arguments


def derive_seed(seed: int, *keys: int | str) -> int:
    """Return a 63-bit seed for the stream named by ``keys``, the same on every machine and in every
    process.

    >>> derive_seed(0, "epoch", 3) == derive_seed(0, "epoch", 3)
    True
    >>> derive_seed(0, "epoch", 3) == derive_seed(0, "epoch", 4)
    False
    """
    text = "\x1f".join(map(str, (seed, *keys)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def join_group() -> tuple[int, int]:
    """Return which process this is and how many there are, after joining those that were started
    together, where that has not happened yet.
    """
    import torch

    distributed = torch.distributed
    if started_processes() > 1:
        # its defaults keep the group that is there when it is imported: before there is one
        import torch.distributed.nn

        if not distributed.is_initialized():
            device = own_device()
            if device.index is not None:
                torch.accelerator.set_device_index(device.index)
            distributed.init_process_group()
            atexit.register(_leave)
    if not (distributed.is_available() and distributed.is_initialized()):
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


def own_device() -> "torch.device":
    """Return where this process computes: a device that torch finds, each process on one of its
    own, or the CPU.
    """
    import torch

    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    alone = started_processes() == 1
    if found is None or (found.type == "mps" and not alone):  # on which processes cannot meet
        return torch.device("cpu")
    return found if alone else torch.device(found.type, int(os.environ.get("LOCAL_RANK", "0")))


def is_first() -> bool:
    """Whether this process is the one that writes files and prints."""
    return int(os.environ.get("RANK", "0")) == 0


def from_first(make: Callable[[], T]) -> T:
    """Return what the first process makes; the others receive it."""
    rank, processes = join_group()
    if processes == 1:
        return make()
    import torch

    box = [make() if rank == 0 else None]
    torch.distributed.broadcast_object_list(box, src=0)
    made: T = box[0]  # type: ignore[assignment]  # received by now
    return made


def cpu_count() -> int:
    """Return how many cores may be used; joblib knows the limits of a container, too."""
    try:
        from joblib import cpu_count as usable
    except ModuleNotFoundError:
        return os.cpu_count() or 1
    return int(usable())


def free_memory() -> float:
    """Return how many bytes of memory are free, as psutil knows; infinitely many without it."""
    try:
        import psutil
    except ModuleNotFoundError:
        return math.inf
    return float(psutil.virtual_memory().available)


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold linear algebra to one thread, for a block or a decorated function: how many there are
    changes the last bits of what it computes.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield


def run_tasks(
    tasks: Sequence[Task], workers: int, *, in_order: bool = True
) -> Generator[Any, None, None]:
    """Yield what comes of each task, in the order of the tasks or as they end, from one or several
    processes.

    One worker is this very process, and so are several where joblib is not installed. Closing the
    generator ends what the processes are doing. Linear algebra runs on one thread there, and an
    interrupt (Ctrl-C) is left to this process.
    """
    if workers == 1 or find_spec("joblib") is None:
        yield from (function(*arguments) for function, arguments in tasks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(
        workers,
        backend="loky",
        return_as="generator" if in_order else "generator_unordered",
        batch_size=1,
        max_nbytes=None,  # arguments are copied: tasks may write to them
        inner_max_num_threads=1,
    )
    with _blocked_interrupts():
        results = parallel(delayed(function)(*arguments) for function, arguments in tasks)
    try:
        for result in results:  # noqa: UP028
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of tasks that were not used: that is what ending early means
            results.close()


@contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Start processes that never see the Ctrl-C which a terminal sends to all: they are ended by
    this one.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave() -> None:
    """Leave the group; a process that just ends may abort, and torchrun then
    counts it as failed.
    """
    import torch

    if torch.distributed.is_initialized():
        gc.collect()  # references to the group would outlive it
        torch.distributed.destroy_process_group()


def started_processes() -> int:
    """Return how many processes were started to work together, by ``torchrun`` and its like."""
    return int(os.environ.get("WORLD_SIZE", "1"))
