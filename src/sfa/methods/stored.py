"""Blocks of columns of a stored graph on disk: features, or what an encoder makes of them, and the same spread."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.atomic import atomic_folder, locked, write_text
from sfa.graph.spread import Rows, Tiles, spread_on_disk, tile_widths
from sfa.graph.structure import WeakTensorCache, some_rows, take_rows
from sfa.matrices import directions_of_rows, empty_on_disk, row_chunks, unit_rows

FOLDER, ABOUT = "hops", "about.json"  # beside the files of a store; what says of what its blocks are made
_BLOCKS: WeakTensorCache[list[Tiles]] = WeakTensorCache()


class SideBySide:
    """Blocks of columns of ``n`` nodes, if several with unit rows, which are functions that return some rows."""

    def __init__(self, n: int, blocks: Sequence[Callable[[Rows], Tensor]], last_weight: float = 1) -> None:
        self.blocks, self.weights = blocks, [1.0] * (len(blocks) - 1) + [last_weight]
        self.shape = (n, self.rows(slice(0, 1)).shape[1])

    def rows(self, rows: Rows) -> Tensor:
        """Return some rows of all blocks."""
        if len(self.blocks) == 1:
            return self.blocks[0](rows)
        return torch.cat([w * unit_rows(one(rows)) for one, w in zip(self.blocks, self.weights, strict=True)], 1)

    def directions(self, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Compute all singular values and right singular vectors, of some ascending rows if they are given."""
        pieces = row_chunks(self.shape) if rows is None else torch.split(rows, 1 << 12)
        return directions_of_rows(map(self.rows, pieces), self.shape[1])

    def transposed_product(self, y: Tensor) -> Tensor:
        """Compute the product of the transpose with a thin matrix ``(n, r)``."""
        total = y.new_zeros(self.shape[1], y.shape[1])
        for rows in row_chunks(self.shape):
            total.addmm_(self.rows(rows).mT, y[rows])
        return total

    def product(self, matrix: Tensor | None = None) -> Tensor:
        """Compute the product with a matrix, or without one all rows, as a tensor over a temporary file."""
        result = empty_on_disk((self.shape[0], self.shape[1] if matrix is None else matrix.shape[1]))
        for rows in row_chunks(self.shape):
            result[rows] = self.rows(rows) if matrix is None else self.rows(rows) @ matrix.cpu()
        return result

    __matmul__ = product


def features_spread(data: Data, shift: Tensor, scale: Tensor, **how: Any) -> list[Tiles]:
    """Return weighted features after 1, 2, … hops and after PageRank; they are kept beside the store, for other runs.

    ``how`` are the hops, ``alpha`` and the steps of :func:`~sfa.graph.spread.spread_on_disk`.
    """
    every = -(-len(data.x) // 1000)
    some = take_rows(data.x, torch.arange(0, len(data.x), every))  # they may have been normalized
    of = _digest({"features": some, "shift": shift, "scale": scale})
    about = json.dumps({**how, "dtype": str(data.x.dtype), "features": of, "graph": data.checksum}, indent=1)
    widths = tile_widths(*data.x.shape)
    columns = [slice(int(some[0]), int(some[-1]) + 1) for some in torch.split(torch.arange(data.x.shape[1]), widths)]

    def read(columns: slice, rows: slice) -> Tensor:
        return some_rows(data.x[:, columns], rows.start, rows.stop).sub(shift[columns]).mul(scale[columns])

    tiles = [partial(read, some) for some in columns]
    make = partial(spread_on_disk, data, widths, tiles, dtype=data.x.dtype, **how)
    return _BLOCKS.get(data.indptr, lambda: _kept(Path(data.store), about, make), made_of=about)


def _kept(store: Path, about: str, make: Callable[..., list[Tiles]]) -> list[Tiles]:
    """Return the blocks that a store keeps for what they are made of; make them, in TMPDIR if it is read only."""
    folder = store / FOLDER / hashlib.sha256(about.encode()).hexdigest()[:16]
    if not folder.is_dir():
        with suppress(OSError):
            folder.parent.mkdir(exist_ok=True)
            with locked(folder.with_suffix(".lock"), wait=True):  # one of several processes makes them
                if not folder.is_dir():
                    with atomic_folder(folder) as staging:
                        make(folder=staging)
                        write_text(staging / ABOUT, about)
    if not folder.is_dir():
        return make()
    files = sorted(folder.glob("*-*.npy"), key=lambda file: [int(part) for part in file.stem.split("-")])
    parts = [torch.from_numpy(np.load(file, mmap_mode="c", allow_pickle=False)) for file in files]
    blocks = [int(file.stem.split("-")[0]) for file in files]
    return [Tiles([part for part, of in zip(parts, blocks, strict=True) if of == block]) for block in sorted({*blocks})]


def encoded_spread(encoder: Any, data: Data, weigh: Callable[[Tensor], Tensor], **how: Any) -> list[Tiles]:
    """Return what an encoder makes of weighted features, row by row, and this spread, in temporary files.

    They stay as long as the graph lives, for an encoder with the same weights, until others take their place.
    """
    n, dtype, weights = len(data.x), data.x.dtype, encoder.state_dict()
    device = next(iter(encoder.parameters()), torch.empty(0)).device
    some = weigh(take_rows(data.x, torch.arange(min(n, 10))).to(device))  # other weights of features are another key

    def make() -> list[Tiles]:
        z = Tiles.empty(n, tile_widths(n, encoder.width), dtype)
        for rows in row_chunks((n, 4 * encoder.width)):
            z.write(rows, encoder.embed(Data(x=weigh(some_rows(data.x, rows.start, rows.stop).to(device)))))
        widths = [part.shape[1] for part in z.parts]
        return [z, *spread_on_disk(data, widths, [one.__getitem__ for one in z.parts], dtype=dtype, **how)]

    return _BLOCKS.get(data.x, make, made_of=(_digest({**weights, " features": some}), *how.items()))


def _digest(tensors: Mapping[str, Tensor]) -> str:
    content = hashlib.sha256()
    for name, tensor in tensors.items():
        content.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return content.hexdigest()
