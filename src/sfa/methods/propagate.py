"""Propagate: features spread over the graph and reduced by a singular value decomposition, with nothing to train."""

import math
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.features import MEANINGS, are_measurements, column_statistics
from sfa.graph.spread import STEPS, rows_of
from sfa.graph.structure import is_stored, some_rows
from sfa.matrices import csr_matrix, relative_powers, row_chunks, singular_directions, unit_rows
from sfa.memory import working_bytes
from sfa.methods.base import Method, Observer, Spectral
from sfa.methods.stored import SideBySide, features_spread
from sfa.nn.sparse import Propagation, feature_product, propagation_of, transposed
from sfa.ranges import FewCount, FewNatural, NonNegative, Share, Width, check_number, check_whole
from sfa.registry import register

Weighting = Literal["auto", "idf", "standard", "none"]

WEIGHTINGS = {"idf": "weighted by inverse document frequency", "none": "rows scaled to one length"}
WIDEST = 2048
"""Columns of all blocks of a stored graph, at most, for which the matrix of all their products is made."""
SPARE = 10
"""Directions beyond those wanted, which let the subspace iteration converge faster."""


@register("method", "propagate")
class Propagate(Method):
    r"""Spread weighted features over the graph, and keep the leading directions of all hops side by side.

    Nobody has published exactly this. That propagated features with nothing learned rival graph contrastive learning
    is known (PROP and other training-free propagation); the propagation is that of `"Simplifying Graph Convolutional
    Networks" <https://arxiv.org/abs/1902.07153>`_ (Wu et al., 2019), with hops side by side as in `"SIGN: Scalable
    Inception Graph Neural Networks" <https://arxiv.org/abs/2004.11198>`_ (Frasca et al., 2020) and the PageRank of
    `"Predict then Propagate" <https://arxiv.org/abs/1810.05997>`_ (Gasteiger et al., 2019). With weighted features
    :math:`X` and each block :math:`B_k` with unit rows,

    .. math::
        B = [X,\; \hat A X,\; \dots,\; \hat A^h X,\; \textstyle\sum_k \alpha (1 - \alpha)^k \hat A^k X]
          = U \Sigma V^\top, \qquad
        Z = B V_r (\Sigma_r / \sigma_{r_1})^{p - 1}

    where the directions :math:`r` are the leading ones without the first few, which all nodes share. ``B`` is never
    written out: a subspace iteration (Halko et al., 2011) multiplies it by thin matrices, always from the same start,
    so that memory is some ten matrices as large as the embeddings. The weights of the features and :math:`V` are kept:
    other graphs with the same features can be embedded. There is no training, and so no encoder and no spectral map.

    Args:
        in_features: Number of features.
        hidden: Width of the embeddings; where the data have fewer directions, the other columns are 0.
        hops: The longest walk over which features are spread.
        alpha: Chance that PageRank restarts at a step; without that block if 0.
        power: Exponent of the singular values; 1 leaves them as they are.
        drop_leading: Leading directions that are left out; by default 1 of ``idf``, which all nodes share, and else 0.
        weighting: Weights of the features: ``idf``, the logarithm of the inverse share of nodes that have it;
            ``standard``, columns of mean 0 and deviation 1; ``none``; or ``auto`` by the data. If most entries are 0
            and there are no measurements (:func:`~sfa.graph.features.are_measurements`), that is ``idf`` of counts and
            ``none`` of other numbers, and else ``standard``.
        iterations: Steps of the subspace iteration.
    """

    defaults = {"feature_norm": "none", "training": {"epochs": 1}}
    published = False
    weights_features = True
    learns = False
    samplers = ("whole",)
    spans_processes = True  # each looks at all data
    saves_memory = "take a smaller --hidden"
    embeds_stores = True
    shift: Tensor
    scale: Tensor
    projection: Tensor

    def __init__(
        self,
        in_features: int,
        *,
        hidden: Width = 256,
        hops: FewNatural = 2,
        alpha: Share = 0.1,
        power: NonNegative = 2.0,
        drop_leading: FewNatural | None = None,
        weighting: Weighting = "auto",
        iterations: FewCount = 4,
        spectral: Spectral = None,
    ) -> None:
        wholes = (("hidden", hidden, 1), ("hops", hops, 0), ("drop_leading", drop_leading or 0, 0))
        for name, value, least in (*wholes, ("iterations", iterations, 1)):
            check_whole(name, value, least)
        check_number("power", power)
        check_number("alpha", alpha, at_most=1)
        super().__init__(None, spectral=spectral, width=hidden)
        self.hops, self.alpha, self.power, self.iterations = hops, alpha, power, iterations
        self.drop_leading, self.weighting = drop_leading, weighting
        blocks = hops + 1 + (alpha > 0)
        self.register_buffer("shift", torch.zeros(in_features))
        self.register_buffer("scale", torch.ones(in_features))
        self.register_buffer("projection", torch.zeros(blocks * in_features, hidden))

    def memory(self, batch: Data) -> float:
        """Estimate the bytes of the decomposition: thin matrices of as many rows as nodes, and the features turned."""
        if is_stored(batch):
            return float(working_bytes())
        turned = int(batch.num_features) if batch.x.layout == torch.strided else 0
        return 4.0 * int(batch.num_nodes or 0) * (14 * self.width + turned)

    @torch.no_grad()
    def before_training(self, data: Data) -> None:
        """Weigh the features, and find the leading directions of all blocks."""
        weighting = self.find_weights(data)
        table = self.blocks(data)
        drop = int(weighting == "idf") if self.drop_leading is None else self.drop_leading
        wanted = min(drop + self.width, *table.shape)
        sigma, v = leading_directions(table, wanted, self.iterations)
        kept = slice(drop, wanted)
        directions = v[:, kept] * relative_powers(sigma[kept], self.power - 1)
        self.projection.zero_()[:, : directions.shape[1]] = directions

    def choose_weighting(self, data: Data) -> Weighting:
        """Return the weighting that was asked for, or the one that suits the data."""
        return weighting_of(data.x) if self.weighting == "auto" else self.weighting

    def find_weights(self, data: Data) -> Weighting:
        """Find the weights of the features of training data, and keep them."""
        weighting = self.choose_weighting(data)
        shift, scale = feature_weights(data.x, weighting)
        self.shift.copy_(shift)
        self.scale.copy_(scale)
        return weighting

    def describe_weights(self, data: Data) -> str:
        """Say how features are weighted."""
        return {**MEANINGS, **WEIGHTINGS}[self.choose_weighting(data)]

    def weigh(self, x: Tensor) -> Tensor:
        r"""Weight features ``(k, d)``, dense or CSR; unless they are standardized, scale rows to length √d."""
        if bool(self.shift.any()):
            return (x.to_dense() - self.shift) * self.scale
        if x.layout == torch.sparse_csr:
            values = x.values() * self.scale[x.col_indices()]
            lengths = torch.segment_reduce(values.square(), "sum", offsets=x.crow_indices()).sqrt()
            factors = math.sqrt(x.shape[1]) / lengths.where(lengths > 0, 1)
            values = values * factors.repeat_interleave(x.crow_indices().diff(), output_size=len(values))
            return csr_matrix(x.crow_indices(), x.col_indices(), values, (x.shape[0], x.shape[1]))
        return math.sqrt(x.shape[1]) * unit_rows(x * self.scale)

    def blocks(self, data: Data) -> "Blocks | SideBySide":
        """Return the matrix ``(n, blocks · d)`` of a graph."""
        if is_stored(data):
            return self.stored_blocks(data)
        return Blocks(data, self.shift, self.scale, self.hops, self.alpha)

    def stored_blocks(self, data: Data) -> SideBySide:
        """Return the same of a stored graph, whose spread features lie on disk."""
        shift, scale = self.shift.cpu(), self.scale.cpu()
        spread = features_spread(data, shift, scale, hops=self.hops, alpha=self.alpha)
        blocks = [lambda rows: (rows_of(data.x, rows) - shift) * scale, *(one.rows for one in spread)]
        return SideBySide(len(data.x), blocks)

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        """Compute 0, with nothing to minimize."""
        return self.projection.new_zeros(())

    @torch.no_grad()
    def embeddings(self, data: Data) -> Tensor:
        """Compute ``B V`` of a graph, ``(n, hidden)``."""
        return self.blocks(data) @ self.projection


def page_rank(h: Tensor, adjacency: Propagation, alpha: float) -> Tensor:
    """Spread a matrix ``(n, r)`` over the graph by personalized PageRank with restart probability ``alpha``."""
    spread = h
    for _ in range(STEPS):
        spread = torch.lerp(adjacency @ spread, h, alpha)
    return spread


def weighting_of(x: Tensor) -> Weighting:
    """Choose the weights of features ``(n, d)`` by what they look like."""
    chunks = [x.values()] if x.layout == torch.sparse_csr else [x[rows] for rows in row_chunks(tuple(x.shape))]
    has_negative = any(bool((entries < 0).any()) for entries in chunks)
    if has_negative or 2 * sum(int(one.count_nonzero()) for one in chunks) >= math.prod(x.shape) or are_measurements(x):
        return "standard"
    return "idf" if all(bool((entries == entries.round()).all()) for entries in chunks) else "none"


def feature_weights(x: Tensor, weighting: Weighting) -> tuple[Tensor, Tensor]:
    """Return the shift and the scale ``(d,)`` of the columns of features ``(n, d)``: ``(x - shift) scale``."""
    shift, scale = torch.zeros((2, x.shape[1]), dtype=torch.float64, device=x.device)
    if weighting == "standard":
        mean, deviation = column_statistics(x)
        return mean, 1 / deviation
    if weighting == "none":
        return shift, scale + 1
    if x.layout == torch.sparse_csr:
        count = torch.bincount(x.col_indices()[x.values() != 0], minlength=x.shape[1])
    else:
        count = torch.stack([x[rows].count_nonzero(0) for rows in row_chunks(tuple(x.shape))]).sum(0)
    return shift, (x.shape[0] / count.clamp(min=1).double()).log()


class Blocks:
    """Weighted features after 0, 1, … hops and after PageRank, side by side with unit rows, as products alone."""

    def __init__(self, data: Data, shift: Tensor, scale: Tensor, hops: int, alpha: float) -> None:
        self.x, self.shift, self.scale, self.hops, self.alpha = data.x.to(scale.dtype), shift, scale, hops, alpha
        self.x_transposed = transposed(self.x)
        self.adjacency = propagation_of(data, scale.dtype)
        self.backward = Propagation(self.adjacency.transposed, self.adjacency.matrix)
        n, d = self.x.shape
        self.count = hops + 1 + (alpha > 0)
        self.shape = (n, self.count * d)
        squares = torch.zeros(self.count, n, 1, dtype=torch.float64, device=scale.device)
        for chunk in row_chunks((d, n)):  # some columns at a time
            columns = some_rows(self.x_transposed, chunk.start, chunk.stop).to_dense().mT
            columns = ((columns - shift[chunk]) * scale[chunk]).contiguous()  # (n, c)
            for block in range(self.count):
                h = self.spread(columns, block, self.adjacency)
                squares[block] += torch.linalg.vector_norm(h, dim=1, keepdim=True, dtype=torch.float64).square()
        self.inverse_lengths = squares.rsqrt().where(squares > 0, 0).to(scale.dtype)  # (blocks, n, 1)

    def spread(self, h: Tensor, block: int, adjacency: Propagation) -> Tensor:
        """Spread a matrix ``(n, r)`` over the hops of a block or, for the block after the last hop, by PageRank."""
        if block > self.hops:
            return page_rank(h, adjacency, self.alpha)
        for _ in range(block):
            h = adjacency @ h
        return h

    def __matmul__(self, q: Tensor) -> Tensor:
        """Compute the product with a thin matrix ``(blocks · d, r)``, which is ``(n, r)``."""
        total = q.new_zeros(len(self.x), q.shape[1])
        for block, part in enumerate(q.tensor_split(self.count)):
            weight = part * self.scale[:, None]  # (d, r)
            h = self.spread(feature_product(self.x, weight) - self.shift @ weight, block, self.adjacency)
            total.addcmul_(self.inverse_lengths[block], h)
        return total

    def transposed_product(self, y: Tensor) -> Tensor:
        """Compute the product of the transpose with a thin matrix ``(n, r)``, which is ``(blocks · d, r)``."""
        parts = []
        for block in range(self.count):
            h = self.spread(self.inverse_lengths[block] * y, block, self.backward)
            part = feature_product(self.x_transposed, h) - self.shift[:, None] * h.sum(0)
            parts.append(part * self.scale[:, None])
        return torch.cat(parts)


def leading_directions(table: Blocks | SideBySide, count: int, iterations: int) -> tuple[Tensor, Tensor]:
    """Compute the largest singular values ``(count,)`` and right singular vectors of a matrix by subspace iteration.

    Of a stored graph with few features they are those of the Gram matrix, to which the iteration converges.
    """
    if isinstance(table, SideBySide) and table.shape[1] <= WIDEST:
        sigma, v = table.directions()
        return sigma[:count].float(), v[:, :count].float()
    rank = min(count + SPARE, *table.shape)
    q = torch.randn(table.shape[1], rank, generator=torch.Generator().manual_seed(0))
    q = torch.linalg.qr(q if isinstance(table, SideBySide) else q.to(table.shift)).Q
    for _ in range(iterations):
        q = torch.linalg.qr(table.transposed_product(table @ q)).Q
    sigma, v = singular_directions(table @ q)
    return sigma[:count].to(q), q @ v[:, :count].to(q)
