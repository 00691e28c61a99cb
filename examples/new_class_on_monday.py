"""A classifier in use, and on Monday there is a new class, with ten examples of it."""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from hyperproto.estimators import HypersphericalClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

# until Friday: nine digits, on a sphere with an axis to spare; 20 examples of each are kept
model = HypersphericalClassifier(dim=10, replay=20, random_state=0).fit(X[y < 9], y[y < 9])
friday = model.score(X_test[y_test < 9], y_test[y_test < 9])

# on Monday: a prototype for "9", and a few steps on the ten new examples and the kept ones
report = model.add_classes(
    X[y == 9][:10], y[y == 9][:10], new_valid=(X_test[y_test == 9], y_test[y_test == 9])
)
monday, new = model.score(X_test[y_test < 9], y_test[y_test < 9]), report.new_accuracy

print(f"the nine digits: {100 * friday:.1f} % on Friday, {100 * monday:.1f} % on Monday")
print(f"the new one: {100 * new:.1f} %")
assert model.classes_.tolist() == list(range(10))
assert monday > friday - 0.05
assert new > 0.5
