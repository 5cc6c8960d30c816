"""Spread a matrix over a stored graph on disk, some columns of all nodes at a time."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag
from torch_geometric.data import Data

from sfa.graph.structure import some_rows, take_rows
from sfa.matrices import empty_on_disk, row_chunks
from sfa.memory import working_bytes

STEPS = 10
"""Steps of the power iteration of PageRank, as in APPNP."""
Rows = slice | Tensor  # consecutive rows, or numbers of rows


class Tiles:
    """A matrix ``(n, d)`` on disk, a file for some columns each, which are read whole."""

    def __init__(self, parts: Sequence[Tensor]) -> None:
        self.parts = list(parts)

    @classmethod
    def empty(cls, n: int, widths: Sequence[int], dtype: torch.dtype, path: Path | None = None) -> "Tiles":
        """Make one to be written, in files ``path-0.npy`` … or in unnamed temporary ones."""
        names = [path and path.with_name(f"{path.name}-{number}.npy") for number in range(len(widths))]
        return cls([empty_on_disk((n, width), dtype, name) for width, name in zip(widths, names, strict=True)])

    def rows(self, rows: Rows) -> Tensor:
        """Return some rows of all columns, at least as float32."""
        return torch.cat([rows_of(part, rows) for part in self.parts], 1)

    def write(self, rows: slice, values: Tensor) -> None:
        """Write some rows of all columns."""
        widths = [part.shape[1] for part in self.parts]
        for part, columns in zip(self.parts, torch.split(values, widths, 1), strict=True):
            part[rows] = columns


def rows_of(x: Tensor, rows: Rows) -> Tensor:
    """Return some rows of a matrix on disk; numbers of rows ascend where the disk is to be read in order."""
    return some_rows(x, rows.start, rows.stop) if isinstance(rows, slice) else take_rows(x, rows)


def tile_widths(n: int, columns: int) -> list[int]:
    """Return the columns of each tile: three tiles in float32 stay within the memory for work on stored graphs."""
    most = max(1, working_bytes() // (12 * n))
    return [len(part) for part in torch.arange(columns).tensor_split(-(-columns // most))]


@torch.no_grad()
def spread_on_disk(
    data: Data,
    widths: Sequence[int],
    tiles: Sequence[Callable[[slice], Tensor]],
    *,
    hops: int,
    alpha: float,
    dtype: torch.dtype,
    folder: Path | None = None,
) -> list[Tiles]:
    r"""Compute :math:`\hat A H, \dots, \hat A^h H` and, unless ``alpha`` is 0, PageRank of ``H`` on disk.

    Beside the tiles on disk, memory holds three matrices of ``n`` rows and as many columns as a tile has, whatever the
    number of edges. The adjacency matrix is not made: :math:`\hat A = S (A + I) S` with :math:`S = \hat D^{-1/2}`, so
    that :math:`U = S H` goes to :math:`S^2 (A + I) U`.

    ``tiles`` are functions that return some rows of ``H``, of as many columns each as ``widths`` say. ``alpha`` is the
    chance that PageRank restarts at a step. Results are of this ``dtype``, in a ``folder`` or else in unnamed files.
    """
    n, count = int(data.num_nodes), hops + (alpha > 0)
    results = [Tiles.empty(n, widths, dtype, folder and folder / str(block)) for block in range(1, count + 1)]
    scale = _scale(data)  # (n, 1)
    for tile, (width, read) in enumerate(zip(widths, tiles, strict=True)):
        start, *others = torch.empty(3, n, width)
        for rows in row_chunks((n, width)):
            start[rows] = read(rows) * scale[rows]
        u = start
        for block, result in enumerate(results, start=1):
            is_hop = block <= hops
            u = u if is_hop else start  # PageRank begins anew
            for _ in range(1 if is_hop else STEPS):
                target = next(one for one in others if one is not u)
                _step(data, scale, u, target, start, 0.0 if is_hop else alpha)
                u = target
            for rows in row_chunks((n, width)):
                result.parts[tile][rows] = u[rows] / scale[rows]
    return results


def _step(data: Data, scale: Tensor, u: Tensor, out: Tensor, start: Tensor, alpha: float) -> None:
    """Write ``(1 - alpha) S² (A + I) u + alpha start`` to ``out``, in pieces of rows."""
    for rows in row_chunks(tuple(u.shape)):
        rowptr, entries, weight = _adjacency(data, rows)
        sums = embedding_bag(data.indices[entries], u, rowptr, None, 2, False, "sum", False, weight, True)
        sums.add_(u[rows]).mul_(scale[rows].square())
        torch.lerp(sums, start[rows], alpha, out=out[rows])


def _scale(data: Data) -> Tensor:
    """Compute the inverse square roots ``(n, 1)`` of degrees, with the node itself."""
    scale = torch.empty(int(data.num_nodes), 1)
    for rows in row_chunks((len(scale), 16)):
        rowptr, _, weight = _adjacency(data, rows)
        degree = rowptr.diff() if weight is None else torch.segment_reduce(weight.double(), "sum", offsets=rowptr)
        scale[rows, 0] = (degree + 1.0).rsqrt()
    return scale


def _adjacency(data: Data, rows: slice) -> tuple[Tensor, slice, Tensor | None]:
    """Return the pointers of some rows of a stored graph, the place of their entries, and the weights of these."""
    rowptr = data.indptr[rows.start : rows.stop + 1]
    entries = slice(int(rowptr[0]), int(rowptr[-1]))
    return rowptr - rowptr[0], entries, None if data.edge_weight is None else data.edge_weight[entries].float()
