"""scikit-learn's own checks of what an estimator is: none is expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hyperproto.estimators import (
    HypersphericalClassifier,
    HypersphericalMultiTask,
    HypersphericalRegressor,
)

SOME = {
    "epochs": 6
}  # fewer passes than the defaults would take, as scikit-learn's tests do with its MLPs
ESTIMATORS = [
    HypersphericalClassifier(**SOME),
    HypersphericalRegressor(**SOME),
    HypersphericalMultiTask(**SOME),
]


@parametrize_with_checks(ESTIMATORS)
def test_the_estimators_keep_scikit_learns_contract(estimator, check, monkeypatch):
    monkeypatch.setenv(
        "SCIPY_ARRAY_API", "1"
    )  # else the checks of arrays that are not numpy's are skipped
    check(estimator)
