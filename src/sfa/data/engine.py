"""DuckDB, as far as tables are joined and sorted by it."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch

from sfa.data.readers.tables import TextTable
from sfa.data.write_store import ROWS, StoreError
from sfa.errors import InputError, shortened

SAMPLE = 10_000  # rows by which the header and the columns of a table are found
Counting = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]


class Engine:
    """DuckDB with limited memory and its files in a folder, and in it the numbered nodes."""

    def __init__(self, scratch: Path, memory: str, counting: Counting) -> None:
        import duckdb

        self.scratch, self.memory, self.counting, self.error = scratch, memory, counting, duckdb.Error
        options = {"temp_directory": scratch / "spilled", "threads": torch.get_num_threads(), "memory_limit": memory}
        config: dict[str, Any] = {key: str(value) for key, value in options.items()} | {
            "preserve_insertion_order": "false"
        }
        try:
            self.connection = duckdb.connect(str(scratch / "tables.duckdb"), config=config)
        except duckdb.Error as error:
            raise InputError(f"The memory is a size such as 2GB, not {memory!r}.") from error
        self.connection.execute("SET enable_progress_bar = true")  # or nothing is known of it
        self.connection.execute("SET enable_progress_bar_print = false")

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(self, query: str, *values: Any) -> Any:
        """Return the first row of the answer, None if there is none."""
        return self.connection.execute(query, list(values)).fetchone()

    def all(self, query: str) -> list[Any]:
        """Return all rows of the answer."""
        rows: list[Any] = self.connection.execute(query).fetchall()
        return rows

    def run(self, statement: str, count: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Run a long statement, and show its progress; an interrupt ends it."""
        failed: list[BaseException] = []

        def work() -> None:
            try:
                self.connection.execute(statement)
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.2)
                count(max(0, int(self.connection.query_progress())), 100)
        except BaseException:
            self.connection.interrupt()
            thread.join()
            raise
        count(100, 100)
        if failed:
            raise failed[0]

    @contextmanager
    def explained(self, what: object) -> Iterator[None]:
        """Turn an error of DuckDB into one sentence about what was read or written."""
        try:
            yield
        except self.error as error:
            reason = shortened(" ".join(str(error).splitlines()[:3]))
            if "No space left" in str(error) or "max_temp_directory_size" in str(error):
                raise StoreError(f"Cannot write {what}: no space left on the disk ({reason}).") from error
            if type(error).__name__ == "OutOfMemoryException":
                raise InputError(f"{what} needs more than {self.memory} of memory: give more by --memory.") from error
            raise InputError(f"{what} cannot be read, it may be damaged or of another format: {reason}.") from error

    def number_nodes(self, path: Path) -> None:
        """Make the table of nodes of a Parquet file of ids, which are texts; see what kind of ids they are."""
        rows = f"read_parquet({quote(path)}, file_row_number = true)"
        are_integers = "bool_and(coalesce(TRY_CAST(id AS BIGINT)::VARCHAR = id, false))"
        self.num_nodes, self.are_integers, self.is_counted = self.ask(
            f"SELECT count(*), {are_integers}, bool_and(id = file_row_number::VARCHAR) FROM {rows}"
        )
        if self.num_nodes < 2:
            raise InputError(f"The features have {self.num_nodes} row; at least 2 nodes are needed.")
        own = "id::BIGINT" if self.are_integers else "id"
        self.run(f"CREATE TABLE nodes AS SELECT {own} AS id, file_row_number AS node FROM {rows}")
        twice = None if self.is_counted else self.ask("SELECT id FROM nodes GROUP BY id HAVING count(*) > 1 LIMIT 1")
        if twice:
            raise InputError(f"The features have the node id {str(twice[0])!r} more than once; ids must be unique.")

    def key(self, text: str) -> str:
        """Return the id, as the nodes have them, of an expression of text."""
        number = f"TRY_CAST({text} AS BIGINT)"
        return f"CASE WHEN {number}::VARCHAR = {text} THEN {number} END" if self.are_integers else text

    def known(self, texts: Iterable[str]) -> set[str]:
        """Return those of some texts that are ids."""
        return {text for text in texts if self.ask("SELECT 1 FROM nodes WHERE id::VARCHAR = ? LIMIT 1", text)}

    def with_nodes(self, query: str, *ids: str) -> str:
        """Return a query that adds to another the node, None if unknown, of each of these columns of ids."""
        if self.is_counted:
            last = self.num_nodes - 1
            nodes = ", ".join(f"CASE WHEN {one} BETWEEN 0 AND {last} THEN {one} END AS {one}_node" for one in ids)
            return f"SELECT *, {nodes} FROM ({query})"
        nodes = ", ".join(f"{one}_nodes.node AS {one}_node" for one in ids)
        joins = " ".join(f"LEFT JOIN nodes {one}_nodes ON {one}_nodes.id = given.{one}" for one in ids)
        return f"SELECT given.*, {nodes} FROM ({query}) given {joins}"


def quote(text: object) -> str:
    """Return a text as SQL writes it."""
    return "'" + str(text).replace("'", "''") + "'"


def cells_of(table: TextTable, skip: int) -> tuple[str, list[str]]:
    """Return what DuckDB reads a text table from, and the expressions of its cells, which are stripped texts."""
    width, separator = len(table.first_row), table.separator or "\x01"  # a sign that no line has
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width if table.separator else 1))
    quotes = "quote = '\"', escape = '\"'" if table.separator else "quote = '', escape = ''"
    layout = f"delim = {quote(separator)}, skip = {table.skip + skip}, columns = {{{columns}}}, {quotes}"
    rows = f"read_csv({quote(table.path)}, auto_detect = false, strict_mode = false, header = false, {layout})"
    if table.separator:
        return rows, [stripped(f"c{i}") for i in range(width)]
    cells = f"SELECT string_split_regex({stripped('c0')}, '\\s+') AS cells FROM {rows} WHERE {stripped('c0')} <> ''"
    return f"({cells})", [f"CASE WHEN len(cells) = {width} THEN cells[{i + 1}] ELSE '' END" for i in range(width)]


def stripped(cell: str) -> str:
    """Return the expression of a cell's text without white space around it, empty if there is none."""
    return f"coalesce(trim({cell}::VARCHAR, ' \t\r\n'), '')"


def batches(path: Path) -> Iterator[Any]:
    """Yield the record batches of a Parquet file."""
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(ROWS)
