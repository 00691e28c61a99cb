"""Accept any kind of prior: recognize it, and call its constructor."""

from pathlib import Path

from hyperproto._core.arrays import to_numbers
from hyperproto._core.checks import choose
from hyperproto._core.errors import InputError, InputTypeError
from hyperproto._core.files import as_path
from hyperproto.priors.prior import CHOICES, Missing, Prior, require_names
from hyperproto.priors.taxonomy import from_taxonomy, from_wordnet, is_taxonomy
from hyperproto.priors.vectors import (
    from_similarity,
    from_vectors,
    is_array,
    is_vocabulary,
    row_labels,
)


def as_prior(
    prior: object,
    names: tuple[str, ...] | None,
    num_classes: int,
    *,
    missing: Missing = "error",
    progress: bool | None = None,
) -> Prior:
    """Return a prior for K classes from any of the forms that :func:`hyperproto.place` accepts.

    Parameters
    ----------
    prior : object
        A :class:`Prior`; a path to a file of word vectors or to a taxonomy in CSV; ``"wordnet"``;
        an array, tensor or DataFrame of shape (num_classes, any), which is a similarity matrix if
        it is square and one vector per class otherwise; a mapping or gensim-like object from word
        to vector; a mapping or pairs from child to parent, or a nested dict. Call a ``from_``
        function first where this recognizes the wrong one.
    names : tuple of str, or None
        The class names, for everything that is looked up by name.
    num_classes : int
        K, the number of classes.
    missing : {"error", "free"}, default "error"
        What happens to classes without prior: an error that lists them, or placement without prior.
    progress : bool, optional
        Whether to show a progress bar for a big file; by default where standard error is a
        terminal.

    Examples
    --------
    >>> as_prior({"cat": [1, 0], "dog": [1, 1]}, ("cat", "dog"), 2).source
    'vectors (2 of 2 classes)'
    """
    choose(missing, CHOICES, what="choice for missing classes")
    result = _recognize(prior, names, missing, progress)
    if names is not None:
        result = result.ordered(names)
    if result.num_classes != num_classes:
        raise InputError(
            "prior",
            f"be for the {num_classes} classes to place",
            f"one for {result.num_classes}: {result.source}",
            "Give one row per class, in the order of the classes.",
        )
    return result


def _recognize(
    prior: object, names: tuple[str, ...] | None, missing: Missing, progress: bool | None
) -> Prior:
    if isinstance(prior, Prior):
        return prior
    table, source = prior, "similarity matrix"
    if isinstance(prior, str | Path):
        path = as_path(prior)
        if prior == "wordnet" and not path.exists():
            return from_wordnet(require_names(names, what="WordNet"), missing=missing)
        if path.suffix.lower() in (".csv", ".tsv"):
            return from_taxonomy(path, names, missing=missing)
        words = None
        if path.suffix == ".npy":
            from hyperproto.priors.word_vector_files import read_array_file

            table, words = read_array_file(path)
            source += f" {path.name}"
        if path.suffix != ".npy" or words is not None:
            return from_vectors(path, names, missing=missing, progress=progress)
    elif is_taxonomy(prior):
        return from_taxonomy(prior, names, missing=missing)
    elif is_vocabulary(prior):
        return from_vectors(prior, names, missing=missing)
    elif not is_array(prior):
        raise InputTypeError(
            "prior",
            "be a path, an array, a mapping, a gensim-like object or a Prior",
            type(prior).__name__,
        )
    rows = to_numbers(table, "prior", ndim=2, finite=False)
    # names that do not fit are not those of the rows; `as_prior` checks the count
    fitting = names if names is not None and len(names) == len(rows) else None
    if rows.shape[0] == rows.shape[1]:
        return from_similarity(table, fitting, source=source)
    return from_vectors(prior, fitting if row_labels(prior) is None else names, missing=missing)
