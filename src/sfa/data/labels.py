"""Labels as given (integers or strings, some perhaps unknown) -> class numbers 0..C-1 with -1 for unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfa.data.arrays import to_numpy
from sfa.errors import InputError

UNKNOWN = -1


def encode_labels(
    y: NDArray[Any], count: int, class_names: Sequence[str] | None = None, *, item: str = "node"
) -> tuple[NDArray[np.int64] | None, list[str] | None]:
    """The class number of each of so many nodes (or other items) and the classes' names.

    Without `class_names` the classes are the distinct labels in sorted order; names are given back when they say more
    than the numbers do (labels that are strings, or integers that are not exactly 0..C-1). With `class_names` the
    labels are positions in it, or are its strings. Unknown is -1, None, NaN or an empty string; if every label is
    unknown there are no labels, and (None, None) comes back.
    """
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise InputError(f"The labels have shape {list(y.shape)}, but one label {a(item)} ([{count}]) is needed.")
    if len(y) != count:
        raise InputError(f"There are {len(y)} labels for {count} {item}s; give one {a(item)}, -1 where it is unknown.")

    values = [_clean(value) for value in y.tolist()]
    known = {value for value in values if value is not None}
    if not known:
        return None, None
    if any(isinstance(value, str) for value in known):
        values = [None if value is None else str(value) for value in values]
        return _encode_strings(values, class_names)
    if max(abs(int(value)) for value in known) >= 2**63:  # too long for a number, and a name all the same
        return _encode_strings([None if value is None else str(value) for value in values], class_names)
    return _encode_integers(np.array([UNKNOWN if value is None else value for value in values], np.int64), class_names)


def a(item: str) -> str:
    """The word with its article: a node, an image."""
    return f"{'an' if item[0] in 'aeiou' else 'a'} {item}"


def _encode_strings(
    values: list[Any], class_names: Sequence[str] | None
) -> tuple[NDArray[np.int64] | None, list[str] | None]:
    names = _checked_names(class_names) if class_names is not None else sorted({v for v in values if v is not None})
    number = {name: i for i, name in enumerate(names)}
    strange = next((value for value in values if value is not None and value not in number), None)
    if strange is not None:
        raise InputError(f"The label {strange!r} is not among the {len(names)} class names: {', '.join(names)}.")
    return np.array([UNKNOWN if value is None else number[value] for value in values], np.int64), names


def _encode_integers(
    values: NDArray[np.int64], class_names: Sequence[str] | None
) -> tuple[NDArray[np.int64] | None, list[str] | None]:
    if values.min() < UNKNOWN:
        raise InputError(f"The label {values.min()} is negative; labels start at 0, and -1 means unknown.")
    if class_names is not None:
        names = _checked_names(class_names)
        if values.max() >= len(names):
            raise InputError(
                f"The label {values.max()} has no name: with {len(names)} class names the labels go from 0 to "
                f"{len(names) - 1}."
            )
        return values, names
    classes = np.unique(values[values != UNKNOWN])
    if classes[-1] == classes.size - 1:
        return values, None
    encoded = np.where(values == UNKNOWN, UNKNOWN, np.searchsorted(classes, values))
    return encoded, [str(value) for value in classes]


def _checked_names(class_names: Sequence[str]) -> list[str]:
    names = [str(name) for name in class_names]
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"The class name {repeated!r} is given more than once; each class needs its own name.")
    return names


def _clean(value: Any) -> int | str | None:
    """One label as int or str, None if unknown (pandas' NA has its own type, told by its name to avoid the import)."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ == "NAType" or value == UNKNOWN:
        return None
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if not value.is_integer():
            raise InputError(f"The label {value} is not a class; labels must be integers or strings.")
        return int(value)
    if isinstance(value, int):
        return int(value)
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return None if is_unknown(text) else text


def is_unknown(text: str) -> bool:
    """A label written as text that says "unknown"."""
    return text.strip().lower() in ("", "-1", "nan")


MASKS = ("train_mask", "val_mask", "test_mask")


def given_masks(holder: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the three masks that a mapping (a file's arrays, a Data's attributes) has."""
    return {name: holder[name] for name in MASKS if holder.get(name) is not None}


def check_masks(masks: Mapping[str, Any], num_nodes: int, *, item: str = "node") -> dict[str, Tensor]:
    """The masks of so many nodes (or other items) as boolean tensors, or a sentence on why they are none.

    A mask is `[n]`, or `[n, splits]` for several splits; one of `[n]` beside others of `[n, splits]` belongs to each of
    these (the test part of WikiCS). No node is in two parts of one split; it may be in none.
    """
    unknown = next((name for name in masks if name not in MASKS), None)
    if unknown is not None:
        raise InputError(f"There is no mask {unknown!r}; allowed are {', '.join(MASKS)}.")
    arrays = {name: _mask(name, to_numpy(value), num_nodes, item) for name, value in masks.items()}
    splits = {name: array.shape[1] for name, array in arrays.items() if array.ndim == 2}
    if len(set(splits.values())) > 1:
        counts = ", ".join(f"{count} in {name}" for name, count in splits.items())
        raise InputError(f"The masks have different numbers of splits ({counts}); each needs the same.")
    for one, other in combinations(arrays, 2):
        shared = _columns(arrays[one]) & _columns(arrays[other])
        if shared.any():
            raise InputError(
                f"{int(shared.any(axis=1).sum())} {item}s are both in {one} and in {other} (the first: {item} "
                f"{int(shared.any(axis=1).argmax())}); the parts of a split must have no {item} in common."
            )
    return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}


def _mask(name: str, array: NDArray[Any], num_nodes: int, item: str) -> NDArray[np.bool_]:
    if array.ndim not in (1, 2) or len(array) != num_nodes or array.size == 0:
        raise InputError(
            f"{name} has shape {list(array.shape)}, but with {num_nodes} {item}s it must be [{num_nodes}] or "
            f"[{num_nodes}, splits]."
        )
    if array.dtype != bool:
        raise InputError(f"{name} holds {array.dtype} values, but a mask is boolean: True for the {item}s of its part.")
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _columns(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return mask[:, None] if mask.ndim == 1 else mask
