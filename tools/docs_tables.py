"""Write the tables and figures of README.md and docs/ that come from measurements, between markers:
``python tools/docs_tables.py``.

A marker ``<!-- table: NAME -->`` begins a part, ``<!-- end -->`` ends it. Numbers come from the
tables in ``results`` and the records in ``reproduction``.
"""

import csv
import re
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks.own_data import pages  # noqa: E402
from benchmarks.own_features import read  # noqa: E402
from benchmarks.own_features.rows import ROWS  # noqa: E402
from benchmarks.own_features.verdict import PEERS, table  # noqa: E402
from reproduction.cell import PAPER  # noqa: E402
from reproduction.claims import to_table  # noqa: E402
from reproduction.experiment import experiment_names, find_experiment  # noqa: E402
from reproduction.grid import make_grid  # noqa: E402
from reproduction.records import BEYOND  # noqa: E402
from reproduction.reports import read_sections  # noqa: E402

PART = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / name
        for name in (
            "explanation/learning.md",
            "explanation/reproduction.md",
            "explanation/results.md",
            "reference/baselines.md",
            "how-to/export.md",
            "how-to/reproduce.md",
            "how-to/labels_and_trees.md",
        )
    ),
]
EQUATION_1, SOFTMAX = "sphere, D = 10 (Eq. 1)", "softmax cross-entropy"


# -- numbers -------------------------------------------------------------------------------------


@cache
def measured(name: str) -> list[dict[str, str]]:
    """Return the lines of a benchmark's table."""
    (path,) = (ROOT / "results").glob(f"{name}-*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def line(benchmark: str, **wanted: str) -> dict[str, str]:
    """Return the one line of a benchmark's table that has these values."""
    found = [row for row in measured(benchmark) if wanted.items() <= row.items()]
    if len(found) != 1:
        raise LookupError(f"{benchmark}: {len(found)} lines have {wanted}")
    return found[0]


@cache
def cells(report: str) -> Mapping[tuple[str, str], float]:
    """Return the mean of every row and column of a report, ``NAME-SCALE``."""
    name, _, scale = report.rpartition("-")
    grid = make_grid(find_experiment(name), scale, ROOT / "reproduction")
    return {place: found.mean for place, found in grid.cells.items() if found.mean is not None}


def mean(report: str, row: str, column: str) -> str:
    """Return a mean of a report with one digit."""
    return f"{cells(report)[row, column]:.1f}"


def rounded(value: str, digits: int = 1) -> str:
    """Return a number without its error, with fewer digits."""
    return f"{float(value.split()[0]):.{digits}f}"


def own_features(group: str) -> list[dict[str, object]]:
    """Return the finished lines of the comparison on texts, images and two targets."""
    lines = table([result for row in ROWS for result in read(row)])
    return [
        row for row in lines if row["group"] == group and "unfinished" not in str(row["verdict"])
    ]


def ratio(what: str) -> float:
    """Return a ratio of the benchmark on a million classes."""
    return float(line("million_classes", what=what)["ours / theirs"])


def nearest(outputs: int, threads: int) -> str:
    """Return the time of the ten nearest prototypes of a million, as a share of faiss's."""
    what = f"10 nearest of 1,000,000: outputs {outputs}, threads {threads}"
    return f"{ratio(what):.1f}"


def times_as_fast(batch: int, dim: int, ours: str = "squared_cosine_loss") -> str:
    """Return how many times as fast as autograd the loss is."""
    return line("loss", batch=str(batch), dim=str(dim), ours=ours)["times faster"]


def accuracy(space: str) -> str:
    """Return the accuracy on digits."""
    return rounded(line("digits", **{"output space": space})["accuracy, %"])


def auroc(space: str, score: str) -> str:
    """Return how well digits that a network does not know are told from those that it does."""
    return rounded(line("open_set", **{"output space": space, "score": score})["AUROC"])


def rotated(space: str) -> tuple[str, str]:
    """Return the accuracy and the error in degrees on rotated digits."""
    found = line("rotated_digits", **{"output space": space})
    return rounded(found["accuracy, %"]), rounded(found["mean error, °"])


# -- parts ---------------------------------------------------------------------------------------


def markdown(*rows: tuple[str, ...], right: str = "") -> str:
    """Return a table; columns whose place is in ``right`` are aligned to the right."""
    rules = tuple("---:" if str(place) in right else "---" for place in range(len(rows[0])))
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rules, *rows[1:]))


def own_features_table(group: str) -> str:
    """Return ours, the best peer, the same network without a sphere and the baseline, by line."""
    head = ("data; metric", "ours", "best peer", "same network, no sphere", "baseline", "verdict")
    rows = []
    for found in own_features(group):
        peers = {title: str(found[title]) for title in PEERS.values() if found[title]}
        peers.pop("same network, no sphere", None)
        sign = 1 if str(found["measure"]).startswith("accuracy") else -1
        best = max(peers, key=lambda title: sign * float(peers[title].split()[0].replace(",", "")))
        shown = (found["ours"], f"{best} {peers[best]}", found["same network, no sphere"])
        end = (found["constant"], found["verdict"])
        rows.append((f"{found['data']}; {found['measure']}", *map(str, (*shown, *end))))
    return markdown(head, *rows, right="1234")


def count(word: str) -> int:
    """Return in how many lines of the comparison the verdict has a word."""
    return sum(word in str(found["verdict"]) for found in own_features("report"))


def own_features_summary() -> str:
    """Return how many lines are level."""
    behind = count("behind") or "none"
    return (
        f"hyperproto is level with the best peer in {count('level')} of "
        f"{len(own_features('report'))} lines and behind in {behind}.\n"
    )


def compared() -> str:
    """Return what hyperproto does better, as well, and worse, one claim a line."""
    on_features = [
        mean("table1-head", row, "CIFAR-100 100")
        for row in ("This paper", "Our placement", "One-hot", "Word2vec", "Softmax CE (Table 4)")
    ]
    frozen_25, softmax_25, paper_25 = (
        mean("table3-head", row, "25")
        for row in (
            "Our placement, data-driven prior",
            "Softmax CE (Table 4)",
            "Hyperspherical prototypes",
        )
    )
    one_hot, word2vec, published, ours = (
        mean("table1-medium", row, "CIFAR-100 100")
        for row in ("One-hot", "Word2vec", "This paper", "Our placement")
    )
    scratch_25 = mean("table3-medium", "Hyperspherical prototypes", "25")
    prior_25 = mean("table3-medium", "Our placement, data-driven prior", "25")
    short = {dim: mean("beyond-short-runs-cpu", "Sphere, free norm", dim) for dim in SHORT_DIMS}
    softmax_short = mean("beyond-short-runs-cpu", "Softmax CE, 100 outputs", "D = 100")
    default, default_25, softmax = from_scratch()
    years, years_of_two, median = of_paintings()
    both, two = (rotated(space) for space in ROTATED)
    equation_1, cosines, likely = unknown()
    return markdown(
        ("what", "hyperproto", "compared with", "result"),
        (
            "CIFAR-100, 5 epochs, 3 seeds: D = 100",
            f"{short['D = 100']} %",
            f"softmax {softmax_short} %",
            "inconclusive",
        ),
        (
            "the same at D = 25, a quarter of the outputs",
            f"{short['D = 25']} %",
            f"**softmax {softmax_short} %**",
            "worse in five epochs",
        ),
        (
            "digits, 3 seeds: D = 10",
            f"{accuracy(EQUATION_1)} %",
            f"softmax {accuracy(SOFTMAX)} %",
            "level",
        ),
        (
            "digits: D = 3",
            f"{accuracy('sphere, D = 3 (Eq. 1)')} %",
            f"**softmax {accuracy(SOFTMAX)} %**",
            "worse",
        ),
        (
            "the paper's Table 1 on frozen features, CIFAR-100, 5 seeds: D = 100",
            f"the paper's prototypes {on_features[0]} %, ours {on_features[1]} %",
            f"one-hot {on_features[2]} %, word2vec {on_features[3]} %, softmax {on_features[4]} %",
            "inconclusive",
        ),
        (
            "the same from scratch, 30 epochs at 16 pixels, 3 seeds: D = 100",
            f"the paper's prototypes {published} %, ours {ours} %",
            f"**softmax {softmax} %**; one-hot {one_hot} %, word2vec {word2vec} %",
            "worse than softmax, better than word2vec",
        ),
        (
            "the same with the default loss",
            f"{default} %",
            f"softmax {softmax} %",
            "inconclusive",
        ),
        (
            "from scratch at D = 25",
            f"by default {default_25} %; the paper's loss on a data-driven prior {prior_25} %",
            f"**softmax {softmax} %**; the paper's prototypes {scratch_25} %",
            f"{share(default_25, softmax)} of softmax: worse than it, better than the paper's",
        ),
        (
            "on frozen features at D = 25, a data-driven prior",
            f"{frozen_25} %",
            f"softmax {softmax_25} %; the paper's prototypes {paper_25} %",
            f"{share(frozen_25, softmax_25)} of softmax: inconclusive against either",
        ),
        (
            "year with style on one sphere (Table 6 on frozen features), mean error",
            f"**{years} years**",
            f"multi-task network, weight and learning rate searched: {years_of_two}; "
            f"median for every painting: {median}",
            "better",
        ),
        (
            "rotated digits on S², one point for both, 3 seeds",
            f"{both[0]} %, **{both[1]}°**",
            f"multi-task network, weight searched: {two[0]} %, {two[1]}°",
            "the angle is better",
        ),
        (
            "unknown digits, 5 seeds, AUROC",
            f"{equation_1} with Equation 1, {cosines} with cosine softmax",
            f"softmax {likely}",
            "inconclusive: Equation 1 is ahead in 3 of 5 seeds",
        ),
        (
            f"separation, the authors' {len(measured('authors_prototypes'))} published files",
            "**better in all**",
            "",
            "better",
        ),
        (
            "time of a step with Equation 1 at 1,000,000 classes / at 100 classes",
            step_ratio(),
            f"`nn.Linear` and cross-entropy take {step_times()} times as long at 100,000",
            "better",
        ),
    )


SHORT_DIMS = ("D = 100", "D = 25")
ROTATED = ("S², one point for both, margin 0.1", "softmax + squared error")


def share(part: str, whole: str) -> str:
    """Return a share of an accuracy in percent."""
    return f"{float(part) / float(whole):.0%}".replace("%", " %")


def from_scratch() -> tuple[str, str, str]:
    """Return the accuracy of the defaults on CIFAR-100 at D = 100 and 25, and of softmax."""
    classes = "CIFAR-100, 500 a class"
    return (
        mean("table4-medium", "Our placement, free norm", classes),
        mean("table3-medium", "Free norm, data-driven prior, its axes kept", "25"),
        mean("table4-medium", "Softmax CE", classes),
    )


def of_paintings() -> tuple[str, str, str]:
    """Return the error in years of the sphere, of a multi-task network and of the median."""
    rows = (
        "This paper",
        "MTL baseline, clamped only at test, weight and rate searched",
        "constant answer",
    )
    one, two, median = (
        mean("table6-head", f"Creation year (MAE): {row}", "no weight") for row in rows
    )
    return one, two, median


def unknown() -> tuple[str, str, str]:
    """Return the AUROC of unknown digits by Equation 1, cosine softmax, and softmax."""
    return (
        auroc(EQUATION_1, "cosine and length"),
        auroc("sphere, D = 10, cosine softmax", "cosine and length"),
        auroc(SOFTMAX, "largest probability"),
    )


def step_ratio() -> str:
    """Return the time of a step at a million classes over that at a hundred."""
    return f"{ratio('squared cosine: a step at K = 1,000,000'):.2f}"


def step_times() -> str:
    """Return how many times as long a linear layer takes at 100,000 classes."""
    found = line("million_classes", what="squared cosine: a step at K = 100,000, F = 64")
    return f"{float(found['theirs']) / float(found['ours']):.0f}"


def accuracies() -> str:
    """Return what was measured of accuracy, with the command that repeats it."""
    cifar = [rounded(row["test accuracy, mean %"]) for row in measured("cifar100")]
    dims = ("D = 100", "D = 25", "D = 10", "D = 5")
    short = [
        f"{mean('beyond-short-runs-cpu', 'Sphere, free norm', dim)} % with {dim}" for dim in dims
    ]
    softmax_short = mean("beyond-short-runs-cpu", "Softmax CE, 100 outputs", "D = 100")
    one_point, two = (rotated(space) for space in ROTATED)
    paper = rotated("S², the paper's loss")
    equation_1, cosines, likely = unknown()
    errors = [
        rounded(line("calibration", output=output, fitted="temperature")["ECE"])
        for output in (EQUATION_1, SOFTMAX)
    ]
    return markdown(
        ("what", "measured", "by"),
        (
            "digits, held-out quarter, three seeds",
            f"{accuracy(EQUATION_1)} % with D = 10, {accuracy('sphere, D = 3 (Eq. 1)')} % with "
            f"D = 3; softmax {accuracy(SOFTMAX)} %",
            "`python -m benchmarks digits`",
        ),
        (
            "CIFAR-100 in five epochs, ResNet of depth 8, three seeds, test accuracy",
            f"{cifar[0]} % with Equation 1, {cifar[1]} % with cosine softmax, {cifar[2]} % with "
            "softmax cross-entropy",
            "`python -m benchmarks cifar100`",
        ),
        (
            "the same with normalized features, and loss and prototypes by default",
            f"{', '.join(short)}; softmax {softmax_short} %",
            "`python -m reproduction beyond-short-runs`",
        ),
        (
            "rotated digits on S², digit and angle, three seeds",
            f"{one_point[0]} % and {one_point[1]}° with one point for both, "
            f"{paper[0]} % and {paper[1]}° with the paper's loss; a multi-task network, tuned in "
            f"the same way and over three weights, {two[0]} % and {two[1]}°",
            "`python -m benchmarks rotated_digits`",
        ),
        (
            "unknown inputs, digits with three held out, five seeds, AUROC",
            f"{equation_1} with Equation 1, {cosines} with cosine softmax; softmax {likely}, energy "
            f"{auroc(SOFTMAX, 'energy')}: Equation 1 is ahead of softmax in three of five seeds, "
            "which is inconclusive",
            "`python -m benchmarks open_set`",
        ),
        (
            "expected calibration error on digits, after fitting a temperature",
            f"{errors[0]} % with Equation 1, {errors[1]} % with softmax",
            "`python -m benchmarks calibration`",
        ),
    )


def speeds() -> str:
    """Return what was measured of the loss and of a million classes."""
    return markdown(
        ("what", "measured", "by"),
        (
            "the fused loss, forward and backward, against `cosine_similarity` with autograd, one thread",
            f"{times_as_fast(1024, 128)} times as fast at batch 1024, {times_as_fast(4096, 128)} "
            f"times at 4096 (D = 128); {times_as_fast(128, 100)} times at batch 128 (D = 100), "
            f"{times_as_fast(128, 100, 'Space.loss')} times through `Space`, in seconds of one processor",
            "`python -m benchmarks loss`",
        ),
        (
            "a step with Equation 1 at 1,000,000 classes, new labels at every step",
            f"{step_ratio()} times one at 100 classes; `nn.Linear` with cross-entropy takes "
            f"{step_times()} times as long at 100,000",
            "`python -m benchmarks million_classes`",
        ),
        (
            "the 10 nearest of 1,000,000 prototypes, exact, against `faiss.IndexFlatIP`",
            f"{nearest(1, 1)} times the time (one output) and {nearest(128, 1)} times (128) on one "
            f"thread, in seconds of one processor; {nearest(1, 2)} and {nearest(128, 2)} times on "
            "two, by the clock",
            "`python -m benchmarks million_classes`",
        ),
    )


def all_of(benchmark: str) -> str:
    """Return the whole table of a benchmark."""
    found = measured(benchmark)
    return markdown(tuple(found[0]), *(tuple(row.values()) for row in found))


def joint_table() -> str:
    """Return a class and a number by default, by a multi-task network, and by the baseline."""
    head = ("data", "hyperproto", "multi-task network", "best for the class", "for the number")
    rows: dict[str, list[str]] = {}
    for found in measured("joint"):
        shown = f"{found['accuracy, %']} % / {found['mean error']}"
        rows.setdefault(found["data"], []).append(shown)
    return markdown((*head, "baseline"), *((data, *shown) for data, shown in rows.items()))


def rotated_table() -> str:
    """Return digit and angle on one sphere, as one point for both, and by a multi-task network."""
    titles = (
        "two targets, the paper",
        "one point, margin 0.1",
        "multi-task network, softmax and squared error, the best of three weights",
    )
    rows = [
        (title, found["accuracy, %"], found["mean error, °"], found["rate"])
        for title, found in zip(titles, measured("rotated_digits"), strict=True)
    ]
    return markdown(("", "digit, %", "angle, °", "learning rate"), *rows, right="123")


def runtime_table() -> str:
    """Return how exported models compare with torch."""
    rows = [[*row.values()][:-2] for row in measured("runtime")]
    head = ("test set", "rows", "predictions that differ", "probabilities, by at most")
    costs = ("folder, MB", "start and predict, s", "with torch", "one more, ms", "with torch")
    return markdown((*head, *costs), *map(tuple, rows))


def targets_table(ours: str) -> str:
    """Return, for the data that a way of ours was measured on, each way by each metric, the best
    of a line in bold.
    """
    ways: dict[str, None] = {}
    lines: dict[str, dict[str, str]] = {}
    data = {found["data"] for found in measured("targets") if ours in found["method"]}
    for found in measured("targets"):
        if found["data"] in data:
            ways[found["method"]] = None
            line = lines.setdefault(f"{found['data']}; {found['metric']}", {})
            line[found["method"]] = f"{float(found['mean']):.3g}"
    rows = []
    for name, values in lines.items():
        best = min(values.values(), key=float)
        shown = (values.get(way, "") for way in ways)
        rows.append((name, *(f"**{each}**" if each == best else each for each in shown)))
    return markdown(("data; metric, less is better", *ways), *rows, right="123456")


def uses() -> str:
    """Return when to use the library, and when not, with what was measured."""
    one, two, median = (line("joint", data="paintings", space=space) for space in JOINT)
    later = "training on 10 examples and a replay of 20 per class"
    before, after = (line("new_classes", way=later, known=known) for known in ("0-4", "0-9"))
    default, default_25, softmax = from_scratch()
    ranks = {row["method"]: row["mean"] for row in measured("targets") if row["metric"] == "rank"}
    ours, equal, best = (
        next(rank for way, rank in ranks.items() if part in way)
        for part in ("separate spheres", "equal weights", "best of five")
    )
    seam = {
        row["method"]: row["mean"]
        for row in measured("targets")
        if row["data"].startswith("weather") and "seam" in row["metric"]
    }
    return f"""**Use it when**

- one network predicts a class *and* a number: years of paintings are off by {rounded(one["mean error"])}, \
by a multi-task network {rounded(two["mean error"])} and by the median {rounded(median["mean error"])}; the style is level, and there is no weight to search \
([how](docs/reference/baselines.md#a-class-and-a-number-by-default), `python -m benchmarks joint`).
- targets are of several kinds: classes, grades in order, trees, sets of labels, numbers and angles share one output and one loss. \
Over eleven data sets its mean rank is {ours} without any weight, that of a multi-task network {equal} with equal weights and {best} with the best of five; \
a wind direction near north is off by {float(seam["hp.Angle (default)"]):.0f}°, as a plain number by {float(seam["a plain number"]):.0f}° \
([how](docs/how-to/targets.md), `python -m benchmarks targets`).
- there are very many classes: with the loss of Equation 1 a step at 1,000,000 classes takes {step_ratio()} times that at 100; \
a linear layer with cross-entropy takes {step_times()} times ours at 100,000 \
([how](docs/how-to/million_classes.md), `python -m benchmarks million_classes`).
- classes come later: five digits added to five by ten examples each are recognized at {after["digits from 5 on"]} %, \
the old ones at {after["digits 0-4"]} % ({before["digits 0-4"]} before), and no old prototype moves \
([how](docs/how-to/new_classes.md), `python -m benchmarks new_classes`).
- you need points on a sphere that are far apart, with a bound: better than the authors' in all \
{len(measured("authors_prototypes"))} files that they published ([how](docs/explanation/placement.md), \
`python -m benchmarks authors_prototypes`).

**Do not use it when**

- you want more accuracy in plain classification: there is none to gain. Trained from scratch on CIFAR-100, the sphere has \
{default} % and softmax {softmax} %, a difference that three seeds do not decide \
([records](docs/explanation/reproduction.md), `python -m reproduction table4 --scale medium`).
- outputs must be fewer than classes: 25 dimensions for 100 classes have {default_25} % in place of {softmax} %.
- a table has classes, few rows and much noise: logistic regression is ahead there ([results](docs/explanation/results.md#tables-that-nobody-tuned-for)).
- you would search the weights between losses anyway: with the best of them a multi-task network is a little ahead.
- you need evidence from long training on GPUs: nothing here was measured on one.
"""


JOINT = ("by default", "two heads", "constant answer")


def five_results() -> str:
    """Return the rows of the first page."""
    default, default_25, softmax = from_scratch()
    years, years_of_two, median = of_paintings()
    both, two = (rotated(space) for space in ROTATED)
    lines = own_features("report")
    classes, numbers = pages.in_short("accuracy", "log loss"), pages.in_short("mae", "rmse")
    return markdown(
        ("what", "hyperproto", "compared with", "result"),
        (
            "tables with classes, drawn once, defaults only",
            classes[0],
            "logistic, SVM, MLP, boosting and forest",
            classes[1],
        ),
        (
            "tables with numbers, the same",
            numbers[0],
            "ridge, MLP, boosting and forest",
            numbers[1],
        ),
        (
            f"texts, images and two targets, {len(lines)} lines, defaults only",
            f"level in {count('level')}, far behind in {count('behind') or 'none'}",
            "the best of logistic or ridge, SVM, MLP and boosting",
            "level",
        ),
        (
            "CIFAR-100 from scratch, D = 100, 3 seeds",
            f"{default} %",
            f"softmax {softmax} %",
            "inconclusive",
        ),
        ("the same, D = 25", f"{default_25} %", f"softmax {softmax} %", "worse"),
        (
            "paintings: year beside style, mean error",
            f"{years} years",
            f"multi-task network {years_of_two}, median {median}",
            "better",
        ),
        (
            "rotated digits: digit and angle",
            f"{both[0]} %, {both[1]}°",
            f"multi-task network {two[0]} %, {two[1]}°",
            "angle better",
        ),
    )


FULL = {  # what the networks of the paper's protocol see, and how many images are trained on here
    "cifar-100": ("3 x 32 x 32", 50_000),
    "cifar-100-uneven": ("3 x 32 x 32", 10_100),
    "imagenet-200": ("3 x 64 x 64", 12_000),
    "cub-200-2011": ("3 x 224 x 224", 5_994),
    "omniart": ("3 x 224 x 224", 5_919),
    "rotated-mnist": ("1 x 28 x 28", 29_617),
}


def full_costs() -> str:
    """Return what scale "full" costs on one core, by the measured time of each network."""
    names = [name for name in experiment_names() if not name.startswith(BEYOND)]
    cells = {cell.address: cell for name in names for cell in find_experiment(name).cells("full")}
    trained = [cell.run for cell in cells.values() if cell.job == "train"]
    runs = Counter((str(run.network.backbone), run.data.reader) for run in trained)
    rows, total = [], 0.0
    for (network, reader), count in sorted(runs.items()):
        shape, images = FULL[reader]
        found = [row for row in measured("backbones") if row["network"] == network]
        times = {row["input"]: float(row["ms an input"]) for row in found}
        # four times the pixels of what was measured
        ms = times.get(shape) or 4 * times["3 x 32 x 32"]
        hours = ms / 1000 * images * (PAPER.train.epochs or 0) / 3600
        total += hours * count / 24
        cost = (
            f"{ms:.0f}",
            f"{images:,}",
            f"{hours:,.0f}",
            str(count),
            f"{hours * count / 24:,.0f}",
        )
        rows.append((network, reader, shape, *cost))
    head = ("network", "data", "input", "ms an image", "images", "hours a run", "runs", "days")
    whole = ("all", "", "", "", "", "", str(sum(runs.values())), f"{total:,.0f}")
    return markdown(head, *rows, whole, right="34567")


def report_table(name: str, scale: str) -> str:
    """Return the table of a report, without its caption, its notes and rows that were not run."""
    section = read_sections(ROOT / "reproduction" / "reports" / f"{name}.md")[scale]
    rows = [row.replace(" * |", " |") for row in section.splitlines() if row.startswith("|")]
    return "\n".join(row for row in rows if row in rows[:2] or re.search(r"\| \**\d", row))


PARTS = {
    "uses": uses,
    "five-results": five_results,
    "compared": compared,
    "accuracies": accuracies,
    "speeds": speeds,
    "own-data-ranks": lambda: markdown(*pages.fast_ranks(), right="12345"),
    "own-data-short": lambda: (
        f"Among the six of them ours has {pages.in_short(*pages.MEASURES)[0]}.\n"
    ),
    "own-data-all-ranks": lambda: markdown(*pages.all_ranks(), right="12345"),
    "own-data-classes": lambda: markdown(*pages.tables_of("accuracy", "log loss"), right="13456"),
    "own-data-numbers": lambda: markdown(*pages.tables_of("mae", "rmse"), right="13456"),
    "own-data-plain": lambda: markdown(*pages.plain_rows(), right="12"),
    "own-data-times": lambda: markdown(*pages.time_rows(), right="12"),
    "own-data-limits": lambda: markdown(
        ("what", "measured"),
        *((row["what"], row["measured"]) for row in measured("own_data_limits")),
        right="1",
    ),
    "own-data-tricks": lambda: markdown(*pages.trick_rows()),
    "own-features-report": lambda: f"{own_features_summary()}\n{own_features_table('report')}",
    "own-features-choose": lambda: own_features_table("choose"),
    "joint": joint_table,
    "labels": lambda: all_of("labels"),
    "label-points": lambda: all_of("label_points"),
    "tree": lambda: all_of("tree"),
    "rotated": rotated_table,
    "runtime": runtime_table,
    "claims": to_table,
    "full-costs": full_costs,
    "successors": lambda: report_table("beyond-successors", "head"),
    "angles": lambda: targets_table("hp.Angle"),
    "grades": lambda: targets_table("hp.Grades"),
    "pairs": lambda: targets_table("one output"),
}


def written(text: str) -> str:
    """Return the text of a page with its parts written anew."""
    return PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n{found[3]}", text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
