"""Class prototypes: unit vectors, names, and a certificate."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from hyperproto._core.checks import (
    check_integer,
    check_names,
    check_unit_rows,
    choose,
    parse_classes,
)
from hyperproto._core.errors import (
    HyperprotoError,
    InputError,
    InputTypeError,
    MissingDataError,
    arg,
)
from hyperproto._core.processes import one_thread
from hyperproto.codes.certificate import PROVED, Certificate, Code, certify
from hyperproto.codes.measure import Array, Separation, max_cosine, separation
from hyperproto.sphere import normalize

EXACT_ENTRIES = 2**24  # float64 up to here (128 MB), float32 beyond
FORMAT = "hyperproto.prototypes/2"


@dataclass(frozen=True)
class _About:
    """What the header of a prototype file says."""

    format: str
    certificate: dict[str, Any]
    names: tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Prototypes:
    """K class prototypes on the sphere S^(D-1), fixed before training.

    Attributes
    ----------
    vectors : Tensor, shape (num_classes, dim)
        Unit rows; float64 up to 2^24 entries, float32 beyond.
    certificate : Certificate
        How well they are separated, and how well they could be.
    names : tuple of str, or None
        One name per class; None when only their number was given.

    Examples
    --------
    >>> prototypes = Prototypes.one_hot(["cat", "dog"], 3)
    >>> prototypes.vectors.tolist(), prototypes.certificate.max_cosine
    ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 0.0)
    """

    vectors: Tensor
    certificate: Certificate
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_unit_rows(self.vectors)
        if self.names is not None:
            object.__setattr__(self, "names", check_names(self.names))
            if len(self.names) != self.num_classes:
                raise InputError(
                    "names",
                    f"name each of the {self.num_classes} prototypes",
                    f"{len(self.names)} names",
                )

    @property
    def num_classes(self) -> int:
        """K, the number of classes."""
        return self.vectors.shape[0]

    @property
    def dim(self) -> int:
        """D, the number of coordinates; the sphere itself is S^(D-1)."""
        return self.vectors.shape[1]

    @property
    def used_axes(self) -> int:
        """On how many of the D axes a prototype has a part: fewer than D for a code padded with
        empty axes.
        """
        return int(self.vectors.any(dim=0).sum())

    def separation(self) -> Separation:
        """Return the minimum, mean and maximum cosine distance over all pairs (Table 2)."""
        return separation(self.vectors.numpy(force=True))

    def __repr__(self) -> str:
        size, method = (
            f"{self.num_classes} classes, dim={self.dim}",
            self.certificate.method.partition(" (")[0],
        )
        return f"Prototypes({size}, max_cosine={self.certificate.max_cosine:.6f}, {method})"

    @classmethod
    def from_code(cls, code: Code, names: tuple[str, ...] | None = None) -> "Prototypes":
        """Wrap a spherical code, in the precision its size calls for."""
        exact = code.points.size <= EXACT_ENTRIES
        points = np.ascontiguousarray(code.points, dtype=np.float64 if exact else np.float32)
        return cls(torch.from_numpy(points), code.certificate, names)

    @classmethod
    def from_tensor(
        cls, vectors: Tensor, names: Sequence[str] | None = None, *, method: str
    ) -> "Prototypes":
        """Measure and wrap unit rows that came from elsewhere. ``method`` says from where."""
        check_unit_rows(vectors)
        unit = normalize(vectors.detach().cpu().double())
        code = certify(unit.numpy(), method=method)
        return cls.from_code(code, check_names(names) if names is not None else None)

    @classmethod
    def one_hot(cls, classes: int | Sequence[str], dim: int | None = None) -> "Prototypes":
        """Return one axis per class, the baseline of Table 1; ``dim`` is the number of classes by
        default.
        """
        num_classes, names = parse_classes(classes)
        dim = num_classes if dim is None else check_dim(dim)
        if dim < num_classes:
            raise InputError(
                "dim",
                f"be at least the number of classes, {num_classes}, for one-hot prototypes",
                dim,
                "Use hyperproto.place, which accepts any dimension.",
            )
        return cls.from_tensor(
            torch.eye(num_classes, dim, dtype=torch.float64), names, method="one-hot"
        )

    @classmethod
    def from_npy(cls, path: str | Path, names: Sequence[str] | None = None) -> "Prototypes":
        """Read a ``.npy`` matrix of shape (num_classes, dim), such as the authors' files; rows are
        normalized.
        """
        from hyperproto._core.arrays import read_npy
        from hyperproto._core.files import as_path

        matrix = read_npy(as_path(path))
        if not np.isfinite(matrix).all() or not matrix.any(axis=1).all():
            raise InputError(
                f'"{path}"', "contain finite rows that are not zero: those have no direction"
            )
        vectors = normalize(torch.from_numpy(matrix.astype(np.float64)))
        return cls.from_tensor(vectors, names, method=f"file {Path(path).name}")

    def save(self, path: str | Path) -> None:
        """Write one safetensors file: the vectors, and names and certificate in its header.

        Equal prototypes give equal bytes.
        """
        from hyperproto._core.files import replacing

        about = {"format": FORMAT, "certificate": self.certificate.to_dict(), "names": self.names}
        with replacing(path) as temporary:
            save_file(
                {"vectors": self.vectors.contiguous()},
                temporary,
                metadata={
                    "prototypes": json.dumps(about)
                },  # of several entries safetensors mixes the order
            )

    @classmethod
    def load(cls, path: str | Path) -> "Prototypes":
        """Read what :meth:`save` wrote, bit for bit."""
        from hyperproto._core.files import as_path
        from hyperproto._core.schema import check_format, read_plain

        path = as_path(path)
        where = f'"{path}"'
        if not path.is_file():
            raise MissingDataError(
                f'No prototype file at "{path}". `hyperproto place CLASSES D -o FILE` makes one.'
            )
        try:
            with safe_open(path, framework="pt") as file:
                stored = json.loads((file.metadata() or {}).get("prototypes", "{}"))
                check_format(stored, FORMAT, where, "a prototype file")
                vectors = file.get_tensor("vectors")
        except HyperprotoError:
            raise
        except (SafetensorError, ValueError, RecursionError, OverflowError) as error:
            rule = f"be a readable prototype file ({error})"
            advice = "It may be cut short. Prototypes.from_npy reads the authors' files."
            raise InputError(where, rule, advice=advice) from None
        about = read_plain(_About, stored, where)
        try:
            certificate = Certificate.from_dict(about.certificate)
            return cls(vectors, certificate, about.names)
        except HyperprotoError as error:
            raise InputError(where, f"not be damaged ({error})") from None

    @one_thread()
    def extend(
        self,
        classes: int | Sequence[str],
        *,
        prior: object | None = None,
        prior_weight: float | Literal["auto"] = "auto",
        missing: Literal["error", "free"] = "error",
        effort: str = "balanced",
        seed: int = 0,
    ) -> "Prototypes":
        """Return these prototypes and one more for each new class; the old rows are the same bit
        for bit.

        The new ones are as far from the old ones and from each other as a search finds; the
        certificate says what separation is left.

        Parameters
        ----------
        classes : sequence of str, or int
            The names of the new classes; their number where the old ones have no names.
        prior : optional
            What is known about the classes, old and new, as for :func:`hyperproto.place`. Each new
            class is then put where the prior wants it next to the old ones.
        prior_weight, missing
            As for ``place``; the weight is that of Equation 6 over the triplets whose anchor is a
            new class.
        effort : {"fast", "balanced", "thorough"}
            How much to search.
        seed : int
            Fixes the result bit for bit.

        Examples
        --------
        >>> three = Prototypes.one_hot(["east", "north"]).extend(["new"])
        >>> three.names, three.vectors[2].tolist()  # opposite the middle of the old ones
        (('east', 'north', 'new'), [-0.7071067811865476, -0.7071067811865475])
        """
        from hyperproto.codes.extend import extend_code, extend_ranked
        from hyperproto.codes.search import WORK

        choose(effort, WORK, what="effort")
        seed = check_integer(seed, "seed", at_least=0)
        if prior is None and prior_weight != "auto":
            raise InputError(
                "prior_weight", f"come with {arg('prior')}, whose weight it is", "no prior"
            )
        count, names = _all_names(self, classes)
        old = _exact(self.vectors)
        if prior is None:
            added = extend_code(old, count, effort=effort, seed=seed)
            return self._joined(
                added, names, how=f"by a search next to the others ({effort})", seed=seed
            )
        from hyperproto.priors import as_prior
        from hyperproto.prototypes.methods import Request, check_prior_weight

        total = self.num_classes + count
        by_class = as_prior(prior, names, total, missing=missing)
        weight = check_prior_weight(prior_weight, total, self.dim)
        request = Request(total, self.dim, by_class, weight, effort, seed)
        added = extend_ranked(
            old, by_class.similarity, request.members, weight=weight, effort=effort, seed=seed
        )
        joined = self._joined(added, names, how=f"where the prior wants them ({effort})", seed=seed)
        certificate = replace(
            joined.certificate,
            prior_agreement=request.measure(np.concatenate([old, added]), weight),
            note=" ".join([joined.certificate.note, *by_class.notes]),
        )
        return replace(joined, certificate=certificate)

    def append(self, classes: int | Sequence[str], vectors: Tensor, *, method: str) -> "Prototypes":
        """Return these prototypes and given unit rows for new classes; ``method`` says where they
        come from.
        """
        count, names = _all_names(self, classes)
        check_unit_rows(vectors)
        if vectors.shape != (count, self.dim):
            rule = f"have shape ({count}, {self.dim}), a row for each new class"
            raise InputError("vectors", rule, tuple(vectors.shape))
        return self._joined(_exact(vectors), names, how=method, seed=None)

    def remove(self, classes: Sequence[str] | Sequence[int]) -> "Prototypes":
        """Return the prototypes without some classes, given by name, or by id where they have no
        names.

        The others are the same bit for bit and in the same order; ids after a removed one fall.
        """
        removed = class_ids(self.names, self.num_classes, classes)
        kept = np.setdiff1d(np.arange(self.num_classes), removed)
        if len(kept) < 2:
            raise InputError(
                "classes", f"leave at least 2 classes; removing {len(removed)} leaves {len(kept)}"
            )
        if not removed:
            return self
        vectors = self.vectors[torch.from_numpy(kept).to(self.vectors.device)]
        old = self.certificate
        method = f"{old.method}; {len(removed)} removed"
        certificate = certify(
            _exact(vectors), method=method, seed=old.seed, note=old.note
        ).certificate
        names = None if self.names is None else tuple(self.names[index] for index in kept)
        return Prototypes(vectors, certificate, names)

    def rename(self, names: Mapping[str, str]) -> "Prototypes":
        """Return the prototypes with new names for some classes, ``{old: new}``.

        >>> Prototypes.one_hot(["cat", "dog"]).rename({"dog": "hound"}).names
        ('cat', 'hound')
        """
        if self.names is None:
            raise InputError(
                "Prototypes to rename", "have names", "only their number", "Place them by name."
            )
        class_ids(self.names, self.num_classes, list(names))
        return replace(self, names=tuple(names.get(name, name) for name in self.names))

    @one_thread()
    def _joined(
        self, added: Array, names: tuple[str, ...] | None, *, how: str, seed: int | None
    ) -> "Prototypes":
        """Put new points behind the old rows; the certificate says ``how``, and what separation is
        left.
        """
        from hyperproto.codes.best import known_max_cosine

        points = torch.from_numpy(np.ascontiguousarray(added)).to(self.vectors)
        old, new, before = _exact(self.vectors), _exact(points), self.certificate
        total, method = len(old) + len(new), f"{before.method}; {len(new)} {how}"
        certificate = certify(np.concatenate([old, new]), method=method, seed=seed).certificate
        if (
            certificate.measured != "all pairs"
        ):  # too many to measure again, and the old ones were measured before
            among_new = max_cosine(new) if len(new) > 1 else -1.0
            certificate = replace(
                certificate,
                max_cosine=max(before.max_cosine, float((new @ old.T).max()), among_new),
                measured=f"every pair with a new point; old pairs before ({before.measured})",
            )
        possible = min(
            known_max_cosine(total, self.dim), PROVED.get((total, self.dim), (1.0, ""))[0]
        )
        note = (
            f"The {len(old)} old prototypes stay: maximum cosine {before.max_cosine:.4f} before, "
            f"{certificate.max_cosine:.4f} now"
        )
        note += f"; {possible:.4f} is known for {total} placed together." if possible < 1 else "."
        return Prototypes(torch.cat([self.vectors, points]), replace(certificate, note=note), names)


def class_ids(
    names: tuple[str, ...] | None, num_classes: int, classes: Sequence[str] | Sequence[int]
) -> list[int]:
    """Return the ids of classes given by name, or by id where they have no names; each once.

    >>> class_ids(("cat", "dog", "fox"), 3, ["fox", "cat"])
    [2, 0]
    """
    if isinstance(classes, str):
        raise InputTypeError("classes", "be a list of names", f'one string, "{classes}"')
    if names is None:
        ids = [check_integer(index, "classes", at_least=0) for index in classes]
        for index in ids:
            if index >= num_classes:
                raise InputError("classes", f"be ids below {num_classes}", index)
    else:
        places = {name: index for index, name in enumerate(names)}
        ids = [choose(cast(Any, name), places, what="class") for name in classes]
    return list(dict.fromkeys(ids))


@one_thread()
def points_by_similarity(
    old: Prototypes, names: tuple[str, ...] | None, count: int, prior: object
) -> Tensor:
    r"""Return a point for each new class: the mean of the old prototypes, weighed by similarity.

    .. math:: p_{\text{new}} \propto \sum_k \text{softmax}_k(s_k) \, p_k

    with the similarities s to the old classes, standardized. The outputs of a trained network lie
    within the span of the old prototypes: training asked for nothing else. So a point for a new
    class that is to be predicted without any training must lie there too, however much room there
    is elsewhere.

    ``names`` are those of the old classes and then of the ``count`` new ones; the prior is about
    both, as :func:`hyperproto.place` accepts it. Returns unit rows (count, dim), float64.
    """
    from hyperproto.priors import as_prior

    by_class = as_prior(prior, names, old.num_classes + count)
    similarity = torch.from_numpy(by_class.similarity[old.num_classes :, : old.num_classes])
    spread = similarity.std(dim=1, correction=0, keepdim=True)
    flat = (spread.flatten() <= 1e-12).nonzero().flatten()
    if len(flat):
        raise InputError(
            "prior",
            "say which old classes a new one is like; to it, all are equally like new class "
            f"{int(flat[0])} ({len(flat)} of {count})",
        )
    # One standard deviation of similarity makes an old class e times as heavy. Sharper weights
    # reach more examples of a new class and take more from the old ones, milder weights less of
    # both; chosen on training digits set aside.
    weights = torch.softmax((similarity - similarity.mean(dim=1, keepdim=True)) / spread, dim=1)
    return normalize(weights @ old.vectors.cpu().double())


def _all_names(
    prototypes: Prototypes, classes: int | Sequence[str]
) -> tuple[int, tuple[str, ...] | None]:
    """Return how many classes are new, and the names of all, old and new."""
    count, added = parse_classes(classes, at_least=1, reason="Name at least one new class.")
    if added is None and prototypes.names is not None:
        raise InputError("New classes", "have names, as the old ones do", f"the number {count}")
    if added is None:
        return count, None
    if prototypes.names is None:
        rule, advice = "have no names where the old ones have none", f"Give their number, {count}."
        raise InputError("New classes", rule, f"{count} names", advice)
    old = [name for name in added if name in prototypes.names]
    if old:
        raise InputError(
            "New classes", f'be new; "{old[0]}" exists already ({len(old)} of {count})'
        )
    return count, (*prototypes.names, *added)


def _exact(vectors: Tensor) -> Array:
    """Return rows as an array of float64."""
    return vectors.numpy(force=True).astype(np.float64)


def check_dim(dim: int) -> int:
    """Check an output dimension."""
    return check_integer(
        dim, "dim", at_least=2, reason="One axis has two directions and no way between them."
    )
