"""Families with a member for (almost) every size: the entries that fit K points in D dimensions.

Each function yields the members of one family that have K points in at most D dimensions. Within a
family larger members are better, so only the largest few that fit are made; making an entry builds
no point.

*Gluing* lifts the groups of a code with a second code in further dimensions. Let a code fall into M
groups with cosines at most s0 inside a group and s1 across, and let y_1, ..., y_M be unit vectors
with cosines at most b. The points (sqrt(α) x, sqrt(1-α) y_g), for x in group g, have cosines at
most α s0 + (1-α) inside a group and α s1 + (1-α) b across. Both are the same, and least, at

    α = (1 - b) / (1 - b + s1 - s0):   s = 1 - α (1 - s0) < s1.

For y the simplex (b = -1/(M-1), M - 1 dimensions) or the cross-polytope (b = 0, M/2 dimensions)
serves. It is Construction X of coding theory (Sloane, Reddy, Chen 1972) on the sphere.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from hyperproto.codes.algebra import graphs
from hyperproto.codes.algebra.chirps import ChirpCode
from hyperproto.codes.algebra.entry import Entry, derive, fixed
from hyperproto.codes.algebra.fields import Integers, is_prime_power, prime_power
from hyperproto.codes.algebra.quadratic import FormSet, SignCode
from hyperproto.codes.certificate import closed_form
from hyperproto.codes.measure import Array

MAX_BITS = 14  # tables of GF(2^14) are made in a second
MAX_TERMS = 3  # K grows by a factor of D with each term: D^4 points are enough
MAX_UNITARY = 13  # beyond, sign codes are better where they are not too large to build
MAX_QUADRIC = 9  # larger graphs of this family do not fit in memory
MAX_CONFERENCE = 2001
CHIRPS = "Alltop (1980); Wootters, Fields (1989): mutually unbiased bases"
TAYLOR = "Taylor (1977): unitary two-graphs"


def family_entries(num_points: int, dim: int) -> Iterator[Entry]:
    """Yield the entries of every family that have ``num_points`` points in at most ``dim``
    dimensions.
    """
    for entries in (_sign_codes, _glued_codes, _chirps, _quadrics, _lines):
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
    )


def _names(forms: FormSet) -> tuple[str, str]:
    """Return the name of a set of forms and who found it."""
    dim = 1 << forms.bits
    if forms.kerdock and forms.terms == 0:
        return f"Kerdock {dim}", "Kerdock (1972); Cameron, Seidel (1973): mutually unbiased bases"
    if forms.kerdock:
        theorem = "Delsarte, Goethals (1975): rank of alternating forms"
        return f"Delsarte-Goethals {dim} ({forms.terms})", theorem
    if forms.terms == 1 and forms.bits % 2:
        return f"Gold {dim}", "Gold (1968): Tr(ax^3) has rank m - 1"
    return (
        f"dual BCH {dim} ({forms.terms})",
        "linearized polynomials: the radical has dimension at most 2t",
    )


def _form_sets(dim: int) -> Iterator[FormSet]:
    """Yield the sets of forms whose sign codes, shortened or not, fit ``dim`` dimensions."""
    for bits in range(2, MAX_BITS + 1):
        if (1 << bits) - bits - 1 > dim:
            return
        for terms in range(MAX_TERMS + 1):
            for forms in (FormSet(bits, terms, kerdock=True), FormSet(bits, terms, kerdock=False)):
                if forms.min_rank >= 2 and (bits % 2 == 0 if forms.kerdock else terms > 0):
                    yield forms


def _sign_codes(num_points: int, dim: int) -> Iterator[Entry]:
    """Kerdock, Delsarte-Goethals, Gold and dual BCH codes, whole and shortened."""
    for forms in _form_sets(dim):
        for shortened in range(forms.bits + 2):
            entry = sign_entry(forms, shortened)
            if entry.max_cosine > 0:
                yield entry


def _glued_codes(num_points: int, dim: int) -> Iterator[Entry]:
    """Sign codes and quadratic chirps, their groups lifted into the dimensions that are left."""
    for forms in _form_sets(dim):
        for shortened in range(forms.bits + 1):
            code = SignCode(forms, shortened)
            if code.max_cosine > 0:
                for group, inside in _groups(code):
                    yield from _glued(code, *_names(forms), group, inside, num_points, dim)
    for q in range(3, dim // 2 + 1, 2):
        if 4 * q * (q + 1) >= num_points and is_prime_power(q):
            chirps = ChirpCode(q)
            name = f"chirps over GF({q})"
            yield from _glued(chirps, name, CHIRPS, chirps.coset, chirps.inside, num_points, dim)


def _groups(code: SignCode) -> Iterator[tuple[int, float]]:
    """Yield the size of each kind of group in the order of a sign code, and the largest cosine
    inside it.
    """
    yield code.coset, -code.shortened / code.dim  # one form: orthogonal before shortening
    forms = code.forms
    if forms.terms > (0 if forms.kerdock else 1):
        smaller = SignCode(
            FormSet(forms.bits, forms.terms - 1, kerdock=forms.kerdock), code.shortened
        )
        yield smaller.forms.num_forms * code.coset, smaller.max_cosine


def _glued(
    code: SignCode | ChirpCode,
    name: str,
    citation: str,
    group: int,
    inside: float,
    num_points: int,
    dim: int,
) -> Iterator[Entry]:
    """Yield a code of groups of a size and inner cosine glued to a simplex and
    to a cross-polytope.
    """
    num_groups = math.ceil(num_points / group)
    if 2 <= num_groups <= code.num_points // group:
        for outer in {num_groups - 1, (num_groups + 1) // 2}:
            if code.dim + outer <= dim:
                title = (
                    f"{num_groups} x {group} of {name} in {code.dim}, glued to {outer} dimensions"
                )
                source = f"{citation}; Construction X (Sloane, Reddy, Chen 1972) on the sphere"
                yield glued_entry(code, title, source, group, inside, num_groups, outer)


def glued_entry(
    code: SignCode | ChirpCode,
    name: str,
    citation: str,
    group: int,
    inside: float,
    num_groups: int,
    outer_dim: int,
) -> Entry:
    """Return ``num_groups`` groups of ``group`` consecutive points each, glued to ``outer_dim``
    dimensions more.
    """
    outer_cosine = -1 / (num_groups - 1) if outer_dim >= num_groups - 1 else 0.0
    # α, of the inner part
    weight = (1 - outer_cosine) / (1 - outer_cosine + code.max_cosine - inside)

    def rows(index: Integers, dtype: DTypeLike) -> Array:
        form = closed_form(num_groups, outer_dim)
        assert form is not None  # by construction M <= 2 outer_dim
        inner, outer = code.rows(index, dtype), form[0].astype(dtype)[index // group]
        inner *= np.asarray(math.sqrt(weight), dtype)
        outer *= np.asarray(math.sqrt(1 - weight), dtype)
        return np.concatenate([inner, outer], axis=1)

    max_cosine = 1 - weight * (1 - inside)
    return Entry(name, group * num_groups, code.dim + outer_dim, max_cosine, citation, rows)


def _chirps(num_points: int, dim: int) -> Iterator[Entry]:
    """Chirps of degree 2 over the largest field that fits, of degree 3 over the largest prime."""
    odd = next((q for q in range(dim // 2, 2, -1) if q % 2 and is_prime_power(q)), 0)
    prime = next((q for q in range(dim // 2, 4, -1) if prime_power(q) == (q, 1)), 0)
    for kind, degree, q, theorem in (
        ("quadratic", 2, odd, CHIRPS),
        ("cubic", 3, prime, "Weil (1948), the maximum computed"),
    ):
        if q >= 3 and (q + 1) ** degree * 6 >= num_points:
            code = ChirpCode(q, degree)
            name = f"{kind} chirps over GF({q})"
            yield Entry(name, code.num_points, code.dim, code.max_cosine, theorem, code.rows)


def quadric_entry(order: int) -> Entry:
    """Return Cameron, Goethals and Seidel's code over GF(q); 27 in 6 for q = 2."""
    q, dim = order, order * (order * order - order + 1)
    rows = fixed(lambda: graphs.spectral_code(graphs.elliptic_quadric_graph(q), -(q * q + 1), dim))
    citation = "Cameron, Goethals, Seidel (1978): isotropic subspaces, meets Levenshtein's bound"
    return Entry(f"isotropic subspaces {q}", (q + 1) * (q**3 + 1), dim, 1 / q**2, citation, rows)


def unitary_entry(order: int) -> Entry:
    """Return the lines of Taylor's unitary two-graph over GF(q^2), with both directions."""
    q = order
    rows = fixed(partial(graphs.unitary_lines, q))
    return Entry(f"unitary lines {q}", 2 * (q**3 + 1), q * q - q + 1, 1 / q, TAYLOR, rows)


def _quadrics(num_points: int, dim: int) -> Iterator[Entry]:
    """Cameron, Goethals and Seidel's codes over every field that fits."""
    for q in range(2, MAX_QUADRIC + 1):
        if is_prime_power(q) and q * (q * q - q + 1) <= dim:
            yield quadric_entry(q)


def _lines(num_points: int, dim: int) -> Iterator[Entry]:
    """Equiangular lines with both directions: unitary ones and codes derived from them, conference
    and Steiner.
    """
    for q in range(3, MAX_UNITARY + 1, 2):
        if is_prime_power(q) and q * q - q <= dim:
            lines = unitary_entry(q)
            yield lines
            rows = fixed(lambda lines=lines: derive(lines.build(), lines.max_cosine))  # type: ignore[misc]
            yield Entry(f"{lines.name} derived", q**3, q * q - q, 1 / (q + 1), TAYLOR, rows)
    q = next(
        (
            q
            for q in range(min(2 * dim - 1, MAX_CONFERENCE), 4, -1)
            if q % 4 == 1 and is_prime_power(q)
        ),
        0,
    )
    if q and num_points <= 2 * (q + 1):
        rows = fixed(partial(graphs.conference_lines, q))
        citation = "Paley (1933); Lemmens, Seidel (1973): conference matrices"
        yield Entry(
            f"conference lines {q}", 2 * (q + 1), (q + 1) // 2, 1 / math.sqrt(q), citation, rows
        )
    for m in range(2, 7):
        v, r = (2 << m) - 1, (1 << m) - 1
        rows = fixed(partial(graphs.steiner_lines, m))
        citation = "Fickus, Mixon, Tremain (2012): Steiner equiangular tight frames"
        yield Entry(f"Steiner lines {v}", 2 * v * (r + 1), v * (v - 1) // 6, 1 / r, citation, rows)
