"""The data sets that torch_geometric reads: found in the user's root or the cache, processed only ever in the cache."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from sfa.data.graph import build_graph
from sfa.data.roots import VARIABLE, cache_folder, data_root, writable_cache
from sfa.data.safe_pickle import check_pickle
from sfa.errors import InputError


@dataclass(frozen=True)
class PygSet:
    """One data set of torch_geometric: its class, its name there (None for a class that is one set), its raw files."""

    key: str
    class_name: str
    pyg_name: str | None
    raw_files: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where it lies under a root: `Planetoid/CiteSeer`, `WikiCS`; the raw files are in `raw/` there."""
        return Path(self.class_name, self.pyg_name or "")

    def open(self, root: Path, base: type | None = None) -> Any:
        """The torch_geometric data set under `root`, which torch_geometric writes into."""
        from torch_geometric import datasets

        kind: Any = base or getattr(datasets, self.class_name)
        arguments = {"is_undirected": True} if self.pyg_name is None else {"name": self.pyg_name}
        with _quiet():
            return kind(root=str(root / self.class_name), **arguments)


def locate_raw(item: PygSet, root: str | os.PathLike[str] | None) -> Path | None:
    """The folder of raw files, in the root or else among earlier downloads; None if it must be downloaded."""
    for base in (data_root(root), cache_folder()):
        raw = base / item.folder / "raw"
        if raw.is_dir() and any(raw.iterdir()):
            return raw
    return None


def load_pyg(item: PygSet, root: str | os.PathLike[str] | None) -> Data:
    """The data set as a graph; nothing is written outside the cache folder."""
    raw = locate_raw(item, root) or _download(item)
    for name in item.raw_files:
        if not (raw / name).is_file():  # torch_geometric would download it, into the user's folder
            raise InputError(f"The folder {raw} has no file {name}; {item.key} needs {', '.join(item.raw_files)}.")
        if item.class_name == "Planetoid" and not name.endswith(".index"):
            check_pickle(raw / name)
    try:
        data = _process(item, raw)[0]
    except InputError:
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"The files of {item.key} in {raw} cannot be read, they may be damaged: {reason}.") from error
    return build_graph(data.x, data.edge_index, y=data.y, name=item.key)


def _process(item: PygSet, raw: Path) -> Any:
    """The processed data set from the cache, made there first if it is new or the raw files have changed.

    It is made in a temporary folder and then renamed, so that a crash or a second process never leaves half of one.
    """
    processed = writable_cache() / "processed" / _key(item, raw)
    if not processed.exists():
        processed.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=processed.parent, prefix="making-") as temporary:
            shadow = Path(temporary, "root")
            (shadow / item.folder).mkdir(parents=True)
            try:
                (shadow / item.folder / "raw").symlink_to(raw.resolve(), target_is_directory=True)
            except OSError:  # a system without symbolic links
                shutil.copytree(raw, shadow / item.folder / "raw")
            item.open(shadow)
            _move(shadow, processed)
    return item.open(processed)


def _key(item: PygSet, raw: Path) -> str:
    """A name that changes with the place, the size or the time of a raw file, and with torch_geometric's version."""
    import torch_geometric

    facts: list[object] = [torch_geometric.__version__, str(raw.resolve())]
    for name in item.raw_files:
        status = (raw / name).stat()
        facts += [name, status.st_size, status.st_mtime_ns]
    return f"{item.key}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"


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
            _move(Path(temporary) / item.folder / "raw", raw)
        except Exception as error:  # whatever the network raises
            raise InputError(
                f"{item.key} is not on this machine and could not be downloaded ({type(error).__name__}); give the "
                f"folder that holds {item.folder / 'raw'}/{item.raw_files[0]} with --data-root or {VARIABLE}, "
                "or use the bundled cora."
            ) from error
    return raw


def _move(source: Path, target: Path) -> None:
    """Renames a folder; if another process made the same one first, that one stays."""
    try:
        source.rename(target)
    except OSError:
        if not target.is_dir():
            raise


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without torch_geometric's "Processing..." and the warnings (and warning filters) of its readers."""
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
