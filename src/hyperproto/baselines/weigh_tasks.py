"""The one number that balances regression against classification in Table 6."""

from collections.abc import Mapping
from dataclasses import replace

from hyperproto._core.checks import check_finite_number
from hyperproto._core.errors import InputError
from hyperproto.spaces.output_space import parse_tasks
from hyperproto.spaces.tasks import Task, class_tasks, range_tasks

__all__ = ["weigh_tasks"]


def weigh_tasks(tasks: Mapping[str, Task], weight: float) -> dict[str, Task]:
    r"""Return the tasks with weight w on every range and 1 - w on every class task, in place of their own.

    .. math:: \mathcal{L} = w\,\mathcal{L}_{regression} + (1 - w)\,\mathcal{L}_{classification}

    Table 6 varies w from 0.01 to 0.90, for the multi-task baseline and for the sphere, which needs no weight: its
    plain sum is w = 1/2 at twice the learning rate.

    Parameters
    ----------
    tasks : mapping from names to Classes or Range
        What a :class:`~hyperproto.spaces.space.Space` or a baseline takes.
    weight : float
        w, greater than 0 and less than 1.

    Examples
    --------
    >>> from hyperproto.baselines import ConventionalSpace
    >>> from hyperproto.spaces import Classes, Range
    >>> space = ConventionalSpace(weigh_tasks({"style": Classes(46), "year": Range(1000, 1932)}, 0.25))
    >>> space.tasks["style"].weight, space.tasks["year"].weight
    (0.75, 0.25)
    """
    weight = check_finite_number(weight, "weight", above=0)
    if weight >= 1:
        raise InputError("weight", "be less than 1", f"{weight:g}", "Leave a task out to give it no weight.")
    named, _ = parse_tasks(tasks, {})
    classes, ranges = class_tasks(named), range_tasks(named)
    weighted: dict[str, Task] = {name: replace(task, weight=weight) for name, task in ranges.items()}
    weighted |= {name: replace(task, weight=1 - weight) for name, task in classes.items()}
    return {name: weighted[name] for name in named}
