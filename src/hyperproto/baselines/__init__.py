"""Shelf 6: what the sphere is compared with, behind the same protocol."""

from hyperproto.baselines.config import space_from_dict, space_to_dict
from hyperproto.baselines.conventional import ConventionalSpace
from hyperproto.baselines.deep_ncm import DeepNCM
from hyperproto.baselines.weigh_tasks import weigh_tasks

__all__ = ["ConventionalSpace", "DeepNCM", "space_from_dict", "space_to_dict", "weigh_tasks"]
