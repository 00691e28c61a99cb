"""Deep NCM one example at a time: every output that counts is kept in a list, and means are taken
of the lists.
"""

import math


class SlowDeepNCM:
    """Keep class means in plain Python; ``mean`` is one of "online", "condensation", "decay"."""

    def __init__(self, num_classes, dim, mean, *, decay=0.9, condense_every=100):
        self.kept = [[] for _ in range(num_classes)]
        self.decayed = [[0.0] * dim for _ in range(num_classes)]
        self.mean, self.decay, self.condense_every, self.dim = mean, decay, condense_every, dim
        self.batches = 0

    def means(self):
        if self.mean == "decay":
            return self.decayed
        return [_average(outputs, self.dim) for outputs in self.kept]

    def observe(self, outputs, labels):
        self.batches += 1
        for k in range(len(self.kept)):
            mine = [z for z, label in zip(outputs, labels, strict=True) if label == k]
            self.kept[k] += mine
            if mine:
                pairs = zip(self.decayed[k], _average(mine, self.dim), strict=True)
                self.decayed[k] = [self.decay * old + (1 - self.decay) * new for old, new in pairs]
        if self.mean == "condensation" and self.batches % self.condense_every == 0:
            self.kept = [[_average(outputs, self.dim)] if outputs else [] for outputs in self.kept]

    def loss(self, outputs, labels):
        """Return the mean cross-entropy of the softmax over negative squared distances; -1 is a
        missing label.
        """
        terms = []
        for z, label in zip(outputs, labels, strict=True):
            if label >= 0:
                weights = [math.exp(-_squared_distance(z, mean)) for mean in self.means()]
                terms.append(-math.log(weights[label] / sum(weights)))
        return sum(terms) / len(terms)

    def predict(self, outputs):
        nearest = []
        for z in outputs:
            distances = [_squared_distance(z, mean) for mean in self.means()]
            nearest.append(distances.index(min(distances)))
        return nearest


def _average(outputs, dim):
    return (
        [sum(z[axis] for z in outputs) / len(outputs) for axis in range(dim)]
        if outputs
        else [0.0] * dim
    )


def _squared_distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
