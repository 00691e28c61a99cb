"""Classes of a tree: ``hp.Tree`` beside softmax and what is known to make its mistakes cheaper.

``--data DIR`` or ``HYPERPROTO_DATA`` must name the folder with ``cifar-100-binary``, and keeps the
features of all images in ``DIR/features`` (20 ms an image, once). 50 training images of each
class, all test images, and two trees: the 20 superclasses, and WordNet 3.0 where
``/usr/share/wordnet`` has it, by the first meaning of each name and the first hypernym. Distances
are heights of the lowest node above two classes, at 1, 5 and 20 the mean over the best classes; a
ranking that knew each class and the whole tree would have the "least possible" ones. Each method
has the same network and as many choices, made on half of the training images; the table is the
mean of three seeds.
"""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

import hyperproto as hp
from benchmarks.own_features import compute_features
from hyperproto.data.cifar100 import read_cifar100
from hyperproto.models import create_backbone
from hyperproto.priors import from_data

PER_CLASS, SEEDS, EPOCHS, DIM = 50, 3, 10, 50
WORDNET = Path("/usr/share/wordnet")
HEADINGS = ("accuracy, %", "level 1, %", "severity", "at 1", "at 5", "at 20")


@dataclass(frozen=True)
class Method:
    """A loss on outputs of a width, and the probabilities that outputs stand for."""

    dim: int
    loss: Callable[[Tensor, Tensor], Tensor]
    probabilities: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Images:
    """Features and classes to train on, and to measure on."""

    train: Tensor
    labels: Tensor
    test: Tensor
    answers: Tensor


def measure() -> tuple[str, list[dict[str, object]]]:
    data = os.environ.get("HYPERPROTO_DATA")
    title = "CIFAR-100 with trees, 50 images of each class, frozen features"
    if not data:
        return title, [{"skipped": "set HYPERPROTO_DATA to the folder that holds CIFAR-100"}]
    names, parents, images = read(Path(data))
    trees = {"superclasses": parents} | ({"WordNet": hypernyms(names)} if WORDNET.exists() else {})
    rows: list[dict[str, object]] = []
    for kind, taxonomy in trees.items():
        tree = hp.Tree(names, parents=taxonomy)
        rows.append({"tree": kind, "method": "least possible", **least(tree, images.answers)})
        for name, methods in ways(tree, images).items():
            for row in compared(name, methods, tree, images):
                rows.append({"tree": kind, **row})
                print(*rows[-1].values(), flush=True)
    return title, rows


def ways(tree: hp.Tree, images: Images) -> dict[str, list[tuple[float, Method]]]:
    """Return the methods by name, each with three rates or options to choose from."""
    softmax = Method(tree.num_classes, cross_entropy, lambda z: z.softmax(dim=1))
    prior = tree.joined(from_data(images.train, images.labels, tree.names))
    placed = {
        "the tree": hp.Space(DIM, replace(tree, loss="paper")),
        "the tree and the data": hp.Space(
            DIM, hp.Tree(hp.place(tree.names, DIM, prior=prior), parents=tree.parents, loss="paper")
        ),
    }
    return {
        "softmax": [(rate, softmax) for rate in (0.03, 0.1, 0.3)],
        "soft labels": [(0.1, soft_labels(tree, beta)) for beta in (5, 10, 20)],
        "HAFrame's frame": [(0.1, framed(tree, steep)) for steep in (0.5, 1, 2)],
        **{
            f"hp.Tree in {DIM}, by {what}": [(rate, on_sphere(space)) for rate in (0.6, 1.2, 2.4)]
            for what, space in placed.items()
        },
    }


def on_sphere(space: hp.Space) -> Method:
    """Return a space as a method."""
    head = space.named_heads()["target"]
    return Method(space.dim, space.loss, head.probabilities)


def soft_labels(tree: hp.Tree, beta: float) -> Method:
    """Return the cross-entropy of labels that share with classes nearby (Bertinetto et al. 2020)."""
    distance = torch.from_numpy(tree.cost) / tree.cost.max()
    shares = (-beta * distance).softmax(dim=1).float()
    return Method(
        tree.num_classes, lambda z, y: cross_entropy(z, shares[y]), lambda z: z.softmax(dim=1)
    )


def framed(tree: hp.Tree, steep: float) -> Method:
    """Return cosine softmax and 1 - cos on a frame in K dimensions whose cosines fall with the
    distance (HAFrame, Liang and Davis 2023).
    """
    cosines = torch.exp(-steep * torch.from_numpy(tree.cost).double())
    lengths, axes = torch.linalg.eigh(cosines)
    frame = normalize(axes * lengths.clamp_min(0).sqrt()).float()

    def logits(z: Tensor) -> Tensor:
        return 10 * normalize(z) @ frame.mT

    def loss(z: Tensor, y: Tensor) -> Tensor:
        pull = 1 - (normalize(z) * frame[y]).sum(dim=1).mean()
        return cross_entropy(logits(z), y) + pull

    return Method(tree.num_classes, loss, lambda z: logits(z).softmax(dim=1))


def compared(
    name: str, choices: list[tuple[float, Method]], tree: hp.Tree, images: Images
) -> list[dict[str, object]]:
    """Return a line for the most probable class, and one for the least expected cost."""
    torch.manual_seed(0)
    order = torch.randperm(len(images.train))
    held, kept = order[: len(order) // 2], order[len(order) // 2 :]
    part = Images(images.train[kept], images.labels[kept], images.train[held], images.labels[held])
    found = [accuracy(method, trained(method, rate, part, 0), part) for rate, method in choices]
    best = max(range(len(found)), key=found.__getitem__)
    rate, method = choices[best]
    lines: dict[str, list[dict[str, float]]] = {"": [], ", least cost": []}
    for seed in range(SEEDS):
        shares = method.probabilities(trained(method, rate, images, seed))
        costs = shares @ torch.from_numpy(tree.cost).float()
        for suffix, ranking in (("", shares), (", least cost", -costs)):
            lines[suffix].append(measures(tree, ranking, images.answers))
    return [
        {
            "method": name + suffix,
            **{head: f"{sum(m[head] for m in runs) / SEEDS:.2f}" for head in HEADINGS},
        }
        for suffix, runs in lines.items()
    ]


def accuracy(method: Method, z: Tensor, part: Images) -> float:
    """Return how often the most probable class is right."""
    return float((method.probabilities(z).argmax(dim=1) == part.answers).double().mean())


def trained(method: Method, rate: float, images: Images, seed: int) -> Tensor:
    """Return the outputs for the images to measure on, of a network with one hidden layer."""
    torch.manual_seed(seed)
    network = create_backbone(
        "mlp", out_dim=method.dim, in_features=1280, hidden=(512,), dropout=0.3, norm="batch"
    )
    steps = EPOCHS * (len(images.train) // 128)
    optimizer = torch.optim.SGD(
        network.parameters(), rate, momentum=0.9, weight_decay=1e-3, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(images.train))
        for rows in order[: len(order) // 128 * 128].split(128):
            optimizer.zero_grad()
            method.loss(network(images.train[rows]), images.labels[rows]).backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        outputs: Tensor = network.eval()(images.test)
    return outputs


def measures(tree: hp.Tree, ranking: Tensor, answers: Tensor) -> dict[str, float]:
    """Return the measures of a ranking of all classes."""
    top = ranking.topk(20, dim=1).indices
    terms = {name: total / count for name, (total, count) in tree.terms(top[:, 0], answers).items()}
    shares = [100 * terms[name] for name in ("accuracy", "level_1_accuracy")]
    distances = [tree.distance_at(top[:, :k], answers) for k in (1, 5, 20)]
    return dict(zip(HEADINGS, (*shares, terms["severity"], *distances), strict=True))


def least(tree: hp.Tree, answers: Tensor) -> dict[str, object]:
    """Return the distances of a ranking by the true cost."""
    cost = torch.from_numpy(tree.cost).double()
    found = dict.fromkeys(HEADINGS, math.nan)
    for k in (1, 5, 20):
        found[f"at {k}"] = float(cost.sort(dim=1).values[answers, :k].mean())
    return {name: "" if value != value else f"{value:.2f}" for name, value in found.items()}


def read(data: Path) -> tuple[list[str], dict[str, str], Images]:
    """Return the classes, the parents of classes and superclasses, and standardized features."""
    compute_features("cifar-100", data)
    stored = load_file(data / "features" / "cifar-100" / "features.safetensors")
    fine, coarse = (read_cifar100(data, classes=kind) for kind in ("fine", "coarse"))
    names, above = list(fine.targets["class"].names or ()), coarse.targets["class"].names or ()
    ids = fine.train.targets["class"]
    pairs = zip(ids.tolist(), coarse.train.targets["class"].tolist(), strict=True)
    parents = {names[child]: f"the {above[parent]}" for child, parent in pairs}
    parents |= dict.fromkeys(parents.values(), "everything")
    rows = torch.cat([(ids == k).nonzero()[:PER_CLASS, 0] for k in range(len(names))])
    train = stored["train"][rows]
    mean, spread = train.mean(dim=0), train.std(dim=0) + 1e-6
    test = (stored["test"] - mean) / spread
    return names, parents, Images((train - mean) / spread, ids[rows], test, stored["test.class"])


def hypernyms(names: list[str]) -> Mapping[str, str]:
    """Return the parents of classes and synsets up to the root of WordNet's nouns."""
    first, above = {}, {}
    for line in (WORDNET / "index.noun").read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            word, _, synsets, *rest = line.split()
            first[word] = rest[-int(synsets)]
    for line in (WORDNET / "data.noun").read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            synset, _, _, words, *rest = line.partition(" | ")[0].split()
            links = rest[2 * int(words, 16) + 1 :]
            marked = zip(links[::4], links[1::4], strict=False)
            above[synset] = next((end for mark, end in marked if mark in ("@", "@i")), "")
    parents = {}
    for name in names:
        node = first.get(name) or first[name.rpartition("_")[2]]
        parents[name] = node
        while above[node]:
            parents[node] = above[node]
            node = above[node]
    return parents
