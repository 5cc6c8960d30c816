"""Check what is known of each item (node, graph or image) of a data set: its label, its id, its part of a split."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.errors import InputError

UNKNOWN = -1
MASKS = ("train_mask", "val_mask", "test_mask")


def set_labels(data: Data, y: Any, count: int, class_names: Sequence[str] | None, item: str = "node") -> None:
    """Set `y` int64 (-1 unknown) and `class_names` of a data set, as far as there are any.

    Without `class_names` the classes are the distinct labels in sorted order; they get names when these say more than
    the numbers do (labels that are strings, or integers that are not exactly 0..C-1). With `class_names` the labels are
    positions in it, or are its strings. Unknown is -1, None, NaN or an empty string.
    """
    if y is None:
        return
    y = to_numpy(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise InputError(f"The labels have shape {list(y.shape)}, but one label {_a(item)} ([{count}]) is needed.")
    if len(y) != count:
        raise InputError(f"There are {len(y)} labels for {count} {item}s; give one {_a(item)}, -1 where it is unknown.")
    values = [_clean(value) for value in y.tolist()]
    known = {value for value in values if value is not None}
    if not known:
        return
    names = None if class_names is None else [str(name) for name in class_names]
    if names is not None and len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"The class name {repeated!r} is given more than once; each class needs its own name.")
    # A number too long for int64 is a name all the same.
    if any(isinstance(value, str) or abs(value) >= 2**63 for value in known):
        values = [None if value is None else str(value) for value in values]
        if names is None:
            names = sorted({value for value in values if value is not None})
        numbers: dict[Any, int] = {name: i for i, name in enumerate(names)}
        strange = next((value for value in values if value is not None and value not in numbers), None)
        if strange is not None:
            raise InputError(f"The label {strange!r} is not among the {len(names)} class names: {', '.join(names)}.")
    elif min(known) < 0:
        raise InputError(f"The label {min(known)} is negative; labels start at 0, and -1 means unknown.")
    elif names is not None and max(known) >= len(names):
        raise InputError(
            f"The label {max(known)} has no name: with {len(names)} class names the labels go from 0 to "
            f"{len(names) - 1}."
        )
    elif names is not None or max(known) == len(known) - 1:
        numbers = {value: value for value in known}
    else:
        numbers = {value: i for i, value in enumerate(sorted(known))}
        names = [str(value) for value in numbers]
    data.y = torch.tensor([UNKNOWN if value is None else numbers[value] for value in values])
    if names is not None:
        data.class_names = names


def is_unknown(text: str) -> bool:
    return text.strip().lower() in ("", "-1", "nan")


def check_ids(given: Sequence[Any] | None, count: int, item: str = "node") -> list[int | str]:
    """Return a name for each item, text or an integer; 0..n-1 if none are given."""
    if given is None:
        return list(range(count))
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InputError(f"The {item} ids are {given!r}, but a list with one {_a(item)} is needed.")
    ids = [_id(one) for one in given]
    if len(ids) != count:
        raise InputError(f"There are {len(ids)} {item} ids for {count} {item}s; give one {_a(item)}.")
    seen: set[str] = set()
    for one in ids:
        if str(one) in seen:  # 1 and "1" would be the same in a table
            raise InputError(f"The {item} id {one!r} is given to more than one {item}; ids must be unique.")
        seen.add(str(one))
    return ids


def given_masks(holder: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the three masks that a mapping (a file's arrays, a Data's attributes) has."""
    return {name: holder[name] for name in MASKS if holder.get(name) is not None}


def set_masks(data: Data, masks: Mapping[str, Any], count: int, item: str = "node") -> None:
    """Set the masks of public splits as boolean tensors.

    A mask is `[n]`, or `[n, splits]` for several splits; one of `[n]` beside others of `[n, splits]` belongs to each of
    these (the test part of WikiCS). No item is in two parts of one split; it may be in none.
    """
    unknown = next((name for name in masks if name not in MASKS), None)
    if unknown is not None:
        raise InputError(f"There is no mask {unknown!r}; allowed are {', '.join(MASKS)}.")
    arrays = {name: _check_mask(name, to_numpy(value), count, item) for name, value in masks.items()}
    splits = {name: array.shape[1] for name, array in arrays.items() if array.ndim == 2}
    if len(set(splits.values())) > 1:
        counts = ", ".join(f"{number} in {name}" for name, number in splits.items())
        raise InputError(f"The masks have different numbers of splits ({counts}); each needs the same.")
    for one, other in combinations(arrays, 2):
        shared = (arrays[one].reshape(count, -1) & arrays[other].reshape(count, -1)).any(axis=1)
        if shared.any():
            raise InputError(
                f"{int(shared.sum())} {item}s are both in {one} and in {other} (the first: {item} "
                f"{int(shared.argmax())}); the parts of a split must have no {item} in common."
            )
    for name, array in arrays.items():
        data[name] = torch.from_numpy(array.copy())


def _check_mask(name: str, array: NDArray[Any], count: int, item: str) -> NDArray[np.bool_]:
    if array.ndim not in (1, 2) or len(array) != count or array.size == 0:
        raise InputError(
            f"{name} has shape {list(array.shape)}, but with {count} {item}s it must be [{count}] or [{count}, splits]."
        )
    if array.dtype != bool:
        raise InputError(f"{name} holds {array.dtype} values, but a mask is boolean: True for the {item}s of its part.")
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _a(item: str) -> str:
    return f"{'an' if item[0] in 'aeiou' else 'a'} {item}"


def _clean(value: Any) -> Any:
    """Return one label as int or str, None if unknown (pandas' NA is told by its name to avoid the import)."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ == "NAType" or value == UNKNOWN:
        return None
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if not value.is_integer():
            raise InputError(f"The label {value} is not a class; labels must be integers or strings.")
    if isinstance(value, (int, float)):
        return int(value)
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return None if is_unknown(text) else text


def _id(one: Any) -> int | str:
    if isinstance(one, bytes):
        return one.decode("utf-8", "replace")
    is_integer = isinstance(one, (int, np.integer)) and -(2**63) <= int(one) < 2**63
    return int(one) if is_integer else str(one)
