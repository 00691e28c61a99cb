"""Sets of classes that contain the right one nine times of ten, whatever the network."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

from hyperproto.estimators import HypersphericalClassifier

X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
X = X + np.random.default_rng(0).normal(0, 6, X.shape)  # hard to read
model = HypersphericalClassifier(random_state=0).fit(X[:600], y[:600])
print(f"one answer: {100 * model.score(X[600:], y[600:]):.1f} % right")

levels, covered, sizes = (0.8, 0.9, 0.95), [], []
for seed in range(
    20
):  # the promise is one on average, so draw what calibrates and what tests twenty times
    rows = np.random.default_rng(seed).permutation(np.arange(600, len(X)))
    held_out, test = rows[:600], rows[600:]
    model.recalibrate(X[held_out], y[held_out])
    sets = [
        model.conformal_sets(X[test], coverage=level) for level in levels
    ]  # (n, 10), true for classes in the set
    covered.append([found[np.arange(len(test)), y[test]].mean() for found in sets])
    sizes.append([found.sum(axis=1).mean() for found in sets])

covered, sizes = np.mean(covered, axis=0), np.mean(sizes, axis=0)
for level, share, size in zip(levels, covered, sizes, strict=True):
    print(f"{100 * level:.0f} % asked: {100 * share:.1f} % covered, {size:.2f} classes in a set")
assert np.all(np.abs(covered - levels) < 0.02)
assert np.all(np.diff(sizes) > 0)
