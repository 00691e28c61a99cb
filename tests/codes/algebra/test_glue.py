import numpy as np
import pytest
from algebra_helpers import assert_is_code

from hyperproto.codes.algebra.chirps import ChirpCode
from hyperproto.codes.algebra.glue import GluedCode
from hyperproto.codes.algebra.quadratic import SignCode, delsarte_goethals_forms

KERDOCK = SignCode(delsarte_goethals_forms(4, 0))
SHORTENED = SignCode(delsarte_goethals_forms(6, 0), 2)
GOETHALS = SignCode(delsarte_goethals_forms(4, 1))
CHIRPS = ChirpCode(11)


@pytest.mark.parametrize(
    ("code", "group", "inside", "num_groups", "outer_dim"),
    [
        (KERDOCK, 32, 0.0, 5, 4),
        (KERDOCK, 32, 0.0, 8, 4),
        (KERDOCK, 32, 0.0, 9, 8),
        (SHORTENED, 32, -2 / 62, 32, 31),
        (GOETHALS, 256, 1 / 4, 8, 7),
        (CHIRPS, 44, 0.0, 12, 6),
    ],
)
def test_glued_code_attains_a_cosine_below_that_of_its_parent(code, group, inside, num_groups, outer_dim):
    glued = GluedCode(code.rows, code.dim, group, inside, code.max_cosine, num_groups, outer_dim)
    points = glued.rows(np.arange(glued.num_points))
    assert_is_code(points, group * num_groups, code.dim + outer_dim, glued.max_cosine)
    assert inside < glued.max_cosine < code.max_cosine
