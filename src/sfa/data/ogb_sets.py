"""Data sets of the Open Graph Benchmark: downloaded by the package ogb where it is installed, read here without it."""

from __future__ import annotations

import importlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.downloads import (
    VARIABLE,
    cache_folder,
    damage_is_said,
    find_raw,
    move,
    processed,
    quiet,
    require_files,
    writable_cache,
)
from sfa.data.graph import build_graph
from sfa.data.labels import MASKS
from sfa.errors import InputError
from sfa.levels import Level


@dataclass(frozen=True)
class OgbSet:
    """One node classification data set of OGB (Hu et al., 2020) with its official split.

    It lies in `ogbn_arxiv/` under a root, in the layout in which it is published: gzipped tables without headers, of
    edges, features and labels in `raw/`, and of the numbers of the nodes of each part in `split/SCHEME/`.
    """

    key: str
    split: str
    level: ClassVar[Level] = "node"

    @property
    def folder(self) -> str:
        return self.key.replace("-", "_")

    @property
    def files(self) -> tuple[str, ...]:
        tables = [f"raw/{table}.csv.gz" for table in ("edge", "node-feat", "node-label")]
        return (*tables, *(f"split/{self.split}/{part}.csv.gz" for part in ("train", "valid", "test")))

    def locate(self, root: str | os.PathLike[str] | None) -> Path | None:
        """The folder of its files, in the root or else among earlier downloads; None if it must be downloaded."""
        raw = find_raw(Path(self.folder, "raw"), root)
        return None if raw is None else raw.parent

    def load(self, root: str | os.PathLike[str] | None) -> Data:
        """The data set as a graph, undirected; nothing is written outside the cache folder."""
        folder = self.locate(root) or _download(self)
        require_files(self.key, folder, self.files)
        with damage_is_said(self.key, folder):
            edges, x, y, *parts = _arrays(self, folder)
            masks = {mask: _mask(nodes, len(x)) for mask, nodes in zip(MASKS, parts, strict=True)}
            return build_graph(x, edges.T, y=y, masks=masks, name=self.key)


TABLES = ("edges", "x", "y", "train", "valid", "test")


def _arrays(item: OgbSet, folder: Path) -> list[NDArray[Any]]:
    """The tables in this order, from the cache: to read the text takes many times as long."""
    import pandas as pd

    def make(made: Path) -> None:
        for name, file in zip(TABLES, item.files, strict=True):
            table = np.asarray(pd.read_csv(folder / file, header=None).to_numpy())
            np.save(made / f"{name}.npy", table.astype(np.float32) if name == "x" else table)

    cached = processed(item.key, [folder / file for file in item.files], "tables 1", make)
    return [np.load(cached / f"{name}.npy", allow_pickle=False) for name in TABLES]


def _mask(nodes: NDArray[np.int64], num_nodes: int) -> torch.Tensor:
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[torch.from_numpy(nodes.ravel())] = True
    return mask


def _download(item: OgbSet) -> Path:
    """The files by ogb's own download, whole or not at all, in the cache."""
    where = (
        f"give the folder that holds {item.folder}/{item.files[0]} (and the rest of its layout) with --data-root or "
        f"{VARIABLE}"
    )
    try:
        ogb = importlib.import_module("ogb.nodeproppred")
    except ImportError as error:
        raise InputError(
            f"{item.key} is not on this machine, and the package ogb, which downloads it, is not installed: "
            f"pip install ogb, or {where}."
        ) from error
    target = writable_cache() / item.folder
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="download-") as temporary:
        try:
            with quiet():
                ogb.NodePropPredDataset(item.key, root=temporary)
            require_files(item.key, Path(temporary, item.folder), item.files)
        except Exception as error:  # whatever the network raises
            raise InputError(
                f"{item.key} is not on this machine and could not be downloaded ({type(error).__name__}): {where}."
            ) from error
        move(Path(temporary, item.folder), target)
    return target
