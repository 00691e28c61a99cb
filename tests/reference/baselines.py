"""The paper's other baselines one example at a time, in plain Python."""

import math

import numpy as np


def one_hot(num_classes, dim):
    return [[1.0 if axis == k else 0.0 for axis in range(dim)] for k in range(num_classes)]


def cross_entropy(logits, label):
    """Return -log softmax of one example."""
    return -math.log(math.exp(logits[label]) / sum(math.exp(logit) for logit in logits))


def cosine_cross_entropy(z, prototypes, label, scale):
    """Return the cross-entropy over scaled cosines of one example to every prototype."""
    return cross_entropy([scale * _cosine(z, p) for p in prototypes], label)


def squared_error(output, value, low, high, *, clamp):
    """Return the loss of one number and its slope in the output, clamped to 0..1 in training or
    not.
    """
    wished = (value - low) / (high - low)
    held = min(max(output, 0.0), 1.0) if clamp else output
    inside = not clamp or 0 <= output <= 1
    return (wished - held) ** 2, 2 * (held - wished) if inside else 0.0


def multi_task(logits, label, output, value, low, high, weight):
    """Return w times the squared error plus 1 - w times the cross-entropy of one example."""
    number, _ = squared_error(output, value, low, high, clamp=False)
    return weight * number + (1 - weight) * cross_entropy(logits, label)


def principal_axes(table, dim):
    """Return coordinates along the eigenvectors of the covariance; of an axis either direction may
    come.
    """
    centred = np.array(table, dtype=np.float64)
    for column in range(centred.shape[1]):
        centred[:, column] -= centred[:, column].mean()
        if centred[:, column].std() > 0:
            centred[:, column] /= centred[:, column].std()
    values, vectors = np.linalg.eigh(centred.T @ centred)
    order = np.argsort(-values)[:dim]
    return centred @ vectors[:, order]


def _cosine(a, b):
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))
