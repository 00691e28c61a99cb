"""Table 6: year and style of paintings together, over the weight of the two tasks."""

from typing import Any

from reproduction.cell import TUNED, WHOLE, Cell, at_scale, paper_cell
from reproduction.experiment import Entry, Experiment, Printed, constant_entries
from reproduction.rates import with_cosine_softmax

BASELINE, OURS = "MTL baseline", "This paper"
BEST = "MTL baseline, clamped only at test, weight and rate searched"
FAIR = "MTL baseline, absolute error, weight, rate, decay and epochs searched"
LATE, PLACED, AUTHORS, SOFTMAX = (
    "MTL baseline, clamped only at test",
    "Our placement",
    "Authors' prototypes",
    "Our placement, cosine softmax",
)
ONE = "this task alone"
GROUPS = {"Creation year (MAE)": "year/mae", "Art style (accuracy)": "school/accuracy"}
NO_WEIGHT = "no weight"
WEIGHTS = {"0.01": 0.01, "0.10": 0.10, "0.25": 0.25, "0.50": 0.50, "0.90": 0.90}
PAPER = {
    ("Creation year (MAE)", BASELINE): (262.7, 344.5, 348.5, 354.7, 352.3),
    ("Creation year (MAE)", OURS): (65.2, 64.6, 64.1, 68.3, 83.6),
    ("Art style (accuracy)", BASELINE): (44.6, 47.9, 49.5, 47.2, 47.1),
    ("Art style (accuracy)", OURS): (46.6, 51.2, 54.5, 52.6, 51.4),
}
# (3 + 3 + 3 weights + 4 without) x 2 seeds on 2 cores: 13 cells of 37 s are 8 minutes
SHOWN = {"full": tuple(WEIGHTS), "cpu": ("0.01", "0.25", "0.90"), "smoke": ("0.25",)}
SHOWN["head"] = SHOWN["medium"] = ("0.10", "0.50")

# paper: one pole for the year and 46 prototypes in the other 46 dimensions; rate 1e-3, batch 64 in
# their script
JOINT = paper_cell(
    reader="omniart",
    options=WHOLE,
    backbone="resnet-3463",
    dim=47,
    prototypes="paper",
    lr=0.001,
    batch_size=64,
)
CELLS = {
    # paper: squared error on the clamped year, softmax cross-entropy on the style
    BASELINE: JOINT.but(kind="conventional", dim=None, prototypes=None, clamp="train"),
    OURS: JOINT,
    LATE: JOINT.but(kind="conventional", dim=None, prototypes=None),
    PLACED: JOINT.but(prototypes="ours"),
    AUTHORS: JOINT.but(prototypes="authors"),
    SOFTMAX: with_cosine_softmax(JOINT.but(prototypes="ours")),
}
WEIGHED = (BASELINE, OURS, LATE)  # the sphere needs no weight: rows beyond the paper have none
UNWEIGHED = (OURS, PLACED, AUTHORS, SOFTMAX)
# at scale "head": one task in as many dimensions as it has next to the other
ALONE: dict[str, dict[str, Any]] = {
    "Creation year (MAE)": {"tasks": ("year",), "prototypes": None},
    "Art style (accuracy)": {"tasks": ("school",), "dim": 46},
}


def entries(scale: str) -> list[Entry]:
    """Return the table: first the years, then the styles, which are measured on the same runs."""
    table: list[Entry] = []
    for group, measure in GROUPS.items():
        table += [
            Entry(
                f"{group}: {row}",
                column,
                at_scale(cell, scale),
                measure,
                printed,
                beyond=row not in (BASELINE, OURS),
            )
            for row in CELLS
            for column, cell, printed in _places(group, row, scale)
            if scale != "medium" or (row, column == NO_WEIGHT) in ((LATE, False), (OURS, True))
        ]
        if scale in TUNED:
            one = {
                OURS: CELLS[OURS].but(**ALONE[group]),
                LATE: CELLS[LATE].but(tasks=ALONE[group]["tasks"]),
            }
            more = {BEST: CELLS[LATE], **{f"{row}, {ONE}": cell for row, cell in one.items()}}
            cells = {row: at_scale(cell, scale) for row, cell in more.items()}
            if scale == "head":
                open_ones = {"weight_decay": None, "epochs": None, "number_loss": "absolute"}
                cells[FAIR] = at_scale(CELLS[LATE], scale).but(**open_ones)
            table += [
                Entry(f"{group}: {row}", NO_WEIGHT, cell, measure, beyond=True)
                for row, cell in cells.items()
                if scale == "head" or row == BEST
            ]
        columns = dict.fromkeys((*SHOWN[scale], NO_WEIGHT), measure)
        table += constant_entries("omniart", scale, columns, f"{group}: constant answer")
    return table


def _places(group: str, row: str, scale: str) -> list[tuple[str, Cell, Printed | None]]:
    """Return a row's columns: its weights, and no weight."""
    places: list[tuple[str, Cell, Printed | None]] = []
    if row in WEIGHED:
        printed = dict(zip(WEIGHTS, PAPER.get((group, row), ()), strict=False))
        for column in SHOWN[scale]:
            value = printed.get(column)
            cell = CELLS[row].but(task_weight=WEIGHTS[column])
            places.append((column, cell, None if value is None else Printed(value)))
    if row in UNWEIGHED and (scale, row) != (
        "head",
        AUTHORS,
    ):  # theirs are for more styles than the paintings have
        places.append((NO_WEIGHT, CELLS[row], None))
    return places


EXPERIMENT = Experiment(
    name="table6",
    title="Table 6: year (mean absolute error) and style (accuracy, %) together, by the weight of the year",
    entries=entries,
    compare=tuple(
        f"{group}: {row}" for group in GROUPS for row in (BASELINE, BEST, FAIR, f"{OURS}, {ONE}")
    ),
    notes=(
        "The weight w is that of the year, 1 - w that of the style. The sphere needs none: the last column has none.",
    ),
)
