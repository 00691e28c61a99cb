"""A network that has learned seven digits says "unknown" to the other three."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from hyperproto.estimators import HypersphericalClassifier

X, y = load_digits(return_X_y=True)
known = y < 7
X_train, X_test, y_train, y_test = train_test_split(
    X[known], y[known], test_size=0.3, random_state=0
)
strangers = X[~known]  # 7, 8 and 9

model = HypersphericalClassifier(
    loss="squared_cosine", reject=0.05, validation_fraction=0.3, random_state=0
)
model.fit(X_train, y_train)  # a share of the rows is held out, and sets the threshold
answers = model.predict(X_test)
refused, caught = np.mean(answers == -1), np.mean(model.predict(strangers) == -1)
accuracy = np.mean((answers == y_test)[answers != -1])
scores = np.concatenate([model.outlier_score(X_test), model.outlier_score(strangers)])
auroc = roc_auc_score(np.repeat([0, 1], [len(X_test), len(strangers)]), scores)

print(
    f"known digits: {100 * refused:.1f} % called unknown, {100 * accuracy:.1f} % of the others right"
)
print(f"unknown digits: {100 * caught:.1f} % called unknown; AUROC {100 * auroc:.1f} %")
assert refused < 0.1 < 0.3 < caught
assert auroc > 0.85
