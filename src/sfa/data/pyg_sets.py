"""The data sets that torch_geometric reads: found in the user's root or the cache, processed only ever in the cache."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

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
from sfa.data.labels import given_masks
from sfa.errors import InputError
from sfa.levels import Level


@dataclass(frozen=True)
class PygSet:
    """One data set of torch_geometric.

    Args:
        key: our name of it.
        folder: where it lies under a root, torch_geometric's class first: `Planetoid/CiteSeer`, `WikiCS`. The raw files
            are in `raw/` there.
        raw_files: what they are called.
        options: further arguments of the class, beside its root.
        instead: the bundled set to turn to where this one cannot be had.
    """

    key: str
    folder: str
    raw_files: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    instead: str = "cora"
    level: ClassVar[Level] = "node"

    @property
    def class_name(self) -> str:
        return Path(self.folder).parts[0]

    def locate(self, root: str | os.PathLike[str] | None) -> Path | None:
        """The folder of raw files, in the root or else among earlier downloads; None if it must be downloaded."""
        return find_raw(Path(self.folder, "raw"), root)

    def load(self, root: str | os.PathLike[str] | None) -> Data:
        """The data set as a graph, with its public splits; nothing is written outside the cache folder."""
        raw = self.raw(root)
        for name in self.raw_files:
            if self.class_name == "Planetoid" and not name.endswith(".index"):
                check_pickle(raw / name)
        with damage_is_said(self.key, raw):
            data = self.processed(raw, [raw / name for name in self.raw_files])[0]
        return build_graph(data.x, data.edge_index, y=data.y, masks=given_masks(data.to_dict()), name=self.key)

    def raw(self, root: str | os.PathLike[str] | None) -> Path:
        """The folder of raw files, downloaded if need be."""
        raw = self.locate(root) or _download(self)
        require_files(self.key, raw, self.raw_files)  # torch_geometric would download them, into the user's folder
        return raw

    def processed(self, raw: Path, files: Sequence[Path]) -> Any:
        """The torch_geometric data set from the cache, made there first if it is new or a file of it has changed."""
        import torch_geometric

        def make(shadow: Path) -> None:
            (shadow / self.folder).mkdir(parents=True)
            try:
                (shadow / self.folder / "raw").symlink_to(raw.resolve(), target_is_directory=True)
            except OSError:  # a system without symbolic links
                shutil.copytree(raw, shadow / self.folder / "raw")
            self.open(shadow)

        return self.open(processed(self.key, files, f"torch_geometric {torch_geometric.__version__}", make))

    def open(self, root: Path, base: type | None = None) -> Any:
        """The torch_geometric data set under `root`, which torch_geometric writes into."""
        from torch_geometric import datasets

        kind: Any = base or getattr(datasets, self.class_name)
        with quiet():
            return kind(root=str(root / self.class_name), **self.options)


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
                f"or use the bundled {item.instead}."
            ) from error
    return raw


# All that arrays, CSR matrices and the dictionary of neighbours are made of, under old and new module names.
ALLOWED = {
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.multiarray", "scalar") for core in ("core", "_core")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("scipy.sparse.csr", "csr_matrix"),
    ("scipy.sparse._csr", "csr_matrix"),
    ("scipy.sparse._csr", "csr_array"),
    ("collections", "defaultdict"),
    ("__builtin__", "list"),
    ("builtins", "list"),
    ("_codecs", "encode"),
    ("copy_reg", "_reconstructor"),
    ("copyreg", "_reconstructor"),
    ("__builtin__", "object"),
    ("builtins", "object"),
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return super().find_class(module, name)


def check_pickle(path: Path) -> None:
    """Raises unless the pickle is made of arrays, sparse matrices and dictionaries alone."""
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy says that the old module name scipy.sparse.csr goes away
        try:
            _ArraysOnly(file, encoding="latin1").load()
        except Exception as error:  # a damaged pickle can raise nearly anything
            raise InputError(
                f"{path} is refused: a Planetoid file may hold arrays only, and it is damaged or holds more ({error}); "
                "fetch it again from a source you trust."
            ) from error
