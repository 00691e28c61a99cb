"""The training examples as a prior: classes that look alike are similar."""

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

import hyperproto as hp
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.priors import data_driven, from_data
from hyperproto.priors.data_driven import discriminant_means, patch_features
from tests.refusals import refuses


def clusters(generator, centers, each=40):
    labels = torch.arange(len(centers)).repeat_interleave(each)
    return centers[labels] + 0.3 * torch.randn(
        len(labels), centers.shape[1], generator=generator
    ), labels


def test_near_classes_are_similar(generator):
    centers = torch.tensor([[5.0, 0, 0], [5.0, 1.0, 0], [-5.0, 0, 1.0], [-5.0, 0, 0]])
    prior = from_data(*clusters(generator, centers), ("a", "b", "c", "d"))
    assert prior.similarity[0, 1] > 0.5 > prior.similarity[0, 2]
    assert prior.similarity[2, 3] > 0.5
    assert "160 examples by columns" in prior.source
    assert prior.names == ("a", "b", "c", "d")


def test_scatter_is_made_round(generator):
    # along the second axis classes differ by much less, but there they hardly scatter
    centers = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.5], [-1.0, 0.5]], dtype=torch.float64)
    labels = torch.arange(4).repeat_interleave(500)
    noise = torch.randn(2000, 2, generator=generator, dtype=torch.float64) * torch.tensor(
        [1.0, 0.1]
    )
    means = discriminant_means(centers[labels] + noise, labels)
    first, second = (abs(means[i] - means[j]).max() for i, j in ((0, 1), (0, 2)))
    assert first == pytest.approx(2.0, rel=0.2)  # in standard deviations
    assert second == pytest.approx(
        0.5 / (0.9 * 0.1**2 + 0.1 * 0.505) ** 0.5, rel=0.2
    )  # shrunk toward a ball


def test_columns_are_brought_to_one_scale(generator):
    x, labels = clusters(generator, torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]))
    plain, far = (from_data(x * torch.tensor([1.0, stretch]), labels) for stretch in (1.0, 100.0))
    assert abs(plain.similarity - far.similarity).max() < 1e-7


def test_a_class_with_one_example_among_many_is_seen():
    labels = torch.zeros(30_000, dtype=torch.int64)
    labels[10_000:20_000], labels[15_003], labels[20_000:] = 1, 2, 3
    x = torch.nn.functional.one_hot(labels, 4) + 0.01 * torch.arange(30_000).remainder(7)[:, None]
    assert from_data(x, labels).known.all()


def test_the_number_of_threads_changes_nothing(generator):
    labels = torch.arange(300) % 60
    x = torch.randn(300, 2_500, generator=generator)
    x += torch.randn(60, 2_500, generator=generator)[labels]
    with threadpool_limits(limits=1):
        one = from_data(x, labels)
    with threadpool_limits(limits=2):
        two = from_data(x, labels)
    np.testing.assert_array_equal(one.similarity, two.similarity)


def test_very_many_columns_are_mixed(generator):
    pairs = torch.randn(2, 2_500, generator=generator)
    centers = pairs.repeat_interleave(2, dim=0) + 0.3 * torch.randn(4, 2_500, generator=generator)
    prior = from_data(*clusters(generator, centers))
    assert min(prior.similarity[0, 1], prior.similarity[2, 3]) > 0.5 > prior.similarity[0, 2]


def test_a_class_in_the_very_middle_is_free():
    x = torch.arange(5.0).repeat(4)[:, None]
    labels = torch.arange(5).repeat(4)
    assert from_data(x, labels, missing="free").known.tolist() == [True, True, False, True, True]


def test_it_is_a_prior_for_placement(generator):
    centers = torch.tensor(
        [[4.0, 0, 0], [4.0, 1.5, 0], [-4.0, 0, 1.5], [-4.0, 0, 0], [0, 6.0, 0], [0, 6.0, 1.5]]
    )
    prior = from_data(*clusters(generator, centers))
    placed = hp.place(6, 3, prior=prior, effort="fast", workers=1)
    cosines = placed.vectors @ placed.vectors.T
    assert cosines[0, 1] > cosines[0, 2]
    assert "examples" in placed.certificate.prior_agreement.prior


def test_images_are_told_apart_by_their_patches(generator):
    stripes = torch.arange(24).remainder(4).lt(2).float().expand(24, 24)
    patterns = torch.stack([stripes, stripes.T, 0.9 * stripes])
    labels = torch.arange(3).repeat_interleave(30)
    images = (
        patterns[labels].unsqueeze(1) + 0.2 * torch.rand(90, 1, 24, 24, generator=generator)
    ) * 200
    prior = from_data(images.to(torch.uint8), labels)
    assert prior.similarity[0, 2] > prior.similarity[0, 1]
    assert "patches" in prior.source


def test_patches_do_not_depend_on_how_images_are_batched(generator, monkeypatch):
    images = torch.randint(0, 256, (30, 3, 20, 20), generator=generator, dtype=torch.uint8)
    features = patch_features(images)
    monkeypatch.setattr(data_driven, "BATCH", 7)
    torch.testing.assert_close(patch_features(images), features, atol=1e-4, rtol=0)
    monkeypatch.undo()
    assert features.isfinite().all()
    torch.testing.assert_close(
        features.mean(dim=0), torch.zeros(features.shape[1]), atol=1e-4, rtol=0
    )
    assert torch.equal(features, patch_features(images))


def test_classes_without_example_are_named_or_placed_freely(generator):
    x, labels = clusters(generator, torch.eye(3))
    with pytest.raises(InputError, match="dog"):
        from_data(x, labels.masked_fill(labels == 1, -1), ("cat", "dog", "fox"))
    free = from_data(x, labels.masked_fill(labels == 1, -1), ("cat", "dog", "fox"), missing="free")
    assert free.known.tolist() == [True, False, True]


def test_an_entry_that_is_missing_counts_as_its_columns_mean(generator):
    x, labels = clusters(generator, torch.tensor([[5.0, 0.0], [-5.0, 1.0], [0.0, 7.0]]))
    holed = x.clone()
    holed[3, 1] = torch.nan
    assert abs(from_data(x, labels).similarity - from_data(holed, labels).similarity).max() < 0.2


def test_one_example_a_class_is_enough():
    assert from_data(torch.eye(3), torch.arange(3)).similarity.shape == (3, 3)


@pytest.mark.parametrize(
    ("inputs", "labels", "error", "said"),
    [
        (torch.zeros(4), torch.arange(4), InputError, r"\(n, features\)"),
        (torch.zeros(4, 2), torch.zeros(4), InputTypeError, "4 integer class ids"),
        (torch.zeros(4, 2), torch.full((4,), -1), InputError, "only missing ones"),
        (torch.full((4, 2), torch.inf), torch.arange(4), InputError, "finite"),
        (
            torch.full((4, 3, 8, 8), torch.nan),
            torch.arange(4),
            InputError,
            "be finite, or in rows NaN where missing; got NaN or infinity",
        ),
    ],
)
def test_bad_examples_get_a_sentence(inputs, labels, error, said):
    with pytest.raises(error, match=said):
        from_data(inputs, labels)


def test_a_label_beyond_the_names_gets_a_sentence():
    with refuses("labels", "2"):
        from_data(torch.eye(3), torch.arange(3), ("a", "b"))


def test_cosines_are_those_of_scikit_learn(generator):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    x, labels = clusters(generator, torch.randn(6, 10, generator=generator))
    model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1).fit(
        x.double().numpy(), labels.numpy()
    )
    theirs, ours = (
        (model.means_ - model.means_.mean(axis=0)) @ model.scalings_,
        discriminant_means(x, labels),
    )
    unit = [means / np.linalg.norm(means, axis=1, keepdims=True) for means in (ours, theirs)]
    np.testing.assert_allclose(unit[0] @ unit[0].T, unit[1] @ unit[1].T, atol=1e-5)
