import pytest
from algebra_helpers import assert_is_code

from hyperproto.codes.algebra.chirps import ChirpCode
from hyperproto.codes.algebra.families import glued_entry
from hyperproto.codes.algebra.quadratic import FormSet, SignCode

KERDOCK = SignCode(FormSet(4, 0, kerdock=True))
SHORTENED = SignCode(FormSet(6, 0, kerdock=True), 2)
GOETHALS = SignCode(FormSet(4, 1, kerdock=True))
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
def test_glued_code_attains_a_cosine_below_that_of_its_parent(
    code, group, inside, num_groups, outer_dim
):
    glued = glued_entry(code, "glued", "here", group, inside, num_groups, outer_dim)
    assert_is_code(glued.build(), group * num_groups, code.dim + outer_dim, glued.max_cosine)
    assert inside < glued.max_cosine < code.max_cosine
