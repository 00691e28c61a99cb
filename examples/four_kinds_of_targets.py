"""A class, a number, an angle and a set of labels from one network with one loss, without weights;
next to a multi-task network with four heads and four losses.
"""

import numpy as np
import torch
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

import hyperproto as hp

images, digits = load_digits(return_X_y=True)
turns = np.random.default_rng(0).uniform(0, 360, len(images))
pairs = zip(images.reshape(-1, 8, 8) / 16, turns, strict=True)
turned = [rotate(image, turn, reshape=False, order=1).ravel() for image, turn in pairs]
inputs = torch.tensor(np.array(turned), dtype=torch.float32)
traits = {"even": "02468", "has a loop": "0689", "prime": "2357"}
space = hp.Space(
    23, digit=hp.Classes(10), ink=hp.Number(), turn=hp.Angle(360), traits=hp.Labels([*traits])
)
sets = [[name for name, has in traits.items() if str(digit) in has] for digit in digits]
values = {"digit": digits, "ink": images.sum(axis=1), "turn": turns, "traits": sets}
targets = space.encode(values)
train, test = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0)).split(1400)
space.balance({name: target[train] for name, target in targets.items()})


def heads(z, true):
    """Return the sum of four losses; ink in units of its standard deviation."""
    angles = true["turn"].deg2rad()
    circle = torch.stack([angles.cos(), angles.sin()], dim=1)
    return (
        functional.cross_entropy(z[:, :10], true["digit"])
        + (z[:, 10] - (true["ink"] - 313) / 54).abs().mean()
        + (z[:, 11:13] - circle).square().sum(dim=1).mean()
        + functional.binary_cross_entropy_with_logits(z[:, 13:], true["traits"])
    )


def read_heads(z):
    """Return predictions of the four heads."""
    turn = torch.atan2(z[:, 12], z[:, 11]).rad2deg() % 360
    digit, ink = z[:, :10].argmax(dim=1), z[:, 10] * 54 + 313
    return {"digit": digit, "ink": ink, "turn": turn, "traits": (z[:, 13:] > 0).float()}


def measured(loss, width, read):
    """Train a network and return its measures on held-out digits."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, width))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(30):
        for rows in train[torch.randperm(len(train))].split(128):
            wrong = loss(network(inputs[rows]), {name: t[rows] for name, t in targets.items()})
            optimizer.zero_grad()
            wrong.backward()
            optimizer.step()
    predicted, found = read(network(inputs[test]).detach()), {}
    for name, task in space.tasks.items():
        total, count = task.terms(predicted[name], targets[name][test])[task.metric]
        found[f"{name}/{task.metric}"] = total / count
    return found


sphere = measured(space.loss, space.dim, space.predict)
others = measured(heads, 16, read_heads)
for name, value in sphere.items():
    print(f"{name:16} one output {value:6.3f}, four heads {others[name]:6.3f}")
assert sphere["digit/accuracy"] > 0.7
assert sphere["traits/micro_f1"] > 0.7
