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

    Only :math:`D` and products of :math:`F` with :math:`d` are computed in bfloat16, all else in float32.
    """

    absent = -1.0  # no pair: 1 + F = 0

    def row_sums(self) -> Tensor:
        sums = super().row_sums()  # Σ_j s_j F_ij
        for rows, others in self.blocks:
            sums[rows] += self.scale[others].sum()
        return sums * self.scale

    def weighted_products(self, weight: Tensor) -> Tensor:
        s, sw = self.scale, self.scale * weight
        self.weights = torch.stack([sw, s], dim=1).bfloat16()
        products = super().weighted_products(weight)  # Σ_j s_i s_j (w_i + w_j) F_ij (μ + d_j)
        for rows, others in self.blocks:  # Σ_j s_i s_j (w_i + w_j) (μ + d_j)
            right = torch.stack([s[others], sw[others]]) @ self.x[others]  # (2, d)
            products[rows] = products[rows].addmm(torch.stack([sw[rows], s[rows]], dim=1), right)
        return products

    def _make_factors(self, x: Tensor) -> Tensor:
        self.mean = x.mean(0)
        d = x - self.mean
        self.scale = (d @ self.mean + 0.5 * (self.mean @ self.mean)).exp()  # s, (2n,)
        return d.bfloat16()

    def _exponentiate(self, logits: Tensor, buffer: Tensor) -> Tensor:
        # eᴰ - 1 = 1 / sigmoid(-D) - 2, which takes half the time of expm1 on a processor, with float32's digits.
        return buffer.copy_(logits.neg_()).sigmoid_().reciprocal_().sub_(2)

    def _add_sums(self, sums: Tensor, tile: Tile, e: Tensor) -> None:
        sums[tile.rows] += e @ self.scale[tile.columns]
        sums[tile.mirror] += e[:, tile.mirrored].mT @ self.scale[tile.rows]

    def _add_products(self, products: Tensor, tile: Tile, e: Tensor, weight: Tensor, p: Tensor) -> None:
        torch.mm(self.weights[tile.rows], self.weights[tile.columns].flip(1).mT, out=p).mul_(e)  # s_i s_j (w_i + w_j) F
        for rows, others, part in (
            (tile.rows, tile.columns, p),
            (tile.mirror, tile.rows, p[:, tile.mirrored].mT),
        ):
            products[rows].addcmul_(part.sum(1, dtype=self.x.dtype)[:, None], self.mean)
            products[rows] += part @ self.factors[others]
