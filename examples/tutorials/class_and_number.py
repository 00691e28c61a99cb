"""A class and a number together: which digit it is, and by how much it was turned, from one point
on one sphere.
"""

import math

import torch

import hyperproto as hp
from hyperproto.data import load_rotated_digits
from hyperproto.models import DigitNet

torch.manual_seed(0)
train, test = load_rotated_digits(size=8)
print({name: values[:3].tolist() for name, values in train.targets.items()})

space = hp.Space(3, digit=hp.Classes(["2", "3", "4", "5", "7"]), angle=hp.Range(0, 180))
network = DigitNet(space.dim)
run = hp.fit(network, space, train, valid=test, epochs=8)
print({name: round(value, 2) for name, value in run.metrics.items()})

predicted = space.decode(space.predict(run.network(test.inputs[2:5])))
print(predicted["digit"], [round(angle) for angle in predicted["angle"]])

train.targets["angle"][::3] = math.nan  # a third of the angles was never written down
fewer = hp.fit(DigitNet(space.dim), space, train, valid=test, epochs=8)
print({name: round(value, 2) for name, value in fewer.metrics.items()})
assert run.metrics["digit/accuracy"] > 0.85
assert run.metrics["angle/mae"] < 20
