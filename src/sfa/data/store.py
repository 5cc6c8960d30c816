"""A graph in a folder of plain files, of which only what is needed is read into memory."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.memory import require_memory

MANIFEST = "graph.json"
FORMAT = 1


class StoredGraph(Data):  # type: ignore[misc]
    """A graph whose features and edges are mapped from files.

    ``indptr`` int64 ``(n + 1,)`` and ``indices`` int64 ``(m,)`` are the compressed rows of the adjacency matrix: every
    edge in both directions, columns ascending, no loop, no duplicate; ``edge_weight`` has the same order. Code that
    asks for ``edge_index`` gets one in memory. ``x`` is float32 or float16.
    """

    @property
    def edge_index(self) -> Tensor:
        made: Tensor | None = self._store.get("edge_index")
        if made is None:
            num_edges = len(self.indices)
            require_memory(16 * num_edges, f"The list of {num_edges} edges")
            row = torch.arange(len(self.indptr) - 1).repeat_interleave(self.indptr.diff(), output_size=num_edges)
            made = self._store["edge_index"] = torch.stack([row, self.indices])
        return made

    @property
    def num_edges(self) -> int:
        return len(self.indices)


def is_store(path: Path) -> bool:
    """Tell whether a folder holds a stored graph."""
    return (path / MANIFEST).is_file()


def open_store(folder: Path) -> StoredGraph:
    """Open a stored graph, and raise unless its files are those that were written."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"The graph store {folder} cannot be read: {error}") from error
    if manifest.get("format") != FORMAT:
        raise InputError(
            f"The graph store {folder} has the format {manifest.get('format')}, not {FORMAT}: convert anew."
        )
    data = StoredGraph(name=manifest["name"], task="node", mapped_features=True)
    for key, file in (("indptr", "indptr"), ("indices", "indices"), ("edge_weight", "weights"), ("x", "x"), ("y", "y")):
        if f"{file}.npy" in manifest["files"]:
            data[key] = _mapped(folder / f"{file}.npy")
    return data


def _mapped(path: Path) -> Tensor:
    """Map an array into memory, to be read only."""
    array: NDArray[Any] = np.load(path, mmap_mode="c", allow_pickle=False)  # changes, if any, stay in memory
    return torch.from_numpy(array)
