"""A table with scikit-learn: three cultivars of wine from thirteen measurements."""

from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score, train_test_split

import hyperproto as hp
from hyperproto.estimators import HypersphericalClassifier

wine = load_wine(as_frame=True)
X, y = wine.data, wine.target_names[wine.target]
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
model = HypersphericalClassifier(random_state=0).fit(X, y)
print(f"{100 * model.score(X_test, y_test):.1f} % of held-out wines")

scores = cross_val_score(HypersphericalClassifier(random_state=0), X, y, cv=3)
print(f"{100 * scores.mean():.1f} % in three folds")

model = HypersphericalClassifier(calibrate=True, validation_fraction=0.3, random_state=0).fit(X, y)
print(model.classes_, model.predict_proba(X_test[:2]).round(2))

sets = model.conformal_sets(X_test, coverage=0.9)
print(f"{sets.sum(axis=1).mean():.2f} cultivars in a set")

model.save("wine-model")
again = hp.load("wine-model")
assert (again.predict(X_test) == model.predict(X_test)).all()
assert model.score(X_test, y_test) > 0.9
