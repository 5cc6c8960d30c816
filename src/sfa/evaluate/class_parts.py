"""Items dealt into random parts class by class, so that every part has some of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray


def class_parts(
    y: NDArray[np.int64],
    items: NDArray[np.int64],
    sizes: Callable[[int], Sequence[int]],
    rng: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Some items in random parts, ascending: one for each size, and the rest.

    Args:
        y: Labels of all items.
        items: The numbers of those to divide.
        sizes: How many each part but the last gets of a class of so many members; no more in all than there are.
        rng: Source of randomness.
    """
    shuffled = rng.permutation(items)
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    members = np.unique(y[items], return_counts=True)[1]
    pieces = [np.split(own, np.cumsum(sizes(len(own)))) for own in np.split(by_class, members.cumsum()[:-1])]
    return [np.sort(np.concatenate(part)) for part in zip(*pieces, strict=True)]
