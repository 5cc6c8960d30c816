"""A feature file (`.csv`, `.tsv`, `.parquet`, `.npy`) -> features, and if it names them node ids and labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfa.data.arrays import open_npy
from sfa.data.labels import is_unknown
from sfa.data.readers.tables import is_number, parse_ids, text_layout
from sfa.errors import InputError

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".npy")
ID_NAMES = ("", "id", "node", "node_id", "nodeid", "name", "index")
LABEL = "label"
MISSING = ["", "NA", "N/A", "nan", "NaN", "NULL", "null"]


@dataclass
class FeatureTable:
    """Features [n, d]; `ids` is None when row i is simply node i."""

    x: Any
    ids: list[int] | list[str] | None = None
    y: Any = None


def read_features(path: Path) -> FeatureTable:
    """The first column is the node's id, one may be called `label`, all others are numbers; `.npy` is numbers only.

    A large `.npy` (see `sfa.data.arrays`) is mapped, not read: it must not change while it is in use.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"Features cannot be read from {path}: its suffix must be one of {', '.join(SUFFIXES)}.")
    if suffix == ".npy":
        table = FeatureTable(open_npy(path))
    else:
        table = _from_frame(_read_parquet(path) if suffix == ".parquet" else _read_text(path), path)
    if table.x.ndim != 2 or len(table.x) == 0:
        raise InputError(f"{path} holds features of shape {list(table.x.shape)}, but [nodes, features] is needed.")
    return table


def _read_text(path: Path) -> Any:
    """The table with its ids and labels as text, so that "007" and "NA" stay what they are."""
    import pandas as pd

    layout = text_layout(path)
    names = layout.first_row
    counted = [str(i) for i in range(len(names) - 1)]  # how pandas heads columns that have no names
    has_header = (
        names[0].lower() in ID_NAMES
        or (not is_number(names[0]) and names[1:] == counted)
        or not all(is_number(cell or "nan") for cell in names[1:])
    )
    label = _label_column(names) if has_header else None
    texts: set[Any] = {0, label} - {None}
    missing: dict[Any, list[str]] = {column: MISSING for column in range(len(names)) if column not in texts}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # it would drop cells beyond the first row's columns
        try:
            frame = pd.read_csv(
                path,
                sep=layout.separator or r"\s+",
                skiprows=layout.skip,
                header=0 if has_header else None,
                names=list(range(len(names))),
                index_col=False,
                dtype=dict.fromkeys(texts, str),
                keep_default_na=False,
                na_values=missing,
                encoding="utf-8-sig",
            )
        except pd.errors.ParserWarning as warning:
            raise InputError(
                f"{path} has rows with more columns than its first row, which has {len(names)}."
            ) from warning
    frame[0] = frame[0].str.strip()
    frame.columns = pd.Index(names if has_header else frame.columns.map(str))
    return frame


def _read_parquet(path: Path) -> Any:
    import pandas as pd

    frame = pd.read_parquet(path)
    is_default = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
    return frame if is_default else frame.reset_index()  # an index that was set is the node id


def _from_frame(frame: Any, path: Path) -> FeatureTable:
    import pandas as pd

    names = [str(name) for name in frame.columns]
    if frame.empty:
        raise InputError(f"{path} has no rows; it needs one a node, first the node id, then numbers.")
    label = _label_column(names)
    columns = [i for i in range(1, len(names)) if i != label]
    for i in columns:
        if not pd.api.types.is_numeric_dtype(frame.dtypes.iloc[i]):
            raise _no_number(path, names[i], frame.iloc[:, i])
    ids = frame.iloc[:, 0]
    if ids.isna().any() or pd.api.types.is_float_dtype(ids.dtype):
        raise InputError(f"{path} has node ids in its first column {names[0]!r} that are missing or not whole numbers.")
    x = frame.iloc[:, columns].to_numpy(dtype=np.float64, na_value=np.nan)
    return FeatureTable(x, parse_ids(ids), None if label is None else _labels(frame.iloc[:, label]))


def _labels(column: Any) -> Any:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=object)
    return np.array(parse_labels(["" if pd.isna(one) else str(one).strip() for one in column]), dtype=object)


def parse_labels(texts: list[str]) -> list[int | str | None]:
    """Labels as integers if all known ones are written like integers, otherwise as text; an empty one is unknown."""
    known: Iterator[int | str] = iter(parse_ids(text for text in texts if not is_unknown(text)))
    return [None if is_unknown(text) else next(known) for text in texts]


def _label_column(names: list[str]) -> int | None:
    return next((i for i, name in enumerate(names) if i > 0 and name.strip().lower() == LABEL), None)


def _no_number(path: Path, column: str, values: Any) -> InputError:
    example = next((one for one in values if isinstance(one, str) and not is_number(one)), "text")
    return InputError(
        f"{path} has {example!r} in its column {column!r}, but every column after the first (the node id) must be "
        f"numbers, but for one called {LABEL!r}."
    )
