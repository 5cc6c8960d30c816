"""A graph in a folder of plain files, of which only what is needed is read into memory."""

import hashlib
import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.data.arrays import read_npy_header, tensor_over
from sfa.data.labels import MASKS
from sfa.errors import InputError, translate_os_errors
from sfa.folders import PathLike, expand_user, read_json
from sfa.memory import require_memory

MANIFEST, IDS = "graph.json", "ids.parquet"
FORMAT = 1
SMALL = 1 << 28  # bytes of a store whose content is checked each time it is opened
ARRAYS = {"indptr": "indptr", "indices": "indices", "edge_weight": "weights", "x": "x", "y": "y"}
ARRAYS |= {mask: mask for mask in MASKS}
NOTES = (
    "class_names",
    "features_of",
    "encoding",
    "edges_read",
)  # attributes that are written into the manifest, if there are any
TYPES = {"indptr": "<i8", "indices": "<i8", "edge_weight": "<f4", "x": "<f4 <f2", "y": "<i8 <f8"}


class StoredGraph(Data):  # type: ignore[misc]
    """A graph whose features and edges are mapped from files, which must not be written to.

    ``indptr`` int64 ``(n + 1,)`` and ``indices`` int64 ``(m,)`` are the compressed rows of the adjacency matrix: every
    edge in both directions, columns ascending, no loop, no duplicate; ``edge_weight`` has the same order. Code that
    asks for ``edge_index`` gets one in memory. ``x`` is float32 or float16. ``store`` is the folder.
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

    @property
    def about(self) -> str:
        """What it holds, in a few words."""
        labels = ", labels" if self.get("y") is not None else ""
        return f"{len(self.x)} nodes, {len(self.indices) // 2} edges, {self.x.shape[1]} features{labels}"


class StoredIds:
    """The ids of nodes: in a Parquet file, which is read when the first is asked for, or without one 0..n-1.

    It is no ``Sequence``, of which ``Data.to`` would make a list.
    """

    def __init__(self, path: Path | None, count: int) -> None:
        self.path, self.count = path, count

    @cached_property
    def _ids(self) -> Any:
        return range(self.count) if self.path is None else pq.read_table(self.path).column(0)

    def __repr__(self) -> str:
        return f"[{self.count}]"

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: Any) -> Any:
        found = self._ids[place]
        if self.path is not None:
            return found.to_pylist() if isinstance(place, slice) else found.as_py()
        return list(found) if isinstance(place, slice) else found

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, self.count, 1 << 16):
            yield from self[start : start + (1 << 16)]


def is_store(path: Path) -> bool:
    """Tell whether a folder holds a stored graph."""
    return (path / MANIFEST).is_file()


def open_store(folder: PathLike, *, verify: bool = False) -> StoredGraph:
    """Open a stored graph, and raise unless its files are those that were written.

    Sizes and headers are always checked; checksums too if the store is small, or with ``verify``.
    """
    folder = expand_user(folder)
    if not is_store(folder):
        raise InputError(f"{folder} is no graph store, for it has no {MANIFEST}: make one by sfa convert.")
    manifest = read_json(folder / MANIFEST)
    damaged = f"The graph store {folder} is damaged, convert anew"
    try:
        if manifest["format"] != FORMAT:
            raise InputError(f"The graph store {folder} has the format {manifest['format']!r}, not {FORMAT}: convert.")
        files, n, m = manifest["files"], int(manifest["nodes"]), int(manifest["entries"])
        with translate_os_errors(damaged):
            _check_files(folder, files, verify)
        data = StoredGraph(name=str(manifest["name"]), task="node", mapped_features=True, store=str(folder.absolute()))
        rows, dims = {"indptr": n + 1, "indices": m, "edge_weight": m}, {"x": (2,), **dict.fromkeys(MASKS, (1, 2))}
        for key, name in ARRAYS.items():
            if f"{name}.npy" in files:
                with (folder / f"{name}.npy").open("rb") as file:
                    shape, dtype = read_npy_header(file)
                    sound = shape[:1] == (rows.get(key, n),) and len(shape) in dims.get(key, (1,))
                    size = file.tell() + math.prod(shape) * dtype.itemsize
                    if not (sound and dtype.str in TYPES.get(key, "|b1") and size == files[f"{name}.npy"]["bytes"]):
                        raise ValueError(f"{name}.npy has the shape {list(shape)} and {dtype} values")
                data[key] = tensor_over(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False))
        data.update({key: manifest["notes"][key] for key in NOTES if key in manifest["notes"]})
        data.node_ids = StoredIds(folder / IDS if IDS in files else None, n)
        data.checksum = hashlib.sha256("".join(sorted(_digests(files))).encode()).hexdigest()
        if _size(files) <= SMALL or verify:
            steps = data.indptr.diff()
            if data.indptr[0] != 0 or data.indptr[-1] != m or bool((steps < 0).any()):
                raise ValueError("its row pointers do not ascend from 0 to the number of entries")
            if m and not 0 <= int(data.indices.min()) <= int(data.indices.max()) < n:
                raise ValueError(f"its columns are not from 0 to {n - 1}")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        missing = f"{MANIFEST} lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{damaged}: {missing}.") from error
    return data


def _check_files(folder: Path, files: dict[str, Any], verify: bool) -> None:
    """Raise unless files have the sizes and, where these are to be checked, the checksums that were written."""
    if not {"indptr.npy", "indices.npy", "x.npy"} <= files.keys() <= {IDS, *(f"{one}.npy" for one in ARRAYS.values())}:
        raise ValueError(f"{MANIFEST} names the files {', '.join(sorted(files))}")
    for name, about in files.items():
        size = (folder / name).stat().st_size
        if size != about["bytes"]:
            raise ValueError(f"{name} has {size} bytes, and {about['bytes']} were written")
        if (verify or _size(files) <= SMALL) and sha256_of(folder / name) != about["sha256"]:
            raise ValueError(f"{name} has changed, for its checksum is another")


def _size(files: dict[str, Any]) -> int:
    return sum(about["bytes"] for about in files.values())


def _digests(files: dict[str, Any]) -> Iterator[str]:
    """Yield what a stored graph is told by: the checksums of what training depends on, and what they are of."""
    parts = {f"{ARRAYS[key]}.npy" for key in ("indptr", "indices", "edge_weight", "x", "y")}
    return (f"{name}:{about['sha256']};" for name, about in files.items() if name in parts)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()
