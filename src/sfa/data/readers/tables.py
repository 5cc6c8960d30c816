"""Read tables: edge lists (source, target, perhaps weight), features of nodes, and labels (id, label)."""

import csv
import math
import os
import warnings
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.downloads import explain_damage
from sfa.data.encode import MISSING, Encode, encode_frame
from sfa.data.labels import is_unknown
from sfa.data.readers.image_file import SUFFIXES as IMAGE_SUFFIXES
from sfa.errors import InputError
from sfa.folders import require_regular_file
from sfa.memory import memory_bytes, require_memory
from sfa.tasks import Task

ID_NAMES = ("", "id", "node", "node_id", "nodeid", "name", "index")
LABEL_NAMES = ("label", "labels", "y", "class", "subject")
SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".npy")


class TextTable:
    """A text table, of which only the first row that is no comment (`#`, `%`) is read, to tell the separator.

    One that is too large for the memory is refused, unless it will be read ``in_parts``.
    """

    def __init__(self, path: Path, *, in_parts: bool = False) -> None:
        self.path = path
        require_regular_file(path, max_bytes=None if in_parts else memory_bytes())
        self.num_lines = 0
        with path.open("rb") as content:
            for part in iter(lambda: content.read(1 << 20), b""):
                self.num_lines += part.count(b"\n")
                if b"\0" in part:
                    raise InputError(f"{path} is no text in UTF-8, for it has zero bytes in it; save it as such.")
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file):
                if line.strip() and line.lstrip()[0] not in "#%":
                    found = next((sign for sign in ",\t;" if sign in line), None)  # spreadsheets use any
                    self.separator = "\t" if path.suffix.lower() == ".tsv" else found
                    self.skip, self.first_row = number, self._cells(line)
                    return
        raise InputError(f"{path} has no rows.")

    def read(self, **options: Any) -> Any:
        """Return a data frame with the columns 0, 1, …; `options` are those of `pandas.read_csv`."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # cells would be dropped
            try:
                layout = {"sep": self.separator or r"\s+", "skiprows": self.skip, "skipinitialspace": True}
                cells = {"names": list(range(len(self.first_row))), "index_col": False, "keep_default_na": False}
                return pd.read_csv(self.path, encoding="utf-8-sig", **layout, **cells, **options)
            except (pd.errors.ParserError, pd.errors.ParserWarning):
                self._check_widths()
                raise

    def read_text(self, rows: int | None = None) -> Any:
        """Return the data frame of the stripped texts of all or the first rows, the first of which may be a header."""
        frame = self.read(header=None, dtype=str, nrows=rows)
        if (frame.iloc[:, -1] == "").any():  # or there are too few cells in a row
            self._check_widths()
        return frame.apply(lambda column: column.str.strip())

    def _check_widths(self) -> None:
        with self.path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                width, first = len(self._cells(line)), len(self.first_row)
                if number > self.skip and line.strip() and width != first:
                    raise InputError(f"{self.path} has {width} columns in line {number}, but {first} in its first row.")

    def _cells(self, line: str) -> list[str]:
        text = line.rstrip("\r\n") if self.separator else " ".join(line.split())
        return [cell.strip() for cell in next(csv.reader([text], delimiter=self.separator or " "), [])]


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def parse_ids(texts: Iterable[object]) -> list[int] | list[str]:
    """Return ids as integers if every one is written like an integer ("7", not "07"), otherwise as text."""
    ids = [str(text).strip() for text in texts]
    try:
        numbers = [int(one) for one in ids]
    except ValueError:
        return ids
    fit = all(-(2**63) <= number < 2**63 for number in numbers)  # a longer one would not go into any table of numbers
    return numbers if fit and list(map(str, numbers)) == ids else ids


def parse_labels(texts: list[str]) -> Sequence[float | str | None]:
    """Return labels as integers if all known ones are written like integers, otherwise as text; None if unknown.

    Numbers of which some is not whole are floats, NaN if unknown.
    """
    with suppress(ValueError):
        numbers = [math.nan if text.strip() in MISSING else float(text) for text in texts]
        if any(number % 1 > 0 for number in numbers):
            return numbers
    known: Iterator[int | str] = iter(parse_ids(text for text in texts if not is_unknown(text)))
    return [None if is_unknown(text) else next(known) for text in texts]


def read_labels(path: Path, ids: Sequence[Any], item: Task = "node") -> NDArray[Any]:
    """Return the label of each item by a table (id, label), None if not listed; images may be listed without suffix."""
    return place_labels(*read_pairs(path, [str(one) for one in ids], item), ids, item, str(path))


def place_labels(named: Sequence[str], texts: Sequence[str], ids: Sequence[Any], item: Task, what: str) -> NDArray[Any]:
    """Return the label of each item by pairs of ids and labels."""
    position: dict[str, int] = {str(one): i for i, one in enumerate(ids)}
    files = [(*os.path.splitext(one), i) for one, i in position.items() if item == "image"]
    stems = Counter(stem for stem, suffix, _ in files if suffix.lower() in IMAGE_SUFFIXES)
    by_stem = {stem: i for stem, suffix, i in files if suffix.lower() in IMAGE_SUFFIXES and stems[stem] == 1}
    labels = np.full(len(ids), None, dtype=object)
    seen: set[int] = set()
    for one, label in zip(named, parse_labels(list(texts)), strict=True):
        place = position.get(one, by_stem.get(one))
        if place is None:
            holder = "the graph" if item == "node" else "the set"
            hint = f"; ids are names of files such as {ids[0]}" if stems else ""
            raise InputError(f"{what} labels the {item} {one!r}, which {holder} does not have{hint}.")
        if place in seen:
            raise InputError(f"{what} labels the {item} {str(ids[place])!r} more than once.")
        seen.add(place)
        labels[place] = label
    return labels


def read_pairs(path: Path, known: Container[str] = (), item: Task = "node") -> tuple[list[str], list[str]]:
    """Return the columns of a table (id, label) without its header, which begins with no known id.

    The first row is one if its cells are called so, or if its label is no other row's while the others repeat.
    """
    with explain_damage(path):
        frame = TextTable(path).read_text()
    if frame.shape[1] == 3 and frame.iloc[0, 0] == "":  # the index that pandas writes
        frame = frame.iloc[:, 1:]
    if frame.shape[1] != 2:
        raise InputError(f"{path} has {frame.shape[1]} columns; a label file has two, the {item} id and its label.")
    named, texts = (frame[column].tolist() for column in frame)
    start = int(is_label_header(named, texts, known))
    return named[start:], texts[start:]


def is_label_header(named: list[str], texts: list[str], known: Container[str]) -> bool:
    """Tell whether the first row of a table (id, label) is a header, see `read_pairs`."""
    has_header = named[0].lower() in ID_NAMES or texts[0].lower() in LABEL_NAMES
    repeat = 2 * len(set(texts[1:])) < len(texts) and texts[0] not in texts[1:] and not is_number(texts[0])
    return (has_header or repeat) and named[0] not in known


def read_features(path: Path, encode: Encode = None) -> Data:
    """Read `x`, `node_ids` and `y`: the first column is the node's id, one may be called `label`, others are encoded.

    For `encode` see `encode_frame`.
    A `.npy` is numbers only, row i for node i. It is mapped, and must not change while in use. No object is unpickled.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"Features cannot be read from {path}: its suffix must be one of {', '.join(SUFFIXES)}.")
    with explain_damage(path):
        if suffix == ".npy":
            table = Data(x=np.lib.format.open_memmap(path, mode="r"))
        else:
            table = parse_frame(next(read_frames(path)), path, encode)
    if table.x.ndim != 2 or len(table.x) == 0:
        raise InputError(f"{path} holds features of shape {list(table.x.shape)}, but [nodes, features] is needed.")
    return table


def read_frames(path: Path, rows: int | None = None) -> Iterator[Any]:
    """Yield the table, in parts of so many rows, with its ids and labels as text, so that "007" and "NA" stay."""
    if path.suffix.lower() == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        file = pq.ParquetFile(path)
        if rows is None:
            require_memory(8 * file.metadata.num_rows * file.metadata.num_columns, f"The table {path}")
        parts = (pa.Table.from_batches([part]).to_pandas() for part in file.iter_batches(rows or 1))
        for frame in [pd.read_parquet(path)] if rows is None else parts:
            is_plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
            yield frame if is_plain else frame.reset_index()  # an index that was set is the node id
        return
    table = TextTable(path, in_parts=rows is not None)
    names = table.first_row
    counted = [str(i) for i in range(len(names) - 1)]  # how pandas heads columns that have no names
    has_header = (
        names[0].lower() in ID_NAMES
        or (not is_number(names[0]) and names[1:] == counted)
        or not all(is_number(cell or "nan") for cell in names[1:])
    )
    texts: set[Any] = {0, label_column(names) if has_header else None} - {None}
    missing = {column: MISSING for column in range(len(names)) if column not in texts}
    options = {"header": 0 if has_header else None, "dtype": dict.fromkeys(texts, str), "na_values": missing}
    with nullcontext([table.read(**options)]) if rows is None else table.read(**options, chunksize=rows) as frames:
        for frame in frames:
            frame[0] = frame[0].str.strip()
            frame.columns = pd.Index(names if has_header else frame.columns.map(str))
            yield frame


def parse_frame(frame: Any, path: Path | str, encode: Encode) -> Data:
    """Return `x`, `node_ids` and `y` of a data frame as `read_features` does those of a file; errors name its path."""
    names = [str(name) for name in frame.columns]
    if frame.empty:
        raise InputError(f"{path} has no rows; it needs one a node, first the node id, then numbers.")
    if isinstance(encode, Mapping) and names[0] in encode:  # as in training, where another column had the ids
        own = next((i for i, name in enumerate(names) if name not in encode and name.lower() != "label"), 0)
        frame = frame.iloc[:, [own, *(i for i in range(len(names)) if i != own)]]
        names = [str(name) for name in frame.columns]
    label = label_column(names)
    columns = [i for i in range(1, len(names)) if i != label]
    ids = frame.iloc[:, 0]
    if pd.api.types.is_float_dtype(ids.dtype) and (ids % 1 == 0).all():  # as after a missing cell
        ids = ids.astype(np.int64)
    if ids.isna().any() or pd.api.types.is_float_dtype(ids.dtype):
        raise InputError(f"{path} has node ids in its first column {names[0]!r} that are missing or not whole numbers.")
    repeated = ids[ids.astype(str).duplicated()].tolist()
    if repeated:
        raise InputError(f"{path} has the node id {str(repeated[0])!r} more than once; ids must be unique.")
    x, encoding, note = encode_frame(frame.iloc[:, columns].set_axis(ids), encode, str(path))
    table = Data(x=x, node_ids=parse_ids(ids), encoding=encoding, features_note=note)
    if label is not None:
        labels = frame.iloc[:, label]
        if not pd.api.types.is_numeric_dtype(labels.dtype):
            labels = pd.Series(parse_labels(["" if pd.isna(one) else str(one).strip() for one in labels]), dtype=object)
        table.y = labels.to_numpy(dtype=object)
    return table


def label_column(names: list[str]) -> int | None:
    return next((i for i, name in enumerate(names) if i > 0 and name.strip().lower() == "label"), None)
