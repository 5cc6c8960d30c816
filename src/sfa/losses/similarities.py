"""Exponentials of all similarities of two views' rows, tile by tile, in full precision or in bfloat16."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, zip_longest
from threading import Lock
from typing import NamedTuple

import torch
from torch import Tensor

from sfa.products import add_product_, multiply

ROWS = 512
COLUMNS = 8192

Own = tuple[slice, slice] | None

# Buffers on the CPU to be used again: a fresh one costs a page fault for every few kilobytes first written, a fifth of
# the time of a loss. An accelerator's own allocator keeps such memory itself.
_SPARE: list[Tensor] = []
SPARES = 4
_LOCK = Lock()


class Tile(NamedTuple):
    """A rectangle of the matrix; the entries of the ``mirror`` columns stand for the other triangle too."""

    rows: slice
    columns: slice
    mirror: slice

    @property
    def size(self) -> int:
        return int((self.rows.stop - self.rows.start) * (self.columns.stop - self.columns.start))

    def over(self, buffer: Tensor) -> Tensor:
        """Return a matrix of the shape of the tile, over the first numbers of a buffer."""
        return buffer[: self.size].view(self.rows.stop - self.rows.start, -1)

    @property
    def mirrored(self) -> slice:
        """The mirror's columns, counted within the tile; they are its last."""
        return slice(self.mirror.start - self.columns.start, None)


class Similarities:
    r"""The matrix :math:`E_{ij} = e^{x_i^\top x_j}` of two views' rows with each other; never whole in memory.

    Args:
        x: ``(2 n, d)``, view alpha above view beta, of lengths that keep the exponentials in range.
        intraview: All pairs of different rows count; else only pairs from different views, positives among them.
        own: Rows of each view that this process computes; all for ``None``.
        without: ``(2, p)`` pairs of different nodes that do not count in any combination of views.
        keep_bytes: Bytes of tiles that :meth:`row_sums` keeps for one call of :meth:`weighted_products`.
    """

    absent = 0.0  # what a tile holds for a pair that does not count

    def __init__(self, x: Tensor, *, intraview: bool, own: Own, without: Tensor | None, keep_bytes: int) -> None:
        self.x, self.intraview, self.own = x, intraview, own
        self.factors = self._make_factors(x)  # tiles have their dtype
        self.blocks = list(_blocks(len(x), intraview, own))
        self.tiles = list(_tiles(self.blocks, intraview, is_whole=own is None))
        self.without = None if without is None else _entries(without, len(x) // 2)
        ends = accumulate(tile.size for tile in self.tiles)
        self._kept_ends = [end for end in ends if end * self.factors.element_size() <= keep_bytes]
        self._buffer: Tensor | None = None
        self._kept: list[Tensor] = []
        self._largest = max((tile.size for tile in self.tiles), default=0)

    def row_sums(self) -> Tensor:
        """Compute ``Σ_j E_ij`` of all rows ``(2 n,)``; 0 for rows that are not one's own."""
        sums = self.x.new_zeros(len(self.x))
        if self._kept_ends:
            self._buffer = borrow(self._kept_ends[-1], self.factors)
            parts = zip(self.tiles, self._kept_ends, strict=False)
            self._kept = [tile.over(self._buffer[end - tile.size :]) for tile, end in parts]
        with borrowed(self._largest, self.factors) as buffer, borrowed(self._largest, self.x) as other:
            for tile, kept in zip_longest(self.tiles, self._kept):
                self._add_sums(sums, tile, self._compute(tile, tile.over(buffer) if kept is None else kept, other))
        return sums

    def weighted_products(self, weight: Tensor) -> Tensor:
        """Compute ``Σ_j E_ij (w_i + w_j) x_j`` over all but the positive, ``(2 n, d)``; 0 for rows not one's own."""
        products = torch.zeros_like(self.x)
        with borrowed(self._largest, self.factors) as buffer, borrowed(self._largest, self.x) as other:
            for tile, kept in zip_longest(self.tiles, self._kept):
                if kept is None:
                    self._compute(tile, kept := tile.over(buffer), other)
                for distance in (len(self.x) // 2, -(len(self.x) // 2)):  # positives are on two diagonals
                    _fill_diagonal(kept, tile.rows.start + distance - tile.columns.start, self.absent)
                self._add_products(products, tile, kept, weight, tile.over(other.view(kept.dtype)))
        if self._buffer is not None:
            give_back(self._buffer)
            self._buffer, self._kept = None, []
        return products

    def _make_factors(self, x: Tensor) -> Tensor:
        return x

    def _exponentiate(self, rows: Tensor, columns: Tensor, out: Tensor, buffer: Tensor) -> Tensor:
        """Compute the entries of a tile in ``out``, or in a buffer in the dtype of ``x``."""
        return torch.exp(multiply(rows, columns, out), out=out)

    def _add_sums(self, sums: Tensor, tile: Tile, e: Tensor) -> None:
        sums[tile.rows] += e.sum(1)
        sums[tile.mirror] += e[:, tile.mirrored].sum(0)

    def _add_products(self, products: Tensor, tile: Tile, e: Tensor, weight: Tensor, p: Tensor) -> None:
        torch.add(weight[tile.rows, None], weight[tile.columns], out=p).mul_(e)
        add_product_(products[tile.rows], p, self.x[tile.columns])
        add_product_(products[tile.mirror], p[:, tile.mirrored].mT, self.x[tile.rows])

    def _compute(self, tile: Tile, out: Tensor, buffer: Tensor) -> Tensor:
        """Write a tile to ``out``, and return it before it is rounded to the dtype of ``out``."""
        e = self._exponentiate(self.factors[tile.rows], self.factors[tile.columns].mT, out, tile.over(buffer))
        if self.intraview:
            _fill_diagonal(e, tile.rows.start - tile.columns.start, self.absent)
        if self.without is not None:
            row, column = self.without
            first, last = torch.searchsorted(row, row.new_tensor([tile.rows.start, tile.rows.stop])).tolist()
            row, column = row[first:last] - tile.rows.start, column[first:last] - tile.columns.start
            inside = (column >= 0) & (column < e.shape[1])
            e[row[inside], column[inside]] = self.absent
        if e is not out:
            out.copy_(e)
        return e


class CenteredSimilarities(Similarities):
    r"""The same matrix, whose tiles hold :math:`F = e^{D} - 1` in bfloat16, with :math:`D_{ij} = d_i^\top d_j`.

    At the start of training all rows point nearly the same way, and their differences are smaller than the rounding of
    bfloat16. So the mean is split off: with :math:`x = \mu + d` and :math:`s_i = e^{d_i^\top \mu + \mu^\top \mu / 2}`,

    .. math:: E_{ij} = e^{x_i^\top x_j} = s_i s_j (1 + F_{ij}).

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

    def _exponentiate(self, rows: Tensor, columns: Tensor, out: Tensor, buffer: Tensor) -> Tensor:
        logits = torch.mm(rows, columns, out=out)
        # eᴰ - 1 = 1 / sigmoid(-D) - 2, which takes half the time of expm1 on a processor, with float32's digits.
        return buffer.copy_(logits.neg_()).sigmoid_().reciprocal_().sub_(2)

    def _add_sums(self, sums: Tensor, tile: Tile, e: Tensor) -> None:
        sums[tile.rows] += e @ self.scale[tile.columns]
        sums[tile.mirror] += e[:, tile.mirrored].mT @ self.scale[tile.rows]

    def _add_products(self, products: Tensor, tile: Tile, e: Tensor, weight: Tensor, p: Tensor) -> None:
        torch.mm(self.weights[tile.rows], self.weights[tile.columns].flip(1).mT, out=p).mul_(e)  # s_i s_j (w_i + w_j) F
        mirrored = (tile.mirror, tile.rows, p[:, tile.mirrored].mT)
        for rows, others, part in ((tile.rows, tile.columns, p), mirrored):
            products[rows].addcmul_(part.sum(1, dtype=self.x.dtype)[:, None], self.mean)
            products[rows] += part @ self.factors[others]


def _blocks(size: int, intraview: bool, own: Own) -> Iterator[tuple[slice, slice]]:
    """Yield rows, and the columns that count for them."""
    n, all_rows = size // 2, slice(0, size)
    if intraview and own is None:
        yield all_rows, all_rows
        return
    for rows in own or (slice(0, n), slice(n, size)):
        yield rows, all_rows if intraview else slice(n, size) if rows.start < n else slice(0, n)


def _tiles(blocks: list[tuple[slice, slice]], intraview: bool, is_whole: bool) -> Iterator[Tile]:
    """Yield tiles that cover the blocks; each pair of rows of a whole matrix once, as the mirror is its other half."""
    for view, others in blocks[:1] if is_whole else blocks:
        for rows in _ranges(view.start, view.stop, ROWS):
            for columns in _ranges(rows.start if intraview and is_whole else others.start, others.stop, COLUMNS):
                mirror = min(max(columns.start, rows.stop), columns.stop) if intraview else columns.start
                yield Tile(rows, columns, slice(mirror if is_whole else columns.stop, columns.stop))


def _ranges(start: int, stop: int, step: int) -> Iterator[slice]:
    return (slice(first, min(first + step, stop)) for first in range(start, stop, step))


def _fill_diagonal(tile: Tensor, offset: int, value: float) -> None:
    if -tile.shape[0] < offset < tile.shape[1]:
        tile.diagonal(offset).fill_(value)


def _entries(pairs: Tensor, n: int) -> Tensor:
    """Return ``(2, 8 p)`` places in the matrix of pairs of nodes, in all combinations of views, sorted by row."""
    both = torch.cat([pairs, pairs.flip(0)], dim=1)
    views = [both + both.new_tensor([[alpha * n], [beta * n]]) for alpha in (0, 1) for beta in (0, 1)]
    entries = torch.cat(views, dim=1)
    return entries[:, entries[0].argsort()]


def borrow(size: int, like: Tensor) -> Tensor:
    """Return a buffer of ``size`` numbers of any value, or more, with the dtype and device of ``like``."""
    with _LOCK:
        for i, spare in enumerate(_SPARE):  # the smallest that is large enough
            if like.device.type == "cpu" and spare.dtype == like.dtype and spare.numel() >= size:
                return _SPARE.pop(i)
    with torch.inference_mode(False):  # a buffer outlives the mode that it is made in
        return torch.empty(size, dtype=like.dtype, device=like.device)


def give_back(buffer: Tensor) -> None:
    """Let a borrowed buffer of up to 128 MB be used again; of more than a few the largest stay."""
    if buffer.device.type == "cpu" and buffer.nbytes <= 1 << 27:
        with _LOCK:
            _SPARE.append(buffer)
            _SPARE.sort(key=Tensor.numel)
            del _SPARE[:-SPARES]


@contextmanager
def borrowed(size: int, like: Tensor) -> Iterator[Tensor]:
    """Borrow a buffer for the time of a ``with`` block."""
    buffer = borrow(size, like)
    try:
        yield buffer
    finally:
        give_back(buffer)
