"""Read data sets of the Open Graph Benchmark, which the package ogb downloads where it is installed."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.downloads import VARIABLE, PathLike, download, explain_damage, find_place, processed, quiet, require_files
from sfa.data.graph import build_graph
from sfa.data.labels import MASKS
from sfa.errors import InputError
from sfa.tasks import Task

TABLES = ("edges", "x", "y", "train", "valid", "test")


@dataclass(frozen=True)
class OgbSet:
    """One node classification data set of OGB (Hu et al., 2020) with its official split.

    It lies in `ogbn_arxiv/` under a root, in the layout in which it is published: gzipped tables without headers, of
    edges, features and labels in `raw/`, and of the numbers of the nodes of each part in `split/SCHEME/`.
    """

    key: str
    split: str
    task: ClassVar[Task] = "node"

    @property
    def folder(self) -> str:
        return self.key.replace("-", "_")

    @property
    def files(self) -> tuple[str, ...]:
        tables = [f"raw/{table}.csv.gz" for table in ("edge", "node-feat", "node-label")]
        return (*tables, *(f"split/{self.split}/{part}.csv.gz" for part in TABLES[3:]))

    def locate(self, root: PathLike | None) -> Path | None:
        raw = find_place(root, f"{self.folder}/raw")
        return None if raw is None else raw.parent

    def load(self, root: PathLike | None) -> Data:
        folder = self.locate(root) or self._download()
        require_files(self.key, folder, self.files)
        with explain_damage(self.key, folder):
            edges, x, y, *parts = self._arrays(folder)
            masks = {mask: np.zeros(len(x), dtype=bool) for mask in MASKS}
            for mask, nodes in zip(masks.values(), parts, strict=True):
                mask[nodes.ravel()] = True
            return build_graph(x, edges.T, y=y, masks=masks, name=self.key)

    def _arrays(self, folder: Path) -> list[NDArray[Any]]:
        """Return the tables in the order of `TABLES`, from the cache: to read the text takes many times as long."""
        import pandas as pd

        def make(made: Path) -> None:
            for name, file in zip(TABLES, self.files, strict=True):
                table = np.asarray(pd.read_csv(folder / file, header=None).to_numpy())
                np.save(made / f"{name}.npy", table.astype(np.float32) if name == "x" else table)

        cached = processed(self.key, [folder / file for file in self.files], "tables 1", make)
        return [np.load(cached / f"{name}.npy", allow_pickle=False) for name in TABLES]

    def _download(self) -> Path:
        where = (
            f"give the folder that holds {self.folder}/{self.files[0]} (and the rest of its layout) with --data-root "
            f"or {VARIABLE}"
        )
        try:
            ogb = importlib.import_module("ogb.nodeproppred")
        except ImportError as error:
            raise InputError(
                f"{self.key} is not on this machine, and the package ogb, which downloads it, is not installed: "
                f"pip install ogb, or {where}."
            ) from error

        def fill(temporary: Path) -> None:
            with quiet():
                ogb.NodePropPredDataset(self.key, root=str(temporary))
            for file in self.files:
                (temporary / self.folder / file).stat()  # one that is missing is a failure of the download

        return download(self.key, self.folder, fill, missing="on this machine and", otherwise=f": {where}")
