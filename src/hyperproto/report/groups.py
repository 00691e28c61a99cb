"""Groups of classes that belong together by the prior, named by their most typical members; each has a color."""

from collections.abc import Sequence

import numpy as np

from hyperproto._core.checks import check_integer
from hyperproto._core.errors import InputError
from hyperproto.priors import Prior

# dark enough to read a name in on white, and distinct to most color-blind people; the first are Okabe and Ito's
GROUP_COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#56A0D3",
    "#7A0177", "#6B4226", "#5B8C00", "#3B3BB3", "#B22222", "#2F6F6F",
)  # fmt: skip
NO_PRIOR = "not in the prior"
GRAY = "#555555"
TYPICAL = 3  # members that name a group


def prior_groups(prior: Prior, names: Sequence[str], *, num_groups: int | None = None) -> tuple[str, ...]:
    """Return the group of each class, by clustering the prior from the bottom up (Ward's rule).

    Parameters
    ----------
    prior : Prior
        What is known about the classes; those it does not know form a group of their own.
    names : sequence of str
        One name per class.
    num_groups : int, optional
        How many groups (default: one per eight classes or so, at most twelve).

    Returns
    -------
    tuple of str
        One label per class: its group's three most typical members.

    Examples
    --------
    >>> from hyperproto.priors import from_similarity
    >>> prior = from_similarity([[1, 0.9, 0.1, 0], [0.9, 1, 0, 0.1], [0.1, 0, 1, 0.8], [0, 0.1, 0.8, 1]])
    >>> prior_groups(prior, ["cat", "dog", "car", "bus"], num_groups=2)
    ('cat, dog', 'cat, dog', 'car, bus', 'car, bus')
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if prior.num_classes != len(names):
        raise InputError("names", f"name the {prior.num_classes} classes of the prior", len(names))
    ids = np.flatnonzero(prior.known)
    count = min(max(2, round(len(ids) / 8)), len(GROUP_COLORS)) if num_groups is None else num_groups
    count = check_integer(count, "num_groups", at_least=1)
    if len(ids) < 2:
        return (NO_PRIOR,) * len(names)
    near = prior.similarity[np.ix_(ids, ids)]
    np.fill_diagonal(near, -np.inf)
    np.fill_diagonal(near, max(1.0, near.max()))  # a class is as near to itself as anything can be
    distance = np.sqrt(2 * (near[0, 0] - near))  # of unit vectors, where the similarity is their cosine
    group = fcluster(linkage(squareform(distance, checks=False), method="ward"), count, criterion="maxclust")
    labels = np.full(len(names), NO_PRIOR, dtype=object)
    for number in np.unique(group):
        members = np.flatnonzero(group == number)
        typical = members[np.argsort(-near[np.ix_(members, members)].sum(axis=1), kind="stable")[:TYPICAL]]
        labels[ids[members]] = ", ".join(names[ids[i]] for i in typical) + (", …" if len(members) > TYPICAL else "")
    return tuple(labels)


def colors_of(groups: Sequence[object] | None, count: int) -> dict[str, str]:
    """Return a color for each group, in the order in which they are met; gray for classes outside the prior."""
    if groups is None:
        return {"": GROUP_COLORS[0]}
    if len(groups) != count:
        raise InputError("groups", f"give one group for each of the {count} classes", len(groups))
    met = [label for label in dict.fromkeys(map(str, groups)) if label != NO_PRIOR]
    colors = {label: GROUP_COLORS[i % len(GROUP_COLORS)] for i, label in enumerate(met)}
    return colors | {NO_PRIOR: GRAY} if NO_PRIOR in map(str, groups) else colors
