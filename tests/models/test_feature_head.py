"""One rule for features that do not change, whether a network of the command line has computed them
or they come as rows of a table.
"""

import numpy as np
import pytest
import torch

import hyperproto as hp
from hyperproto.defaults import WIDE
from hyperproto.estimators import HypersphericalClassifier
from hyperproto.models import EfficientNetLite0, FeatureHead
from hyperproto.training.fit import kind_of, resolve_settings

FEATURES, ROWS = EfficientNetLite0.num_features, 90


@pytest.fixture(scope="module")
def features():
    random = np.random.default_rng(0)
    labels = np.arange(ROWS) % 3
    rows = random.normal(size=(ROWS, FEATURES)) + 3 * np.eye(3, FEATURES)[labels]
    return rows.astype(np.float32), labels


def test_rows_of_features_get_the_network_and_settings_that_the_command_line_has(features):
    rows, labels = features
    model = HypersphericalClassifier(epochs=1, random_state=0).fit(rows, labels)
    network = EfficientNetLite0(model.space_.dim)
    assert str(model.network_.layers) == str(network.output)
    there = resolve_settings(
        hp.TrainSettings(epochs=1, seed=model.settings_.seed),
        hp.Space(model.space_.dim, hp.Classes(3)),
        ROWS,
        kind_of(torch.from_numpy(rows)),  # as the loop sees frozen features
    )
    assert model.settings_ == there


def test_trained_alike_both_ways_give_the_same_network(features):
    rows, labels = (torch.from_numpy(each) for each in features)
    space, found = hp.Space(2, hp.Classes(3)), []
    weights = FeatureHead(2, FEATURES).state_dict()
    for network in (FeatureHead(2, FEATURES).layers, EfficientNetLite0(2).output):
        network.load_state_dict({key.removeprefix("layers."): w for key, w in weights.items()})
        hp.fit(network, space, (rows, labels), epochs=2, progress=False)
        found.append(network(rows))
    assert torch.equal(*found)


@pytest.mark.parametrize(("columns", "kind"), [(WIDE - 1, "rows"), (WIDE, "wide rows")])
def test_rows_are_wide_from_so_many_columns_on(columns, kind):
    assert kind_of(torch.zeros(3, columns)) == kind
