"""Check the labels, the ids and the masks of the items (nodes, graphs or images) of a data set."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from numbers import Real
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

    Numbers of which some is not whole are no classes: `y` is then float64, with NaN where unknown, and -1 is a number.
    """
    if y is None:
        return
    y = to_numpy(y)
    if y.shape not in ((count,), (count, 1)):
        raise InputError(
            f"There are {y.size} labels of shape {list(y.shape)} for {count} {item}s; one for each is needed "
            f"([{count}]), -1 where it is unknown. Of several columns choose one, y[:, 0]."
        )
    targets = None if class_names is not None else real_values(y.ravel().tolist())
    if targets is not None:
        data.y = torch.from_numpy(targets)
        return
    values = [_clean_label(value) for value in y.ravel().tolist()]
    known = {value for value in values if value is not None}
    if not known:
        return
    if not isinstance(class_names, (list, tuple, type(None))) and getattr(class_names, "ndim", 0) != 1:
        raise InputError(f"The class names are a {type(class_names).__name__}, but a list of names is needed.")
    names = None if class_names is None else [str(name) for name in class_names]
    if names is not None and len(set(names)) != len(names):
        repeated = Counter(names).most_common(1)[0][0]
        raise InputError(f"The class name {repeated!r} is given more than once; each class needs its own name.")
    # A number too long for int64 is a name all the same.
    if any(isinstance(value, str) or abs(value) >= 2**63 for value in known):
        values = [None if value is None else str(value) for value in values]
        names = sorted({value for value in values if value is not None}) if names is None else names
        numbers: dict[Any, int] = {name: i for i, name in enumerate(names)}
        strange = next((value for value in values if value is not None and value not in numbers), None)
        if strange is not None:
            raise InputError(f"The label {strange!r} is not among the {len(names)} class names: {', '.join(names)}.")
    elif min(known) < 0:
        raise InputError(f"The label {min(known)} is negative; labels start at 0, and -1 means unknown.")
    elif names is not None and max(known) >= len(names):
        last = len(names) - 1
        raise InputError(f"The label {max(known)} has no name: with {last + 1} names they go from 0 to {last}.")
    elif names is not None or max(known) == len(known) - 1:
        numbers = {value: value for value in known}
    else:
        numbers = {value: i for i, value in enumerate(sorted(known))}
        names = [str(value) for value in numbers]
    data.y = torch.tensor([UNKNOWN if value is None else numbers[value] for value in values])
    if names is not None:
        data.class_names = names


def real_values(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return labels as floats, NaN where there is none, if all are numbers and some is not whole; else None."""
    known = [math.nan if value is None or type(value).__name__ == "NAType" else value for value in values]
    if not all(isinstance(value, Real) for value in known):
        return None
    numbers = np.array(known, dtype=np.float64)
    if np.isinf(numbers).any():
        raise InputError(f"The label of item {np.isinf(numbers).argmax()} is infinite; it may be NaN, unknown.")
    return numbers if (numbers[~np.isnan(numbers)] % 1 != 0).any() else None


def is_unknown(text: str) -> bool:
    return text.strip().lower() in ("", "-1", "nan")


def check_ids(given: Sequence[Any] | None, count: int, item: str = "node") -> list[int | str]:
    """Return a name for each item, text or an integer; 0..n-1 if none are given."""
    if given is None:
        return list(range(count))
    given = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != count:
        found = f"{len(given)} {item} ids" if isinstance(given, Sequence) else f"{item} ids {given!r}"
        raise InputError(f"There are {found} for {count} {item}s; give a list with one for each.")
    ids = [_clean_id(one) for one in given]
    texts = Counter(map(str, ids))  # 1 and "1" would be the same in a table
    if len(texts) != count:
        repeated = texts.most_common(1)[0][0]
        raise InputError(f"The {item} id {repeated!r} is given to more than one {item}; ids must be unique.")
    return ids


def set_masks(data: Data, masks: Mapping[str, Any], count: int, item: str = "node") -> None:
    """Set the masks of public splits, where they are not None, as boolean tensors.

    A mask is `[n]`, or `[n, splits]` for several splits; one of `[n]` beside others of `[n, splits]` belongs to each of
    these (the test part of WikiCS). No item is in two parts of one split; it may be in none.
    """
    arrays = {}
    for name, mask in masks.items():
        if name not in MASKS:
            raise InputError(f"There is no mask {name!r}; allowed are {', '.join(MASKS)}.")
        if mask is None:
            continue
        array = to_numpy(mask)
        if array.ndim not in (1, 2) or len(array) != count or array.size == 0 or array.dtype != bool:
            raise InputError(
                f"{name} has shape {list(array.shape)} and {array.dtype} values, but with {count} {item}s a mask is "
                f"boolean, [{count}] or [{count}, splits]: True for the {item}s of its part."
            )
        arrays[name] = array[:, 0] if array.shape[1:] == (1,) else array
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


def _clean_label(value: Any) -> Any:
    """Return one label as int or str, None if unknown (pandas' NA is told by its name to avoid the import)."""
    value = value.item() if isinstance(value, np.generic) else value
    is_nan = isinstance(value, float) and math.isnan(value)
    if value is None or type(value).__name__ == "NAType" or is_nan:
        return None
    if isinstance(value, (complex, Collection)) and not isinstance(value, (str, bytes)):
        raise InputError(f"The label {value!r} is a {type(value).__name__}; labels must be integers or strings.")
    if value == UNKNOWN:
        return None
    if isinstance(value, float) and not value.is_integer():
        raise InputError(f"The label {value} is not a class; labels must be integers or strings.")
    if isinstance(value, (int, float)):
        return int(value)
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return None if is_unknown(text) else text


def _clean_id(one: Any) -> int | str:
    if isinstance(one, (int, np.integer)) and -(2**63) <= int(one) < 2**63:
        return int(one)
    return one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one)
