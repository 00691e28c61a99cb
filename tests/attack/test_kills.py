"""A few broken writers of every kind; ``make attack`` kills fifty, or ``KILLS=500``."""

import pytest

from tests.attack.kills import TARGETS, attack

CASES = {"kill": 3, "full": 2, "two": 1}
PAIRS = [(name, way) for name in TARGETS for way in CASES]


@pytest.mark.parametrize(("name", "way"), PAIRS)
def test_what_was_broken_off_succeeds_the_second_time_with_the_same_bytes(name, way):
    counts, failures = attack(name, way, seed=1, cases=range(CASES[way]))
    assert not failures, failures
    assert sum(counts.values()) == CASES[way]
