"""A class and a number on one sphere, with missing labels, by the training loop
that comes along.
"""

import math
from tempfile import TemporaryDirectory

import torch

import hyperproto as hp
from hyperproto.data import load_rotated_digits
from hyperproto.models import DigitNet

torch.manual_seed(0)
train, held_out = load_rotated_digits(size=8)
train.targets["angle"][::3] = math.nan  # a third of the angles were never written down

space = hp.Space(
    6,
    digit=hp.Classes(["2", "3", "4", "5", "7"], loss="paper"),
    angle=hp.Range(0, 180, margin=0.1),
)
with TemporaryDirectory() as folder:
    run = hp.fit(
        DigitNet(space.dim), space, train, valid=held_out, epochs=5, lr=0.003, folder=folder
    )
    network, loaded = hp.load(folder)

answers = loaded.decode(loaded.predict(network(held_out.inputs[:3])))
print(answers, run.metrics)
assert run.metrics["digit/accuracy"] > 0.85
assert run.metrics["angle/mae"] < 20
