"""Probabilities at which edges, features or nodes are dropped: one for all, or one for each."""

from __future__ import annotations

from torch import Tensor

from sfa.errors import InputError

Rate = float | Tensor
"""A probability from 0 to 1, one for all or one for each."""


def check_rate(name: str, rate: Rate, number: int) -> None:
    """Raise unless ``rate`` is a probability, or a tensor of so many of them."""
    if not isinstance(rate, Tensor):
        if not 0 <= rate <= 1:
            raise InputError(f"{name} is a probability from 0 to 1, not {rate}.")
        return
    if rate.shape != (number,):
        raise InputError(f"{name} is one probability or {number} of them, not a tensor of shape {tuple(rate.shape)}.")
    wrong = rate[~((rate >= 0) & (rate <= 1))]
    if len(wrong):
        raise InputError(f"{name} are probabilities from 0 to 1, not {wrong[0]}.")
