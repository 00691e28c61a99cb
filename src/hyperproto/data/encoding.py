"""Tables with words, dates and gaps as numbers: the runtime's encoder, and fitting it to free text."""

from collections.abc import Sequence
from typing import Any

from hyperproto_runtime.tables import (
    MOST_CATEGORIES,
    ColumnCode,
    SparseRows,
    TableEncoder,
    frame_columns,
    is_frame,
    needs_encoding,
)

__all__ = [
    "MOST_CATEGORIES",
    "ColumnCode",
    "SparseRows",
    "TableEncoder",
    "fit_text",
    "frame_columns",
    "is_frame",
    "needs_encoding",
]


def fit_text(name: str, cells: Sequence[Any]) -> TableEncoder:
    """Look at one column of free text: scikit-learn's TF-IDF of its words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    fitted = TfidfVectorizer(sublinear_tf=True).fit("" if cell is None else str(cell) for cell in cells)
    words, weights = tuple(fitted.get_feature_names_out().tolist()), tuple(fitted.idf_.tolist())
    return TableEncoder((ColumnCode(name, "text", weights, categories=words),))
