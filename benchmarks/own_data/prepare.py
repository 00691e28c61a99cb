"""How tables are prepared for methods that ask for numbers of about one size, or for categories."""

from typing import Any

import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

MOST_CATEGORIES = 200  # of a column that boosting gets


def split_dates(table: pd.DataFrame) -> pd.DataFrame:
    """Replace each column of times by its hour and its day of the week."""
    found = {}
    for name, column in table.items():
        times = pd.to_datetime(column)
        found |= {f"{name} hour": times.dt.hour, f"{name} day": times.dt.dayofweek}
    return pd.DataFrame(found, index=table.index)


def is_date(column: Any) -> bool:
    return bool(
        column.dtype.kind not in "biuf"
        and column.dropna().astype(str).str.match(r"\d{4}-\d\d-\d\d").all()
    )


def table_columns(table: pd.DataFrame) -> ColumnTransformer:
    """Return what makes numbers of a table: medians for missing ones, a column per frequent
    category, scaled.
    """
    dates = [name for name, column in table.items() if is_date(column)]
    categories = [
        name
        for name in make_column_selector(dtype_include=["object", "string", "bool"])(table)
        if name not in dates
    ]
    numbers = [name for name in table if name not in (*dates, *categories)]
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=2, sparse_output=False
    )
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            ("categories", make_pipeline(FunctionTransformer(as_words), encoder), categories),
            ("dates", make_pipeline(FunctionTransformer(split_dates), StandardScaler()), dates),
        ]
    )


def as_words(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype(object).where(table.notna(), "missing").astype(str)


def is_long_list(column: Any) -> bool:
    """Whether these are words of which most occur rarely, such as names; boosting takes 255
    categories at most.
    """
    return bool(
        column.dtype.kind not in "biuf"
        and not is_date(column)
        and column.nunique() > MOST_CATEGORIES
    )


def as_categories(table: pd.DataFrame, leave_out: list[str]) -> pd.DataFrame:
    """Return a table whose times are split, and whose words are categories."""
    table = table.drop(columns=leave_out)
    dates = [name for name, column in table.items() if is_date(column)]
    words = [name for name in table if table[name].dtype.kind not in "biuf" and name not in dates]
    rest = table.drop(columns=dates).astype(dict.fromkeys(words, "category"))
    return pd.concat([rest, split_dates(table[dates])], axis=1)
