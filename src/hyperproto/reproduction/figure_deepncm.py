"""The Deep NCM figure: test accuracy on CIFAR-100 after every epoch, beside class means that are learned."""

from dataclasses import replace

from hyperproto.reproduction.experiment import Entry, Experiment, Printed
from hyperproto.reproduction.scales import at_scale
from hyperproto.reproduction.spec import Spec
from hyperproto.reproduction.table1 import with_cosine_softmax

__all__ = ["EXPERIMENT"]

SPHERE = Spec(data="cifar-100", network="resnet-32", dim=100, prototypes="paper")
# their loss is a softmax, averaged; the paper runs it "with the same hyperparameter settings"
MEANS = replace(SPHERE, space="deep-ncm", prototypes=None, reduction="mean")
ROWS = {
    "This paper": SPHERE,
    "Deep NCM, mean condensation": replace(MEANS, mean="condensation"),
    "Deep NCM, mean decay": replace(MEANS, mean="decay"),
    "Deep NCM, online means": replace(MEANS, mean="online"),
}
PAST = {
    "Our placement": replace(SPHERE, prototypes="ours"),
    "Authors' prototypes": replace(SPHERE, prototypes="authors"),
    "Our placement, cosine softmax": with_cosine_softmax(replace(SPHERE, prototypes="ours")),
}
LAST = {"This paper": Printed(65.0, 0.3)}  # Table 1; the figure itself prints no numbers


def entries(scale: str) -> list[Entry]:
    """Return a curve a row; at scale "cpu", 7 cells of 31 s x 2 seeds on 2 cores: 4 minutes."""
    return [
        Entry(row, "last epoch", at_scale(spec, scale), "class/accuracy", LAST.get(row), past=row in PAST)
        for row, spec in (ROWS | PAST).items()
    ]


EXPERIMENT = Experiment(
    name="figure-deepncm",
    title="Deep NCM: accuracy (%) on CIFAR-100 after every epoch",
    entries=entries,
    figure="curves",
    compare=("This paper",),
)
