"""The Deep NCM figure: test accuracy on CIFAR-100 after every epoch, next to class means that are
learned.
"""

from reproduction.cell import at_scale, paper_cell
from reproduction.experiment import Entry, Experiment, Printed
from reproduction.rates import with_cosine_softmax

SPHERE = paper_cell(reader="cifar-100", backbone="resnet-32", dim=100, prototypes="paper")
# their loss is a softmax, averaged; the paper runs it "with the same hyperparameter settings"
MEANS = SPHERE.but(kind="deep-ncm", prototypes=None, reduction="mean")
ROWS = {
    "This paper": SPHERE,
    "Deep NCM, mean condensation": MEANS.but(mean="condensation"),
    "Deep NCM, mean decay": MEANS.but(mean="decay"),
    "Deep NCM, online means": MEANS.but(mean="online"),
}
BEYOND = {
    "Our placement": SPHERE.but(prototypes="ours"),
    "Authors' prototypes": SPHERE.but(prototypes="authors"),
    "Our placement, cosine softmax": with_cosine_softmax(SPHERE.but(prototypes="ours")),
}
LAST = {"This paper": Printed(65.0, 0.3)}  # Table 1; the figure itself prints no numbers


def entries(scale: str) -> list[Entry]:
    """Return one curve per row; at scale "cpu", 7 cells of 31 s x 2 seeds on 2 cores: 4 minutes."""
    return [
        Entry(
            row,
            "last epoch",
            at_scale(cell, scale),
            "class/accuracy",
            LAST.get(row),
            beyond=row in BEYOND,
        )
        for row, cell in (ROWS | BEYOND).items()
    ]


EXPERIMENT = Experiment(
    name="figure-deepncm",
    title="Deep NCM: accuracy (%) on CIFAR-100 after every epoch",
    entries=entries,
    figure="curves",
    compare=("This paper",),
)
