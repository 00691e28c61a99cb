"""Classes that come, go or are renamed after training, and what that does to the old ones."""

from hyperproto.evaluation.new_classes.add import add_classes
from hyperproto.evaluation.new_classes.change import remove_classes, rename_classes
from hyperproto.evaluation.new_classes.report import Changed, ClassChange

__all__ = ["Changed", "ClassChange", "add_classes", "remove_classes", "rename_classes"]
