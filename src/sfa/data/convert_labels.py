"""Convert tables of labels, of any length, to the labels of a store."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch_geometric.data import Data

from sfa.data.downloads import explain_damage
from sfa.data.engine import SAMPLE, Engine, batches, cells_of, quote, stripped
from sfa.data.labels import UNKNOWN, set_labels
from sfa.data.readers.tables import TextTable, is_label_header, parse_labels
from sfa.data.write_store import NpyWriter
from sfa.errors import InputError

CLASSES = 1 << 20  # different labels, at most


def write_labels(engine: Engine, path: Path | None, folder: Path) -> dict[str, Any]:
    """Write the labels of the nodes, if any is known, and return the names of their classes, if they have some."""
    if path is None:
        nodes = quote(engine.scratch / "nodes.parquet")
        rows = f"read_parquet({nodes}, file_row_number = true)"
        engine.run(f"CREATE TABLE labels AS SELECT file_row_number AS node, label FROM {rows}")
    else:
        with explain_damage(path), engine.explained(path):
            table = TextTable(path, in_parts=True)
            frame = table.read_text(SAMPLE)
            if frame.shape[1] - (frame.iloc[0, 0] == "") != 2:
                raise InputError(
                    f"{path} has {frame.shape[1]} columns; a label file has two, the node id and its label."
                )
            named, texts = (frame[column].tolist() for column in frame.columns[-2:])
            rows, cells = cells_of(table, int(is_label_header(named, texts, engine.known(named[:1]))))
            text, label = map(stripped, cells[-2:])
            query = f"SELECT {engine.key(text)} AS one, {text} AS text, {label} AS label FROM {rows}"
            engine.run(
                f"CREATE TABLE labels AS SELECT one_node AS node, text, label FROM ({engine.with_nodes(query, 'one')})"
            )
        if found := engine.ask("SELECT text FROM labels WHERE node IS NULL LIMIT 1"):
            raise InputError(f"{path} labels the node {found[0]!r}, which the graph does not have.")
        if found := engine.ask("SELECT any_value(text) FROM labels GROUP BY node HAVING count(*) > 1 LIMIT 1"):
            raise InputError(f"{path} labels the node {found[0]!r} more than once.")
    distinct = [row[0] for row in engine.all(f"SELECT DISTINCT label FROM labels LIMIT {CLASSES + 1}")]
    if len(distinct) > CLASSES:
        raise InputError(f"There are more than {CLASSES} different labels; a store takes no more.")
    are_texts, codes = any(isinstance(one, str) for one in distinct), Data()
    values = np.empty(len(distinct), dtype=object)
    values[:] = parse_labels(distinct) if are_texts else distinct
    set_labels(codes, values, len(values), None)
    if codes.get("y") is None:
        return {}
    y, unknown = codes.y.numpy(), UNKNOWN if codes.y.dtype == torch.int64 else "'nan'::DOUBLE"
    pq.write_table(pa.table({"label": distinct, "y": y}), engine.scratch / "codes.parquet")
    joined = f"labels JOIN read_parquet({quote(engine.scratch / 'codes.parquet')}) USING (label)"
    every = f"SELECT coalesce(y, {unknown}) AS y FROM nodes LEFT JOIN (SELECT node, y FROM {joined}) USING (node)"
    with engine.counting("writing labels") as count:
        engine.run(f"COPY ({every} ORDER BY node) TO {quote(engine.scratch / 'y.parquet')} (FORMAT parquet)", count)
    with NpyWriter(folder / "y.npy", y.dtype) as writer:
        for batch in batches(engine.scratch / "y.parquet"):
            writer.append(batch["y"].to_numpy())
    return {"class_names": codes.class_names} if "class_names" in codes else {}
