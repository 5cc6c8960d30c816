"""What was worked out of a tensor, as long as it lives and is not written to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

T = TypeVar("T")


class Memo(Generic[T]):
    """Remembers a value for each tensor. The value must not refer to the tensor, or both would live for ever."""

    def __init__(self) -> None:
        self._known: WeakTensorKeyDictionary = WeakTensorKeyDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: Tensor, make: Callable[[], T], fits: Callable[[T], bool] = lambda value: True) -> T:
        """The value of this tensor; made anew if there is none, if it does not fit or if the tensor has changed."""
        version = None if key.is_inference() else key._version  # a tensor made in inference mode counts no changes
        known: tuple[int | None, T] | None = self._known.get(key)  # type: ignore[no-untyped-call]
        if known is None or version is None or known[0] != version or not fits(known[1]):
            known = version, make()
            self._known[key] = known
        return known[1]
