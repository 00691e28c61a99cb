"""Sparse tables: they train as they are, and give what the same table gives when it is dense."""

import copy

import numpy as np
import pytest
import torch
from scipy import sparse

import hyperproto as hp
from hyperproto.data.preprocessing import from_scipy, is_sparse, join_rows, take_rows
from hyperproto.estimators import HypersphericalClassifier
from hyperproto.models.small import MLP
from hyperproto.priors import from_data


def words(n=120, width=30, classes=3, seed=0):
    """Return counts of words, those of a class more often, and the classes."""
    draw = np.random.default_rng(seed)
    y = np.arange(n) % classes
    counts = draw.poisson(0.2, (n, width)) + draw.poisson(1.0, (n, width)) * (
        np.arange(width) % classes == y[:, None]
    )
    return sparse.csr_array(counts.astype(np.float64)), y


def test_rows_are_taken_and_joined_as_of_a_dense_tensor():
    X, _ = words()
    rows, dense = from_scipy(X), torch.from_numpy(X.toarray())
    ids = torch.tensor([5, 5, 0, 119])
    assert torch.equal(take_rows(rows, ids).to_dense(), dense[ids])
    assert torch.equal(take_rows(rows, slice(3, 9)).to_dense(), dense[3:9])
    assert torch.equal(take_rows(rows, ids[:1]).to_dense(), dense[ids[:1]])
    one = take_rows(rows, slice(3, 4))
    assert torch.equal(take_rows(one, torch.tensor([0])).to_dense(), dense[3:4])
    assert torch.equal(
        join_rows([rows, take_rows(rows, ids)]).to_dense(), torch.cat([dense, dense[ids]])
    )


def test_the_first_layer_gives_sparse_rows_the_outputs_and_gradients_of_dense_ones():
    X, _ = words()
    network = MLP(4, X.shape[1], hidden=(8,), norm="layer").double()
    dense = network(torch.from_numpy(X.toarray()))
    dense.square().sum().backward()
    wanted = network.layers[0].weight.grad.clone()
    network.zero_grad()
    found = network(from_scipy(X))
    found.square().sum().backward()
    torch.testing.assert_close(found, dense)
    torch.testing.assert_close(network.layers[0].weight.grad, wanted)


@pytest.mark.parametrize("options", [{}, {"calibrate": True, "early_stopping": True, "replay": 3}])
def test_a_sparse_table_answers_as_the_same_table_dense(options):
    X, y = words()
    options = options | {
        "backbone": lambda out_dim, shape: MLP(out_dim, shape[0])
    }  # by default they differ
    sparsely = HypersphericalClassifier(random_state=0, epochs=8, **options).fit(X, y)
    same = {
        name: getattr(sparsely.settings_, name) for name in ("batch_size", "lr", "weight_decay")
    }
    densely = HypersphericalClassifier(
        random_state=0, epochs=8, standardize="global", **same, **options
    )
    densely.fit(X.toarray(), y)
    np.testing.assert_allclose(sparsely.cosines(X), densely.cosines(X.toarray()), atol=1e-6)
    np.testing.assert_allclose(sparsely.cosines(X.toarray()), densely.cosines(X), atol=1e-6)
    assert sparsely.score(X, y) > 0.8


def test_a_sparse_table_is_never_made_dense(monkeypatch):
    X, y = words()

    def refuse(*args, **options):
        raise AssertionError("a sparse matrix was made dense")

    for name in ("toarray", "todense"):
        monkeypatch.setattr(sparse.csr_array, name, refuse)
    monkeypatch.setattr(torch.Tensor, "to_dense", refuse)
    model = HypersphericalClassifier(dim=2, random_state=0, epochs=2, calibrate=True).fit(X, y)
    model.predict(X)
    model.predict_proba(X)
    model.partial_fit(X, y)


def test_what_is_kept_of_sparse_rows_is_saved(tmp_path):
    X, y = words()
    model = HypersphericalClassifier(random_state=0, epochs=2, replay=2).fit(X, y)
    model.save(tmp_path / "model")
    loaded = hp.load(tmp_path / "model")
    assert is_sparse(loaded.replay_.inputs)
    assert torch.equal(loaded.replay_.inputs.to_dense(), model.replay_.inputs.to_dense())
    np.testing.assert_array_equal(loaded.cosines(X), model.cosines(X))


def test_an_estimator_that_keeps_sparse_rows_is_copied():
    X, y = words()
    model = HypersphericalClassifier(random_state=0, epochs=2, replay=2).fit(X, y)
    copied = copy.deepcopy(model)
    assert torch.equal(copied.replay_.inputs.to_dense(), model.replay_.inputs.to_dense())
    before = model.cosines(X)
    copied.partial_fit(X, y)
    np.testing.assert_array_equal(model.cosines(X), before)
    assert np.abs(copied.cosines(X) - before).max() > 0


def test_scaling_by_columns_does_not_shift_sparse_tables():
    X, y = words()
    model = HypersphericalClassifier(random_state=0, epochs=1, standardize="columns").fit(X, y)
    np.testing.assert_allclose(model.inputs_.scale, np.sqrt(np.square(X.toarray()).mean(axis=0)))
    assert model.inputs_.mean == (0.0,)
    plain = HypersphericalClassifier(random_state=0, epochs=1, standardize="none").fit(X, y)
    assert plain.inputs_.scale == (1.0,)
    with pytest.raises(ValueError, match='Unknown scaling "rows"'):
        HypersphericalClassifier(standardize="rows").fit(X, y)


def test_the_prior_of_sparse_rows_is_nearly_that_of_dense_ones():
    X, y = words(600, classes=6)
    labels = torch.from_numpy(y)
    scaled = X / np.sqrt(np.square(X.toarray()).mean())
    found = from_data(from_scipy(scaled.tocsr()), labels).similarity
    wanted = from_data(torch.from_numpy(scaled.toarray()), labels).similarity
    assert abs(np.asarray(found) - np.asarray(wanted)).max() < 0.15
