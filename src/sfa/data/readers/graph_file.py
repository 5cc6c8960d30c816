"""One file -> its parts: the reader is chosen by suffix, and what it cannot read is said in a sentence."""

from __future__ import annotations

import csv
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from xml.etree.ElementTree import ParseError

from sfa.data.readers.edge_list import read_bare_edge_list, read_edge_list
from sfa.data.readers.features import FeatureTable
from sfa.data.readers.join import labelled_nodes
from sfa.data.readers.networkx_files import read_networkx
from sfa.data.readers.npz import read_npz
from sfa.data.readers.tables import Parts
from sfa.data.readers.torch_file import read_torch
from sfa.data.structural import OR_MAKE_THEM
from sfa.errors import InputError

SUFFIXES = (".npz", ".csv", ".tsv", ".txt", ".pt", ".gml", ".graphml")
# What NumPy, SciPy, pandas, torch, NetworkX and the XML parser raise on damaged files.
UNREADABLE = (OSError, ValueError, LookupError, TypeError, EOFError, RuntimeError, MemoryError, OverflowError)
DAMAGED = (*UNREADABLE, csv.Error, zipfile.BadZipFile, zlib.error, ParseError, struct.error)

PathLike = str | os.PathLike[str]
T = TypeVar("T")


def read_parts(path: Path, table: FeatureTable | None, labels: Path | None, node_features: str | None) -> Parts:
    """The parts of a graph file; an edge list takes its nodes from the features, or from itself and the labels."""
    match path.suffix.lower():
        case ".npz":
            return read_npz(path)
        case ".pt":
            return read_torch(path)
        case ".gml" | ".graphml":
            return read_networkx(path)
    if table is not None:
        return read_edge_list(path, table)
    if node_features is not None:
        return read_bare_edge_list(path, () if labels is None else reading(labels, labelled_nodes))
    raise InputError(
        f"{path} is an edge list, which has no node features; give them as well with features=FILE (--features FILE), "
        f"a .csv or .parquet (first column the node id) or a .npy (row i for node i), {OR_MAKE_THEM}."
    )


def reading(path: Path, read: Callable[[Path], T]) -> T:
    """What is read from a file, or a sentence on why it cannot be."""
    try:
        return read(path)
    except InputError:
        raise
    except DAMAGED as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"{path} cannot be read, it may be damaged or of another format: {reason}.") from error


def existing(path: PathLike, kind: str, *, or_folder: bool = False) -> Path:
    """The path of an ordinary file (or perhaps a folder) that is there."""
    full = Path(path).expanduser()
    try:
        if full.is_dir():
            if or_folder:
                return full
            raise InputError(f"The {kind} file {full} is a folder; give a file in it.")
        if not full.exists():
            raise InputError(
                f"There is no file or folder {full}." if or_folder else f"The {kind} file {full} does not exist."
            )
        if not full.is_file():  # a pipe or a device can be read once, or for ever
            raise InputError(f"The {kind} file {full} is no ordinary file; save it to one first.")
    except OSError as error:
        raise InputError(f"The {kind} file {full} cannot be read: {error.strerror or error}.") from error
    return full
