"""Classes with two to a hundred examples: what "balanced" does for the rare ones."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split

from hyperproto.estimators import HypersphericalClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
rng = np.random.default_rng(0)
kept = np.concatenate(
    [rng.permutation(np.flatnonzero(y == k))[: round(2 * 50 ** (k / 9))] for k in range(10)]
)
print("examples of each class:", np.bincount(y[kept]))

recall = {}
for weight in (None, "balanced"):
    model = HypersphericalClassifier(class_weight=weight, random_state=0).fit(X[kept], y[kept])
    recall[weight] = recall_score(y_test, model.predict(X_test), average=None)
    rare, common = recall[weight][:3].mean(), recall[weight][7:].mean()
    print(
        f"class_weight={weight!r}: {100 * rare:.0f} % of the three rarest, {100 * common:.0f} % of the commonest"
    )
assert recall["balanced"][:3].mean() > recall[None][:3].mean()
assert recall["balanced"].mean() > recall[None].mean()
