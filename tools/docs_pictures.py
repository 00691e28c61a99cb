"""Draw the pictures of the documentation into docs/images: ``python tools/docs_pictures.py [NAME
...]``.

Most run an example first, and draw what it has measured.
"""

import os
import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import torch

import hyperproto as hp
from hyperproto.sphere import normalize

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from PIL import Image

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
INK, ACCENT, SECOND, PALE = "#30364a", "#4051b5", "#e4572e", "#c9cede"
CLASSES = plt.get_cmap("tab10").colors
plt.rcParams |= {
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def run(path):
    """Return the names of an example after it has run, in a folder that is then removed."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return runpy.run_path(str(ROOT / "examples" / path))
        finally:
            os.chdir(before)


def write(figure, name, colors=64):
    """Write a picture with few colors, which keeps it small."""
    path = IMAGES / f"{name}.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(colors).save(path, optimize=True)
    print(path.relative_to(ROOT), f"{path.stat().st_size / 1000:.0f} kB")


def losses():
    """Draw each loss, and its gradient, from its own prototype to that of another class, ten
    classes, D = 9.
    """
    table = hp.place(10, 9).vectors.double()
    own, other = table[0], table[1]
    side = normalize((other - (other @ own) * own)[None])[0]
    angles = torch.linspace(0, torch.pi, 181, dtype=torch.float64)
    points = torch.cos(angles)[:, None] * own + torch.sin(angles)[:, None] * side
    labels = torch.zeros(len(points), dtype=torch.long)
    cards = {
        "squared_cosine": {"": hp.losses.SquaredCosine()},
        "power_cosine": {"q = 0.5": hp.losses.PowerCosine(), "q = 1": hp.losses.PowerCosine(q=1)},
        "cosine_softmax": {
            "scale 8.2 (default)": hp.losses.CosineSoftmax(),
            "scale 1": hp.losses.CosineSoftmax(scale=1),
        },
        "free_norm_softmax": {
            f"|z| = {length}": (hp.losses.FreeNormSoftmax(), length) for length in (5, 2)
        },
        "equation_7": {
            f"r = {r}": lambda z, table, labels, r=r: hp.losses.cosine_loss(z, own.expand_as(z), r)
            for r in (1, 0)
        },
    }
    for name, curves in cards.items():
        figure, (left, right) = plt.subplots(1, 2, figsize=(5.2, 1.9), layout="constrained")
        for (label, loss), color in zip(curves.items(), (ACCENT, SECOND), strict=False):
            loss, length = loss if isinstance(loss, tuple) else (loss, 1)
            z = (length * points).requires_grad_()
            values = loss(z, table, labels)
            (slope,) = torch.autograd.grad(values.sum(), z)
            degrees = torch.rad2deg(angles)
            left.plot(degrees, values.detach(), color=color, label=label)
            right.plot(degrees, length * slope.norm(dim=1), color=color)
        target = "upper pole" if name == "equation_7" else "prototype"
        for axis, title in ((left, "loss"), (right, "gradient, times |z|")):
            axis.set(
                title=title,
                xticks=[0, 60, 120, 180],
                xlabel=f"angle to the {target}, °",
                ylim=(0, None),
            )
        if any(curves):
            left.legend(frameon=False, fontsize=8)
        write(figure, f"loss_{name}", 32)


def globe(axis, points, colors, prototypes, azimuth=35, labels=tuple("0123456789")):
    """Draw points on S², those at the back pale and small."""
    up, around = np.deg2rad([22, azimuth])
    viewer = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
    right = np.array([-np.sin(around), np.cos(around), 0])
    top = np.cross(viewer, right)
    turn = np.linspace(0, 2 * np.pi, 100)
    axis.plot(np.cos(turn), np.sin(turn), color=INK, linewidth=0.8)
    for height in (-0.5, 0, 0.5):
        ring = np.column_stack([np.cos(turn), np.sin(turn), np.full(100, height)]) * [
            *[np.sqrt(1 - height**2)] * 2,
            1,
        ]
        axis.plot(ring @ right, ring @ top, color=PALE, linewidth=0.6, zorder=0)
    front = points @ viewer > 0
    for part, size, alpha in ((~front, 4, 0.2), (front, 9, 0.9)):
        axis.scatter(
            points[part] @ right,
            points[part] @ top,
            s=size,
            c=colors[part],
            alpha=alpha,
            linewidths=0,
        )
    for k, prototype in enumerate(prototypes):
        seen = prototype @ viewer > 0
        axis.text(
            *(1.08 * np.array([prototype @ right, prototype @ top])),
            labels[k],
            color=INK if seen else "#9aa1b5",
            weight="bold" if seen else "normal",
            ha="center",
            va="center",
        )
    axis.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal")
    axis.axis("off")


def sphere():
    """Draw the digits of the first tutorial, from both sides."""
    names = run("tutorials/sphere.py")
    points, labels = normalize(names["z"]).numpy(), names["test"].targets.numpy()
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.2), layout="constrained")
    for axis, azimuth in zip(axes, (35, 215), strict=True):
        globe(
            axis,
            points,
            np.array(CLASSES)[labels],
            names["space"].prototypes.vectors.numpy(),
            azimuth,
        )
    write(figure, "tutorial_sphere")


def digits():
    """Animate the digits over training."""
    names = run("digits_on_a_sphere.py")
    labels = names["held_out"].targets.numpy()
    frames = []
    for epoch, (points, accuracy) in enumerate(
        zip(names["frames"], names["accuracies"], strict=True)
    ):
        figure, axis = plt.subplots(figsize=(2.2, 2.4), layout="constrained")
        chosen = slice(0, 120)
        globe(
            axis,
            points.numpy()[chosen],
            np.array(CLASSES)[labels[chosen]],
            names["space"].prototypes.vectors.numpy(),
        )
        axis.set_title(f"epoch {epoch}: {100 * accuracy:.0f} %")
        figure.canvas.draw()
        shown = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
        frames.append(shown)
        plt.close(figure)
    path = IMAGES / "digits_on_a_sphere.gif"
    palette = frames[-1].quantize(64, method=Image.Quantize.FASTOCTREE)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    durations = [500] * (len(frames) - 1) + [2500]
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True
    )
    print(path.relative_to(ROOT), f"{path.stat().st_size / 1000:.0f} kB")


def shapes():
    """Show some pictures of the folder that the second tutorial trains on."""
    before, (figure, axes) = (
        Path.cwd(),
        plt.subplots(1, 9, figsize=(6.4, 0.9), layout="constrained"),
    )
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        runpy.run_path(str(ROOT / "examples" / "tutorials" / "photos.py"))
        for axis, i in zip(axes, range(9), strict=True):
            name = ("circle", "square", "triangle")[i // 3]
            axis.imshow(Image.open(f"shapes/{name}/{i}.png"))
            axis.set_title(name, fontsize=8)
            axis.axis("off")
        os.chdir(before)
    write(figure, "tutorial_photos", 128)


def turned():
    """Draw the sphere of the tutorial with a class and a number."""
    names = run("tutorials/class_and_number.py")
    space, test = names["space"], names["test"]
    with torch.no_grad():
        points = space.project(names["run"].network(test.inputs)).double().numpy()
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), layout="constrained")
    points, prototypes = (
        points[:, [1, 2, 0]],
        np.pad(space.prototypes["digit"].vectors.numpy(), ((0, 0), (0, 1))),
    )
    angles, labels = test.targets["angle"].numpy(), test.targets["digit"].numpy()
    by_angle = plt.get_cmap("viridis")(angles / 180)[:, :3]
    for axis, colors, title in (
        (axes[0], by_angle, "angle"),
        (axes[1], np.array(CLASSES)[labels], "digit"),
    ):
        globe(axis, points, colors, prototypes, labels=("2", "3", "4", "5", "7"))
        axis.set_title(f"colored by {title}")
    write(figure, "tutorial_class_and_number", 128)


def names():
    """Draw the cosines of a hundred classes, with and without what their names say."""
    found = run("class_names.py")
    figure, axes = plt.subplots(1, 2, figsize=(5.6, 2.9), layout="constrained")
    for axis, key, title in zip(
        axes, ("apart", "by_name"), ("as far apart as possible", "by the groups"), strict=True
    ):
        cosines = found[key].vectors @ found[key].vectors.mT
        shown = axis.imshow(cosines, vmin=-0.6, vmax=0.6, cmap="RdBu_r", interpolation="nearest")
        axis.set(title=title, xticks=[], yticks=[])
    figure.colorbar(shown, ax=axes, label="cosine", shrink=0.8)
    write(figure, "class_names", 48)


def uneven():
    """Draw the recall of each class."""
    found = run("uneven_classes.py")
    figure, axis = plt.subplots(figsize=(5.2, 2.2), layout="constrained")
    places = np.arange(10)
    for (weight, recall), color, shift in zip(
        found["recall"].items(), (PALE, ACCENT), (-0.2, 0.2), strict=True
    ):
        axis.bar(places + shift, 100 * recall, 0.4, color=color, label=f"class_weight={weight!r}")
    counts = np.bincount(found["y"][found["kept"]])
    axis.set(
        xticks=places,
        xticklabels=counts,
        xlabel="training examples of the class",
        ylabel="recall, %",
    )
    axis.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    write(figure, "uneven_classes", 32)


def unknown():
    """Draw the outlier scores of digits that are known and unknown."""
    found = run("unknown_inputs.py")
    model = found["model"]
    figure, axis = plt.subplots(figsize=(5.2, 2.2), layout="constrained")
    known, strange = model.outlier_score(found["X_test"]), model.outlier_score(found["strangers"])
    bins = np.linspace(min(known.min(), strange.min()), max(known.max(), strange.max()), 40)
    axis.hist(known, bins, density=True, color=ACCENT, alpha=0.7, label="0 to 6, known")
    axis.hist(strange, bins, density=True, color=SECOND, alpha=0.6, label="7 to 9, never seen")
    axis.set(xlabel="outlier score", yticks=[])
    axis.legend(frameon=False)
    write(figure, "unknown_inputs", 32)


def conformal():
    """Draw the coverage that was asked for, and how large sets become."""
    found = run("conformal_sets.py")
    figure, axis = plt.subplots(figsize=(4.4, 2.2), layout="constrained")
    levels = 100 * np.array(found["levels"])
    axis.plot([75, 100], [75, 100], color=PALE)
    axis.plot(levels, 100 * found["covered"], "o", color=ACCENT)
    for level, share, size in zip(levels, 100 * found["covered"], found["sizes"], strict=True):
        axis.annotate(
            f"{size:.1f} classes",
            (level, share),
            xytext=(8, -10),
            textcoords="offset points",
            fontsize=8,
        )
    axis.set(xlabel="coverage asked, %", ylabel="covered, %", xlim=(75, 100), ylim=(75, 100))
    write(figure, "conformal_sets", 32)


def monday():
    """Draw the recall of each digit after one was added."""
    found = run("new_class_on_monday.py")
    truth = found["y_test"]
    right = found["model"].predict(found["X_test"]) == truth
    figure, axis = plt.subplots(figsize=(5.2, 2), layout="constrained")
    recall = [100 * right[truth == digit].mean() for digit in range(10)]
    axis.bar(range(10), recall, color=[PALE] * 9 + [ACCENT])
    axis.axhline(
        100 * found["friday"], color=INK, linewidth=0.8, linestyle=":", label="the nine on Friday"
    )
    axis.set(xticks=range(10), xlabel="digit; the last one is new", ylabel="recall on Monday, %")
    axis.legend(frameon=False, loc="lower left")
    write(figure, "new_class_on_monday", 32)


def table():
    """Draw the widths that the table tells, with their intervals, by species."""
    found = run("class_and_number_on_a_table.py")
    true, width, ends = found["targets_test"]["width"].to_numpy(), found["width"], found["ends"]
    figure, axis = plt.subplots(figsize=(4.4, 2.6), layout="constrained")
    axis.plot([0, 2.6], [0, 2.6], color=PALE)
    for name, color in zip(np.unique(found["species"]), CLASSES, strict=False):
        some = found["species"] == name
        axis.vlines(true[some], ends[some, 0], ends[some, 1], color=color, alpha=0.25)
        axis.plot(true[some], width[some], "o", markersize=3, color=color, label=name)
    axis.set(xlabel="true width, cm", ylabel="predicted, and its interval")
    axis.legend(frameon=False, fontsize=8)
    write(figure, "class_and_number_on_a_table", 48)


def joint():
    """Draw the angles of the joint task, true and predicted, by digit."""
    found = run("joint_task.py")
    held, space = found["held_out"], found["loaded"]
    with torch.no_grad():
        angles = space.predict(found["network"](held.inputs))["angle"]
    figure, axis = plt.subplots(figsize=(3.6, 2.8), layout="constrained")
    for digit, color in zip(range(5), CLASSES, strict=False):
        some = held.targets["digit"] == digit
        axis.plot(
            held.targets["angle"][some][::4],
            angles[some][::4],
            "o",
            markersize=2,
            color=color,
            label="23457"[digit],
        )
    axis.set(
        xlabel="true angle, °", ylabel="predicted, °", xticks=[0, 90, 180], yticks=[0, 90, 180]
    )
    axis.legend(
        frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), title="digit"
    )
    write(figure, "joint_task", 48)


def loop():
    """Draw the cosines of held-out digits to their own prototype, and to the nearest other one."""
    found = run("own_loop.py")
    space, held = found["space"], found["held_out"]
    with torch.no_grad():
        z = normalize(found["network"](held.inputs.flatten(1)).double())
    cosines = z @ space.prototypes.vectors.double().mT
    own = cosines.gather(1, held.targets[:, None])[:, 0]
    other = cosines.scatter(1, held.targets[:, None], -1).amax(dim=1)
    figure, axis = plt.subplots(figsize=(5.2, 2), layout="constrained")
    bins = np.linspace(-1, 1, 50)
    axis.hist(own.numpy(), bins, color=ACCENT, alpha=0.7, label="own prototype")
    axis.hist(other.numpy(), bins, color=SECOND, alpha=0.6, label="nearest other")
    axis.set(xlabel="cosine of a held-out digit to a prototype", yticks=[])
    axis.legend(frameon=False, loc="upper left")
    write(figure, "own_loop", 32)


def idea():
    """Draw the two ideas of the paper: prototypes for classes, a pole for a number."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3), layout="constrained")
    turn = np.linspace(0, 2 * np.pi, 200)
    for axis in (left, right):
        axis.plot(np.cos(turn), np.sin(turn), color=PALE, linewidth=1.2)
        axis.set(aspect="equal", xlim=(-1.45, 1.45), ylim=(-1.35, 1.35))
        axis.axis("off")
    prototypes = {"cat": 90, "dog": 210, "owl": 330}
    for (name, degrees), color in zip(prototypes.items(), CLASSES, strict=False):
        at = np.array([np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))])
        left.plot(*at, "o", color=color, markersize=9)
        left.text(*(1.22 * at), name, color=color, ha="center", va="center", weight="bold")
    z = np.array([np.cos(np.deg2rad(55)), np.sin(np.deg2rad(55))])
    left.annotate("", z, (0, 0), arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 1.4})
    arc = np.deg2rad(np.linspace(55, 90, 30))
    left.plot(0.45 * np.cos(arc), 0.45 * np.sin(arc), color=ACCENT, linewidth=1.4)
    left.text(0.16, 0.56, "θ", color=ACCENT)
    left.text(*(1.12 * z), "output z", color=INK)
    left.set_title("a class: loss $(1 - \\cos θ)^2$")
    for at, name in (((0, 1), "upper bound, 180"), ((0, -1), "lower bound, 0")):
        right.plot(*at, "o", color=SECOND, markersize=9)
        right.text(0, 1.17 * at[1], name, ha="center", va="center", color=SECOND, weight="bold")
    angle = np.deg2rad(30)
    z = np.array([np.cos(angle), np.sin(angle)])
    right.annotate("", z, (0, 0), arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 1.4})
    right.plot([z[0], 0], [z[1], z[1]], ":", color=ACCENT)
    right.plot([0, 0], [-1, 1], color=PALE, linewidth=0.8)
    right.text(-0.07, z[1], "cosine 0.5\nmeans 135", ha="right", va="center", color=ACCENT)
    right.set_title("a number: loss $(r - \\cos θ)^2$")
    write(figure, "idea", 48)


def building():
    """Draw the way from data to answers."""
    figure, axis = plt.subplots(figsize=(7.2, 2.3), layout="constrained")
    boxes = {
        "data": (0, 0, "images, tables,\ntexts, tensors", "data", PALE),
        "network": (1, 0, "any nn.Module:\n(n, ...) to (n, D)", "models", PALE),
        "output space": (2, 0, "loss and\npredictions", "spaces, losses", ACCENT),
        "run": (3, 0, "a folder: JSON\nand safetensors", "training", PALE),
        "afterwards": (
            4,
            0,
            "evaluate, calibrate,\nadd classes, export",
            "evaluation, export",
            PALE,
        ),
        "prototypes": (
            2,
            1,
            "placed before training,\nwith a certificate",
            "codes, prototypes",
            SECOND,
        ),
        "prior": (1, 1, "words, taxonomy,\nor the data", "priors", PALE),
    }
    for name, (x, y, what, where, color) in boxes.items():
        white = color != PALE
        axis.add_patch(plt.Rectangle((x - 0.43, y - 0.3), 0.86, 0.6, color=color, linewidth=0))
        axis.text(
            x,
            y + 0.18,
            name,
            weight="bold",
            ha="center",
            va="center",
            color="white" if white else INK,
        )
        axis.text(
            x, y - 0.1, what, fontsize=7, ha="center", va="center", color="white" if white else INK
        )
        axis.text(
            x, y - 0.38, where, fontsize=7, family="monospace", ha="center", va="center", color=INK
        )
    for start, end in (
        ((0, 0), (1, 0)),
        ((1, 0), (2, 0)),
        ((2, 0), (3, 0)),
        ((3, 0), (4, 0)),
        ((1, 1), (2, 1)),
    ):
        axis.annotate(
            "",
            (end[0] - 0.43, end[1]),
            (start[0] + 0.43, start[1]),
            arrowprops={"arrowstyle": "->"},
        )
    axis.annotate("", (2, 0.3), (2, 0.56), arrowprops={"arrowstyle": "->"})
    axis.set(xlim=(-0.5, 4.5), ylim=(-0.5, 1.35))
    axis.axis("off")
    write(figure, "building", 32)


DRAWN = (
    losses,
    idea,
    building,
    sphere,
    digits,
    shapes,
    turned,
    names,
    uneven,
    unknown,
    conformal,
    monday,
    table,
    joint,
    loop,
)
PICTURES = {draw.__name__: draw for draw in DRAWN}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
