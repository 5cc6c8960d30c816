"""Encode tables of features: categories, dates, truth values and missing cells as numbers."""

import re
import warnings
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfa.errors import InputError, MissingFeaturesError

Encoding = Mapping[str, Mapping[str, Any]]  # what was learned of each column, by its name, as plain values for JSON
Encode = Literal["auto", "none"] | Encoding | None  # None is auto

MISSING = ["", "NA", "N/A", "nan", "NaN", "NULL", "null", "None", "NaT", "<NA>"]
FLAGS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
FEW, MOST = 10, 100  # texts that are categories in any case; categories that get a column
LARGEST = np.finfo(np.float32).max


def encode_frame(frame: Any, how: Encode = None, name: str = "The table") -> tuple[Any, Encoding | None, str]:
    """Return a data frame as numbers ``(n, d)``, what was learned of its columns, and a sentence about them.

    Numbers, truth values and dates (in days since 1970) are one column each, with the mean in place of missing cells,
    which one more column marks if there are any. Texts are categories, one column each, the most frequent
    first; a column of too many different texts is left out. With ``how`` learned before, columns are found by their
    names. With ``none`` all cells must be numbers. An error names up to ten defects by index and column.
    """
    names = pd.Series([str(column) for column in frame.columns], dtype=object)
    repeats = names.groupby(names).cumcount()
    frame = frame.set_axis(names.where(repeats == 0, names + "." + repeats.astype(str)), axis=1)
    is_new = not isinstance(how, Mapping)
    if isinstance(how, Mapping):
        learned = {one: dict(column) for one, column in how.items()}
        lacking = [one for one in learned if one not in frame and "left_out" not in learned[one]]
        if lacking:
            has = ", ".join(map(repr, frame.columns[:20]))
            raise InputError(f"{name} has no column {', '.join(map(repr, lacking))}, as in training; it has {has}.")
    else:
        values = frame.to_numpy()
        if values.dtype.kind in "fiubc" and (np.abs(values) <= LARGEST).all():  # as most tables are
            means = [] if how == "none" else values.real.mean(axis=0, dtype=np.float64).tolist()
            return values, {one: {"mean": mean} for one, mean in zip(frame, means, strict=True)} if means else None, ""
        learned = {one: {"mean": None} if how == "none" else _learn(frame[one]) for one in frame}
    parts: list[NDArray[np.float64]] = []
    said: list[str] = []
    defects: list[str] = []
    for one, column in learned.items():
        if "left_out" in column:
            said += [f"{one!r} left out ({column['left_out']})"] if is_new else []
            continue
        cells, missing = frame[one], _is_missing(frame[one])
        if "categories" in column:
            kinds = column["categories"]
            codes = pd.Index(kinds).get_indexer(cells.astype(str).str.strip())
            parts.append((codes[:, None] == np.arange(len(kinds))).astype(np.float64))
            strange = cells[(codes < 0) & ~missing]
            said += [f"{missing.sum()} missing in {one!r} as no category"] if missing.any() else []
            said += [f"{one!r} as {len(kinds)} categories"] if is_new else []
            if len(strange):
                said.append(f"{len(strange)} in {one!r} of no category ({strange.iloc[0]!r}, …)")
            continue
        number = _dates(cells, column["dayfirst"]) if "dayfirst" in column else _numbers(cells)
        wrong = ~(np.abs(number) <= LARGEST) & ~(missing & (how != "none"))
        defects += _defects(cells, missing, wrong)
        if column["mean"] is None and how != "none":
            column["mean"] = float(number[~missing & ~wrong].mean()) if not wrong.all() else 0.0
            column |= {"missing": True} if missing.any() else {}
            said += [f"{one!r} as days"] if "dayfirst" in column else []
        if missing.any() and how != "none":
            said.append(f"{missing.sum()} missing in {one!r} as the mean")
        parts.append(np.where(missing, column["mean"] or 0.0, number)[:, None])
        parts += [missing.astype(np.float64)[:, None]] if column.get("missing") else []
    if defects:
        more = f"; and {len(defects) - 10} more" if len(defects) > 10 else ""
        raise InputError(f"{name} has cells that are no finite numbers; correct them: {'; '.join(defects[:10])}{more}.")
    if not parts:
        raise MissingFeaturesError(f"{name} has no column that can be features: {', '.join(said) or 'it is empty'}.")
    note = f"Features: {', '.join(said)}." if said else ""
    return np.concatenate(parts, axis=1), None if how == "none" else learned, note


def feature_names(encoding: Encoding) -> list[str]:
    """Return the names of the columns that :func:`encode_frame` makes: ``age``, ``age=missing``, ``city=Rome``."""
    names: list[str] = []
    for one, column in encoding.items():
        values = column.get("categories", ["missing"] if column.get("missing") else [])
        names += [one] if "mean" in column else []
        names += [f"{one}={value}" for value in values]
    return names


def _learn(cells: Any) -> dict[str, Any]:
    """Return what a column is: a number (its ``mean`` is yet to be known), a date, categories, or left out, and why."""
    known = cells[~_is_missing(cells)]
    if known.empty:
        return {"left_out": "it is empty"}
    if pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return {"mean": None, "dayfirst": False}
    if 2 * np.isfinite(_numbers(known)).sum() >= len(known) or pd.api.types.is_numeric_dtype(cells.dtype):
        return {"mean": None}
    texts = known.astype(str).str.strip()
    if texts.map(lambda text: DATE.match(text) is not None).all():
        for dayfirst in (False, True):
            if np.isfinite(_dates(known, dayfirst)).all():
                return {"mean": None, "dayfirst": dayfirst}
    kinds = texts.value_counts().sort_index().sort_values(ascending=False, kind="stable").index.tolist()
    if len(kinds) > max(FEW, len(texts) / 2) or len(kinds) == len(texts) > 2:
        return {"left_out": f"{len(kinds)} different texts in {len(texts)} cells, an id or free text"}
    return {"categories": kinds[:MOST]}


def _defects(cells: Any, missing: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> list[str]:
    """Describe the wrong cells of a column; of a column without any number, only the first."""
    is_whole = len(wrong) > 1 and bool(wrong.all())
    rest, rows = (" (no row has a number)", [0]) if is_whole else ("", np.flatnonzero(wrong).tolist())
    found = []
    for row in rows:
        value = cells.iloc[row]
        text = "empty" if missing[row] else repr(value) if isinstance(value, str) else str(value)
        found.append(f"node {str(cells.index[row])!r}, column {cells.name!r}: {text}{rest}")
    return found


def _is_missing(cells: Any) -> NDArray[np.bool_]:
    missing: NDArray[np.bool_] = cells.isna().to_numpy(dtype=bool)
    is_text = not (pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype))
    return np.asarray(missing | cells.astype(str).str.strip().isin(MISSING)) if is_text else missing


def _numbers(cells: Any) -> NDArray[np.float64]:
    """Return numbers and truth values, NaN for other texts."""
    if not pd.api.types.is_numeric_dtype(cells.dtype):
        texts = cells.astype(str).str.strip().str.lower()
        cells = pd.to_numeric(texts.map(FLAGS).where(texts.isin(list(FLAGS)), texts), errors="coerce")
    return np.asarray(cells.to_numpy(dtype=np.float64, na_value=np.nan))


def _dates(cells: Any, dayfirst: bool) -> NDArray[np.float64]:
    """Return days since 1970, NaN for what is no date."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about the format, which the first cell decides
        others = pd.to_datetime(cells, errors="coerce", dayfirst=dayfirst, utc=True)
        times = pd.to_datetime(cells, errors="coerce", format="ISO8601", utc=True).fillna(others)
    days = (times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    return np.asarray(days.to_numpy(dtype=np.float64, na_value=np.nan))
