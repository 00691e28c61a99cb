"""Equation 6 as printed: every triplet in one K x K x K array."""

import numpy as np


def dense_ranking(points, similarity):
    """Return the loss and its gradient in the points, by differentiating triplet by triplet."""
    count = len(points)
    cosines = points @ points.T
    o = cosines[:, :, None] - cosines[:, None, :]
    truth = similarity[:, :, None] >= similarity[:, None, :]
    i, j, k = np.ogrid[:count, :count, :count]
    triplet = (i != j) & (i != k) & (j != k)
    likelihood = 1 / (1 + np.exp(-o))
    entropy = -np.where(truth, np.log(likelihood), np.log(1 - likelihood))
    slope = np.where(triplet, likelihood - truth, 0)  # d entropy / d o
    by_cosine = slope.sum(axis=2) - slope.sum(axis=1)
    gradient = by_cosine @ points + by_cosine.T @ points
    return (entropy * triplet).sum() / triplet.sum(), gradient / triplet.sum()
