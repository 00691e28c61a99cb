"""The list of claims: a verdict is what the comparison says, and the files are written from it."""

import json

import pytest

from reproduction.claims import CLAIMS, PLAIN, RESULTS, look_up, plain_verdict, to_record
from reproduction.experiment import find_experiment
from reproduction.summaries import INCONCLUSIVE
from tests.reference.printed import TABLES, printed_table


def test_the_list_is_what_the_records_say():
    text = (RESULTS / "claims.json").read_text(encoding="utf-8")
    assert json.loads(text) == json.loads(json.dumps([to_record(claim) for claim in CLAIMS]))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text)
def test_no_verdict_is_stronger_or_weaker_than_its_comparison(claim):
    found, verdict = look_up(claim.tuned), plain_verdict(claim)
    low, high = found.interval or (None, None)
    if low is not None and found.verdict:
        expected = "better" if low > 0 else "worse" if high < 0 else INCONCLUSIVE
        assert found.verdict in (expected, "neither beats the constant answer")
    if verdict.startswith("holds"):
        assert found.verdict == "better"
    if verdict.startswith("does not hold"):
        assert found.verdict == "worse"
    if found.verdict == INCONCLUSIVE:
        assert verdict == PLAIN[claim.expects, INCONCLUSIVE]


def test_what_is_said_to_be_printed_is_printed():
    known = {mean for name in TABLES for mean, _ in printed_table(name).values()}
    for claim in CLAIMS:
        assert set(claim.printed or ()) <= known, claim.text


def test_every_claim_has_its_rows():
    assert len({claim.text for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        for pair in filter(None, (claim.tuned, claim.as_printed)):
            entries = find_experiment(pair.table).entries(pair.scale)
            places = {(entry.row, entry.column) for entry in entries}
            assert {(pair.ours, pair.column), (pair.against, pair.column)} <= places
