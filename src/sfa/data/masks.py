"""Public splits: boolean masks that say which nodes (or images) are for training, validation and testing."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfa.data.arrays import to_numpy
from sfa.errors import InputError

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
