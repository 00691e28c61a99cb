"""A few damaged files of every kind; ``make attack`` tries a thousand of each."""

import pytest

from tests.attack.__main__ import run_cases
from tests.attack.kinds import KINDS

TRAINED = [
    kind for kind in KINDS if kind.startswith(("run-", "estimator-"))
]  # of which most are left to `make attack`


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in TRAINED])
def test_a_damaged_file_is_read_or_refused_in_a_sentence(kind):
    counts, failures = run_cases(kind, seed=1, cases=range(12))
    assert not failures, failures
    assert sum(counts.values()) == 12


@pytest.mark.parametrize(
    "kind", ["run-config.json", "run-checkpoint.safetensors", "estimator-estimator.json"]
)
def test_a_damaged_model_is_loaded_or_refused_in_a_sentence(kind):
    counts, failures = run_cases(kind, seed=1, cases=range(6))
    assert not failures, failures
    assert sum(counts.values()) == 6
