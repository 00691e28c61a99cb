import pytest

from hyperproto.estimators.auto import choose_dim, choose_loss, choose_steps, lay_out_classes
from hyperproto.losses import CosineSoftmax, SquaredCosine


@pytest.mark.parametrize("num_classes", [2, 3, 10, 65])
def test_up_to_64_axes_the_classes_form_a_simplex(num_classes):
    dim = choose_dim("auto", num_classes)
    assert dim == max(2, num_classes - 1)
    assert lay_out_classes(num_classes, dim).certificate.max_cosine == pytest.approx(-1 / (num_classes - 1))


@pytest.mark.parametrize("num_classes", [66, 100, 1000])
def test_beyond_the_certificate_keeps_the_maximum_cosine_at_a_tenth(num_classes):
    dim = choose_dim("auto", num_classes)
    assert 64 <= dim <= 256
    assert lay_out_classes(num_classes, dim).certificate.max_cosine <= 0.1 + 1e-9


def test_a_dimension_that_is_given_is_taken():
    assert choose_dim(3, 100) == 3
    with pytest.raises(ValueError, match='Unknown dimension "atuo". Choose from: "auto"'):
        choose_dim("atuo", 100)


def test_many_classes_get_the_loss_whose_cost_does_not_grow():
    assert isinstance(choose_loss("auto", 1000), CosineSoftmax)
    assert isinstance(choose_loss("auto", 1001), SquaredCosine)
    assert choose_loss(CosineSoftmax(scale=4), 5).scale == 4


def test_beside_numbers_classes_get_the_loss_that_numbers_have():
    assert isinstance(choose_loss("auto", 5, beside_numbers=True), SquaredCosine)


def test_small_data_get_as_many_passes_as_give_sixty_steps():
    for n in (2, 64, 65, 142, 1437, 100_000):
        epochs, rows = choose_steps("auto", "auto", n)
        steps = -(-n // rows)
        assert rows <= 64
        assert epochs >= 15
        assert epochs * steps >= 60
        assert epochs == 15 or (epochs - 1) * steps < 60
    assert choose_steps(3, 10, 142) == (3, 10)
    with pytest.raises(ValueError, match='Unknown number of epochs "many"'):
        choose_steps("many", "auto", 10)
