"""From three measures of a flower: its species, and the width of its petals, each with what is not
known.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from hyperproto.estimators import HypersphericalMultiTask

iris = load_iris(as_frame=True)
X = iris.data.drop(columns="petal width (cm)")
targets = pd.DataFrame(
    {"species": iris.target_names[iris.target], "width": iris.data["petal width (cm)"]}
)
X, X_test, targets, targets_test = train_test_split(X, targets, test_size=0.4, random_state=0)

model = HypersphericalMultiTask(calibrate=True, validation_fraction=0.4, random_state=0).fit(
    X, targets
)
answers, ends = model.predict(X_test), model.predict_interval(X_test, coverage=0.9)["width"]
species, width = answers[:, 0], answers[:, 1].astype(float)
for name, number, (low, high) in zip(species[:3], width, ends, strict=False):
    print(f"{name}, {number:.1f} cm, nine times of ten between {low:.1f} and {high:.1f}")

accuracy, error = (
    np.mean(species == targets_test["species"]),
    np.abs(width - targets_test["width"]).mean(),
)
constant = np.abs(targets["width"].median() - targets_test["width"]).mean()
print(
    f"{100 * accuracy:.0f} % of species; widths to {error:.2f} cm, the median for all to {constant:.2f}"
)
assert accuracy > 0.9
assert error < 0.5 * constant
