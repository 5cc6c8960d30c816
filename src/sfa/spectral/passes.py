"""Many passes of SFA, each on what the one before has left of the feature map."""

import torch
from torch import Tensor

from sfa.spectral.across_processes import turn_across_processes
from sfa.spectral.block import turn_block
from sfa.spectral.gram import gram_pays, passes_on_gram
from sfa.spectral.projection import RankOneProduct


def make_passes(
    h: Tensor, starts: list[Tensor], iterations: int, strength: float, *, is_constant: bool, spread: bool
) -> tuple[Tensor, Tensor | float]:
    """Return directions and weights of all passes over ``h`` ``(..., n, d)``, from random starts ``(..., d, q)``.

    The Gram matrix is used where it is faster and no gradient is asked for (``is_constant``).
    """
    rows = None if spread else h.shape[-2]
    if is_constant and starts[0].shape[-1] == 1 and gram_pays(rows, h.shape[-1], iterations, len(starts)):
        return passes_on_gram(h, torch.cat(starts, dim=-1), iterations, strength, spread=spread)
    directions, weights = passes_in_turn(h, starts, iterations, strength, spread=spread)
    return directions, weights if len(starts) > 1 else strength


def passes_in_turn(
    h: Tensor, starts: list[Tensor], iterations: int, strength: float, *, spread: bool = False
) -> RankOneProduct:
    """Make passes by products with the map itself, ``2 k`` for each."""
    turn = turn_across_processes if spread else turn_block
    product = RankOneProduct(h.new_empty(*h.shape[:-2], h.shape[-1], 0), h.new_empty(*h.shape[:-2], 0, 0))
    for r in starts:
        product = product.followed_by(turn(h, r, iterations, product), strength)
    return product
