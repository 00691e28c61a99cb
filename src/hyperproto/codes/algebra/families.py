"""Families with a member for (almost) every size: the entries that fit K points in D dimensions.

Each function yields the members of one family that can hold K points in at most D dimensions. Within a family
larger members are better, so only the largest few that fit are made; making an entry builds no point.
"""

import math
from collections.abc import Iterator

from hyperproto.codes.algebra.chirps import ChirpCode
from hyperproto.codes.algebra.entry import Entry
from hyperproto.codes.algebra.fields import is_prime_power, largest_prime_power, prime_power
from hyperproto.codes.algebra.geometric import geometric_entries
from hyperproto.codes.algebra.glue import GluedCode
from hyperproto.codes.algebra.quadratic import FormSet, SignCode, bch_forms, delsarte_goethals_forms

__all__ = ["family_entries", "sign_entry"]

MAX_BITS = 14  # tables of GF(2^14) are made in a second
MAX_TERMS = 3  # K grows by a factor of D with each term: D^4 points are enough
CHIRPS = "Alltop (1980); Wootters, Fields (1989): mutually unbiased bases"


def family_entries(num_points: int, dim: int) -> Iterator[Entry]:
    """Yield the entries of every family that hold ``num_points`` points in at most ``dim`` dimensions."""
    for entries in (_sign_codes, _glued_codes, _chirps, geometric_entries):
        for entry in entries(num_points, dim):
            if entry.num_points >= num_points and entry.dim <= dim:
                yield entry


def sign_entry(forms: FormSet, shortened: int = 0) -> Entry:
    """Return the entry of a sign code."""
    code = SignCode(forms, shortened)
    name, citation = _names(forms)
    cut = f" shortened {shortened} times" if shortened else ""
    return Entry(
        f"{name}{cut}",
        code.num_points,
        code.dim,
        code.max_cosine,
        f"{citation}{': cosine (s D - k)/(D - k) when k coordinates are fixed' if shortened else ''}",
        code.rows,
        # all forms are alike where all differences have one rank: whole cosets; else a share of each
        block=code.coset * (forms.num_forms if forms.is_single_rank else 1),
    )


def _names(forms: FormSet) -> tuple[str, str]:
    """Return the name of a set of forms and who found it."""
    dim = 1 << forms.bits
    if forms.kerdock and forms.terms == 0:
        return f"Kerdock {dim}", "Kerdock (1972); Cameron, Seidel (1973): mutually unbiased bases"
    if forms.kerdock:
        return (
            f"Delsarte-Goethals {dim} ({forms.terms})",
            "Delsarte, Goethals (1975): rank of alternating forms",
        )
    if forms.terms == 1 and forms.bits % 2:
        return f"Gold {dim}", "Gold (1968): Tr(ax^3) has rank m - 1"
    return f"dual BCH {dim} ({forms.terms})", "linearised polynomials: the radical has dimension at most 2t"


def _form_sets(dim: int) -> Iterator[FormSet]:
    """Yield the sets of forms whose sign codes, shortened or not, fit ``dim`` dimensions."""
    for bits in range(2, MAX_BITS + 1):
        if (1 << bits) - bits - 1 > dim:
            return
        for terms in range(MAX_TERMS + 1):
            for forms in (delsarte_goethals_forms(bits, terms), bch_forms(bits, terms)):
                if forms.min_rank >= 2 and (bits % 2 == 0 if forms.kerdock else terms > 0):
                    yield forms


def _sign_codes(num_points: int, dim: int) -> Iterator[Entry]:
    """Kerdock, Delsarte-Goethals, Gold and dual BCH codes, whole and shortened."""
    for forms in _form_sets(dim):
        for shortened in range(forms.bits + 2):
            code = SignCode(forms, shortened)
            if code.num_points >= num_points and code.dim <= dim and code.max_cosine > 0:
                yield sign_entry(forms, shortened)


def _glued_codes(num_points: int, dim: int) -> Iterator[Entry]:
    """Sign codes and quadratic chirps whose groups are lifted apart in the dimensions that are left."""
    for forms in _form_sets(dim):
        for shortened in range(forms.bits + 1):
            code = SignCode(forms, shortened)
            if code.max_cosine > 0:
                yield from _glued(code, *_names(forms), list(_groups(code)), num_points, dim)
    for q in range(3, dim // 2 + 1, 2):
        if 4 * q * (q + 1) >= num_points and is_prime_power(q):
            chirps = ChirpCode(q)
            groups = [(chirps.coset, chirps.inside)]
            yield from _glued(chirps, f"chirps over GF({q})", CHIRPS, groups, num_points, dim)


def _glued(
    code: SignCode | ChirpCode,
    name: str,
    citation: str,
    groups: list[tuple[int, float]],
    num_points: int,
    dim: int,
) -> Iterator[Entry]:
    """Yield a code glued to a simplex and to a cross-polytope, for each kind of group: size, inner cosine."""
    for group, inside in groups:
        num_groups = math.ceil(num_points / group)
        if not 2 <= num_groups <= code.num_points // group:
            continue
        for outer in {num_groups - 1, (num_groups + 1) // 2}:
            glued = GluedCode(code.rows, code.dim, group, inside, code.max_cosine, num_groups, outer)
            if glued.dim <= dim:
                yield Entry(
                    f"{num_groups} x {group} of {name} in {code.dim}, glued to {outer} dimensions",
                    glued.num_points,
                    glued.dim,
                    glued.max_cosine,
                    f"{citation}; Construction X (Sloane, Reddy, Chen 1972) on the sphere",
                    glued.rows,
                    block=group,
                )


def _groups(code: SignCode) -> Iterator[tuple[int, float]]:
    """Yield the size of each kind of group in the order of a sign code, and the largest cosine inside it."""
    yield code.coset, -code.shortened / code.dim  # one form: orthogonal before shortening
    forms = code.forms
    if forms.terms > (0 if forms.kerdock else 1):
        smaller = SignCode(FormSet(forms.bits, forms.terms - 1, forms.kerdock), code.shortened)
        yield smaller.forms.num_forms * code.coset, smaller.max_cosine


def _chirps(num_points: int, dim: int) -> Iterator[Entry]:
    """Chirps of degree 2 over the largest field that fits, of degree 3 over the largest prime."""
    order = largest_prime_power(dim // 2, odd=True)
    orders = {2: order, 3: next((q for q in range(dim // 2, 4, -1) if prime_power(q) == (q, 1)), 0)}
    for degree, q in orders.items():
        if q < 3 or (q + 1) ** degree * 6 < num_points:
            continue
        code = ChirpCode(q, degree)
        theorem = CHIRPS if degree == 2 else "Weil (1948), the maximum computed"
        name = f"{'quadratic' if degree == 2 else 'cubic'} chirps over GF({q})"
        yield Entry(
            name,
            code.num_points,
            code.dim,
            code.max_cosine,
            theorem,
            code.rows,
            block=code.coset * (q if degree == 2 else 1),
        )
