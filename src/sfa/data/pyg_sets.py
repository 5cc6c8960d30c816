"""The data sets that torch_geometric reads: found in the user's root or the cache, processed only ever in the cache."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from sfa.data.graph import build_graph
from sfa.data.masks import given_masks
from sfa.data.raw_files import damage_is_said, find_raw, move, processed, quiet, require_files
from sfa.data.roots import VARIABLE, cache_folder, writable_cache
from sfa.data.safe_pickle import check_pickle
from sfa.errors import InputError


@dataclass(frozen=True)
class PygSet:
    """One data set of torch_geometric.

    Args:
        key: our name of it.
        folder: where it lies under a root, torch_geometric's class first: `Planetoid/CiteSeer`, `WikiCS`. The raw files
            are in `raw/` there.
        raw_files: what they are called.
        options: further arguments of the class, beside its root.
    """

    key: str
    folder: str
    raw_files: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        return Path(self.folder).parts[0]

    def locate(self, root: str | os.PathLike[str] | None) -> Path | None:
        """The folder of raw files, in the root or else among earlier downloads; None if it must be downloaded."""
        return find_raw(Path(self.folder, "raw"), root)

    def load(self, root: str | os.PathLike[str] | None) -> Data:
        """The data set as a graph, with its public splits; nothing is written outside the cache folder."""
        raw = self.locate(root) or _download(self)
        require_files(self.key, raw, self.raw_files)  # torch_geometric would download them, into the user's folder
        for name in self.raw_files:
            if self.class_name == "Planetoid" and not name.endswith(".index"):
                check_pickle(raw / name)
        with damage_is_said(self.key, raw):
            data = _process(self, raw)[0]
        return build_graph(data.x, data.edge_index, y=data.y, masks=given_masks(data.to_dict()), name=self.key)

    def open(self, root: Path, base: type | None = None) -> Any:
        """The torch_geometric data set under `root`, which torch_geometric writes into."""
        from torch_geometric import datasets

        kind: Any = base or getattr(datasets, self.class_name)
        with quiet():
            return kind(root=str(root / self.class_name), **self.options)


def _process(item: PygSet, raw: Path) -> Any:
    """The processed data set from the cache, made there first if it is new or the raw files have changed."""
    import torch_geometric

    def make(shadow: Path) -> None:
        (shadow / item.folder).mkdir(parents=True)
        try:
            (shadow / item.folder / "raw").symlink_to(raw.resolve(), target_is_directory=True)
        except OSError:  # a system without symbolic links
            shutil.copytree(raw, shadow / item.folder / "raw")
        item.open(shadow)

    files = [raw / name for name in item.raw_files]
    return item.open(processed(item.key, files, f"torch_geometric {torch_geometric.__version__}", make))


def _download(item: PygSet) -> Path:
    """The raw files by torch_geometric's own download, whole or not at all, in the cache."""
    from torch_geometric import datasets

    class Downloaded(Exception):
        pass

    def stop_here(self: Any) -> None:
        raise Downloaded  # the files have not been looked at yet, so they are not processed either

    download_only = type(item.class_name, (getattr(datasets, item.class_name),), {"process": stop_here})
    raw = writable_cache() / item.folder / "raw"
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="download-") as temporary:
        try:
            item.open(Path(temporary), download_only)
        except Downloaded:
            raw.parent.mkdir(parents=True, exist_ok=True)
            move(Path(temporary) / item.folder / "raw", raw)
        except Exception as error:  # whatever the network raises
            raise InputError(
                f"{item.key} is not on this machine and could not be downloaded ({type(error).__name__}); give the "
                f"folder that holds {item.folder}/raw/{item.raw_files[0]} with --data-root or {VARIABLE}, "
                "or use the bundled cora."
            ) from error
    return raw
