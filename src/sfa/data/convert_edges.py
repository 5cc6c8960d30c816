"""Convert tables of edges to the compressed rows of a store, by the rules of the reader of edge lists."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sfa.data.downloads import explain_damage
from sfa.data.engine import SAMPLE, Engine, batches, cells_of, quote, stripped
from sfa.data.readers.edge_list import EdgeColumns, find_columns, say_lost, split_header
from sfa.data.readers.tables import TextTable
from sfa.data.write_store import NpyWriter
from sfa.errors import InputError


class _Edges(NamedTuple):
    """A table of edges as DuckDB reads it: expressions of texts, of keys as the nodes have them, and what is read."""

    path: Path
    rows: str
    texts: list[str]
    keys: list[str]
    weight: str | None
    called: list[str]

    def query(self, *more: str) -> str:
        source, target = self.keys
        weight = "NULL::FLOAT" if self.weight is None else f"TRY_CAST(TRY_CAST({self.weight} AS DOUBLE) AS FLOAT)"
        parts = f"{source} AS source, {target} AS target, {weight} AS weight"
        return f"SELECT {', '.join([parts, *more])} FROM {self.rows}"


def _find_edges(engine: Engine, path: Path, asked: EdgeColumns) -> _Edges:
    """Find the columns of a table of edges by its first rows, as the reader of edge lists does by all."""
    with explain_damage(path):
        if path.suffix.lower() == ".parquet":
            with pq.ParquetFile(path) as file:
                schema, part = file.schema_arrow, next(file.iter_batches(SAMPLE), None)
            names, width = schema.names, len(schema.names)
            rows = pd.DataFrame() if part is None else part.to_pandas().astype(str)
            rows, sql = rows.set_axis(range(rows.shape[1]), axis=1), f"read_parquet({quote(path)})"
            cells = ['"' + name.replace('"', '""') + '"' for name in names]
            are_integers = [pa.types.is_integer(kind) for kind in schema.types]
        else:
            table = TextTable(path, in_parts=True)
            frame, width = table.read_text(SAMPLE), len(table.first_row)
            names, rows = split_header(frame, engine.known(frame.iloc[0, :2].tolist()), asked, path)
            sql, cells = cells_of(table, int(bool(names)))
            are_integers = [False] * width
        source, target, weight = find_columns(names, rows, asked, path)
    called = names or [f"column {i + 1}" for i in range(width)]
    texts, keys = [], []
    for end, unnamed in ((source, "source"), (target, "target")):
        text = stripped(cells[end])
        if asked.bipartite:
            kind = quote(f"{names[end] if names else unnamed}:")
            text = f"CASE WHEN {text} <> '' THEN {kind} || {text} ELSE '' END"
        is_key = are_integers[end] and engine.are_integers and not asked.bipartite
        texts.append(text)
        keys.append(f"{cells[end]}::BIGINT" if is_key else engine.key(text))
    used = [source, target, *([] if weight is None else [weight])]
    return _Edges(path, sql, texts, keys, None if weight is None else cells[weight], [called[i] for i in used])


def write_edges(engine: Engine, paths: Sequence[Path], asked: EdgeColumns, folder: Path) -> str:
    """Write the rows of the adjacency matrix, and return what was read in a few words."""
    tables = [_find_edges(engine, path, asked) for path in paths]
    is_weighted = tables[0].weight is not None
    for table in tables:
        if (table.weight is not None) != is_weighted:
            has = f"has {'no ' * is_weighted}weights, unlike {paths[0]}"
            raise InputError(f"{table.path} {has}: name their column by --weight.")
    engine.run("CREATE TABLE given (source BIGINT, target BIGINT, weight FLOAT)")
    for number, table in enumerate(tables):
        title = "reading edges" if len(tables) == 1 else f"reading edges, file {number + 1} of {len(tables)}"
        with engine.counting(title) as count, engine.explained(table.path):
            nodes = engine.with_nodes(table.query(), "source", "target")
            engine.run(f"INSERT INTO given SELECT source_node, target_node, weight FROM ({nodes})", count)
    wrong = "source IS NULL OR target IS NULL"
    wrong += " OR NOT coalesce(weight >= 0 AND isfinite(weight), false)" if is_weighted else ""
    if engine.ask(f"SELECT 1 FROM given WHERE {wrong} LIMIT 1"):
        raise _wrong_edge(engine, tables)
    zero = "count(*) FILTER (source <> target AND weight = 0)"
    total, loops, zero = engine.ask(f"SELECT count(*), count(*) FILTER (source = target), {zero} FROM given")
    with engine.counting("sorting edges") as count:
        pair = "least(source, target) AS low, greatest(source, target) AS high"
        mean = "avg(weight::DOUBLE)::FLOAT" if is_weighted else "1::FLOAT"
        kept = "source <> target AND weight IS DISTINCT FROM 0"
        engine.run(f"CREATE TABLE pairs AS SELECT {pair}, {mean} AS weight FROM given WHERE {kept} GROUP BY ALL", count)
    engine.run("DROP TABLE given")
    num_pairs, low, high = engine.ask("SELECT count(*), min(weight), max(weight) FROM pairs")
    if not num_pairs:
        raise InputError("The graph has no edges; at least one edge between two different nodes is needed.")
    is_weighted = is_weighted and (low, high) != (1, 1)
    with engine.counting("sorting both directions") as count:
        weight = ", weight" if is_weighted else ""
        both = f"SELECT low AS r, high AS c{weight} FROM pairs UNION ALL SELECT high, low{weight} FROM pairs"
        engine.run(f"COPY ({both} ORDER BY r, c) TO {quote(engine.scratch / 'sorted.parquet')} (FORMAT parquet)", count)
    engine.run("DROP TABLE pairs")
    with engine.counting("writing edges") as count:
        isolated = _write_rows(engine, folder, 2 * num_pairs, is_weighted, count)
    lost = say_lost(total - loops - zero - num_pairs, loops, zero)
    ends, *weights = tables[0].called[:2], *tables[0].called[2:]
    read = " -> ".join(ends) + "".join(f", weights from {name!r}" for name in weights)
    return f"{total} edges {read}; undirected{lost}, {isolated} isolated"


def _wrong_edge(engine: Engine, tables: Sequence[_Edges]) -> InputError:
    """Return the error about the first edge that is found to have no source, no known node, or no sound weight."""
    for table in tables:
        texts = [f"{text} AS {end}_text" for text, end in zip(table.texts, ("source", "target"), strict=True)]
        texts.append(f"{'NULL' if table.weight is None else table.weight}::VARCHAR AS weight_text")
        nodes = engine.with_nodes(table.query(*texts), "source", "target")
        wrong = "source_node IS NULL OR target_node IS NULL"
        wrong += " OR NOT coalesce(weight >= 0 AND isfinite(weight), false)" if table.weight else ""
        columns = "source_text, target_text, source_node, target_node, weight_text"
        found = engine.ask(f"SELECT {columns} FROM ({nodes}) WHERE {wrong} LIMIT 1")
        if found is None:
            continue
        source, target, *known, weight = found
        edge = f"{table.path} has an edge {source!r} - {target!r}"
        if "" in (source, target):
            return InputError(f"{edge}, without a source or a target; fill or remove such rows.")
        if None in known:
            strange = (source, target)[known.index(None)]
            return InputError(
                f"{edge}, but the features have no node {strange!r} (they have {engine.num_nodes}); if it is the "
                "header, call its columns source and target."
            )
        return InputError(f"{edge} of the weight {weight!r}; weights are numbers, finite and not negative.")
    return InputError("The edges have changed while they were read.")


def _write_rows(
    engine: Engine, folder: Path, entries: int, is_weighted: bool, count: Callable[[int, int], None]
) -> int:
    """Write the sorted entries as compressed rows, and return how many rows are empty."""
    done = row = filled = 0  # entries that are written; rows whose pointers are; rows with an entry
    with ExitStack() as stack:
        parts = {"indptr": np.int64, "indices": np.int64} | ({"weights": np.float32} if is_weighted else {})
        files = {name: stack.enter_context(NpyWriter(folder / f"{name}.npy", kind)) for name, kind in parts.items()}
        for batch in batches(engine.scratch / "sorted.parquet"):
            rows = batch["r"].to_numpy()
            files["indptr"].append(done + np.searchsorted(rows, np.arange(row, rows[-1] + 1)))
            files["indices"].append(batch["c"].to_numpy())
            if is_weighted:
                files["weights"].append(batch["weight"].to_numpy())
            filled += int((np.diff(rows, prepend=row - 1) > 0).sum())
            row, done = int(rows[-1]) + 1, done + len(rows)
            count(done, entries)
        files["indptr"].append(np.full(engine.num_nodes + 1 - row, done))
    return int(engine.num_nodes - filled)
