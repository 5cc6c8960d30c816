"""Regressions that are solved together: one for each training part and each ``C``."""

from __future__ import annotations

from dataclasses import dataclass, fields

from torch import Tensor


@dataclass(frozen=True)
class Problems:
    """Problems not solved yet, those of a part next to each other.

    Attributes:
        number: Place of each in the results, ``(p,)``.
        part: Which training part, ``(p,)``.
        c: Its ``C``, ``(p,)``.
        w: Coefficients in the coordinates of its part, the intercept first, ``(p, k, r)``.
        scores: ``w xᵀ``, ``(p, k, n)``.
    """

    number: Tensor
    part: Tensor
    c: Tensor
    w: Tensor
    scores: Tensor

    def where(self, mask: Tensor) -> Problems:
        return Problems(*(getattr(self, field.name)[mask] for field in fields(self)))
