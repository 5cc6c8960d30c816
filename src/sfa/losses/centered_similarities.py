"""Exponentials of similarities in bfloat16, with the part that all rows have in common kept in float32."""

import torch
from torch import Tensor

from sfa.losses.similarities import Similarities, Tile


class CenteredSimilarities(Similarities):
    r"""The same matrix, whose tiles hold :math:`F = e^{D} - 1` in bfloat16, with :math:`D_{ij} = d_i^\top d_j`.

    At the start of training all rows point nearly the same way, and their differences are smaller than the rounding of
    bfloat16. So the mean is split off: with :math:`x = \mu + d` and :math:`s_i = e^{d_i^\top \mu + \mu^\top \mu / 2}`,

    .. math::
        E_{ij} = e^{x_i^\top x_j} = s_i s_j (1 + F_{ij}).

    Only :math:`F` and its products with :math:`d` are computed in bfloat16; all that has rank one is in float32.
    """

    absent = -1.0  # no pair: 1 + F = 0

    def _make_factors(self, x: Tensor) -> Tensor:
        self.mean = x.mean(0)
        d = x - self.mean
        self.scale = (d @ self.mean + 0.5 * (self.mean @ self.mean)).exp()  # s, (2n,)
        return d.bfloat16()

    def _exponentiate(self, logits: Tensor) -> Tensor:
        return logits.expm1_()

    def _add_sums(self, sums: Tensor, tile: Tile, e: Tensor) -> None:
        s = self.scale
        sums[tile.rows] += s[tile.rows] * (s[tile.columns].sum() + e @ s[tile.columns])
        sums[tile.mirror] += s[tile.mirror] * (s[tile.rows].sum() + e[:, tile.mirrored].mT @ s[tile.rows])

    def _add_products(self, products: Tensor, tile: Tile, e: Tensor, weight: Tensor, p: Tensor) -> None:
        s, sw = self.scale, self.scale * weight
        half, half_weighted = s.bfloat16(), sw.bfloat16()
        torch.mul(half_weighted[tile.rows, None], half[tile.columns], out=p)
        p.addcmul_(half[tile.rows, None], half_weighted[tile.columns]).mul_(e)  # s_i s_j (w_i + w_j) F_ij
        for rows, others, part in (
            (tile.rows, tile.columns, p),
            (tile.mirror, tile.rows, p[:, tile.mirrored].mT),
        ):
            # Σ_j s_i s_j (w_i + w_j) (1 + F_ij) (μ + d_j): three terms of rank one, and the product with d.
            left = torch.stack([part.sum(1, dtype=s.dtype), sw[rows], s[rows]], dim=1)  # (rows, 3)
            x = self.x[others]
            right = torch.stack([self.mean, s[others] @ x, sw[others] @ x])  # (3, d)
            products[rows].addmm_(left, right)
            products[rows] += part @ self.factors[others]
