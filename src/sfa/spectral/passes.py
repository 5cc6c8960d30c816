"""Several passes of SFA, each on what the one before has left."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.spectral.across_processes import turn_across_processes
from sfa.spectral.block import turn_block
from sfa.spectral.gram import gram_pays, passes_on_gram
from sfa.spectral.rank_one_product import RankOneProduct


def make_passes(
    h: Tensor, starts: list[Tensor], iterations: int, strength: float, *, is_constant: bool, spread: bool
) -> RankOneProduct:
    """Return the product of all passes, one for every random start, by the faster of two ways.

    Args:
        h: Feature map(s) ``(..., n, d)``.
        starts: Random columns ``(..., d, q)`` for every pass.
        iterations: ``k``.
        strength: ``s``.
        is_constant: No gradient is asked for, so that the Gram matrix may be taken.
        spread: The rows of ``h`` on all processes are one map.
    """
    if is_constant and starts[0].shape[-1] == 1 and gram_pays(h.shape[-1], iterations, len(starts)):
        return passes_on_gram(h, torch.cat(starts, dim=-1), iterations, strength, spread=spread)
    return passes_in_turn(h, starts, iterations, strength, spread=spread)


def passes_in_turn(
    h: Tensor, starts: list[Tensor], iterations: int, strength: float, *, spread: bool = False
) -> RankOneProduct:
    """Make passes by products with the map itself, ``2 k`` for each."""
    turn, product = turn_across_processes if spread else turn_block, RankOneProduct.empty(h)
    for r in starts:
        product = product.followed_by(turn(h, r, iterations, product), strength)
    return product
