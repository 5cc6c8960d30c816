"""Embeddings come back from every file format as they went in, each beside the id of its node or graph."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import IO, Any

import anndata
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
import torch

from sfa.errors import InputError
from sfa.export import WRITERS, check_export, write_embeddings

SUFFIXES = [".npz", ".parquet", ".csv", ".tsv", ".npy", ".pt", ".h5ad"]
Z = np.arange(6, dtype=np.float32).reshape(3, 2) / 3


def read_back(path: Path, item: str = "node") -> tuple[list[Any], np.ndarray]:
    """Ids and embeddings, by means that a user would take."""
    if path.suffix == ".h5ad":
        annotated = anndata.read_h5ad(path)
        assert annotated.obs.index.name == f"{item}_id"
        return annotated.obs_names.tolist(), annotated.X
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return file[f"{item}_ids"].tolist(), file["embeddings"]
    if path.suffix == ".pt":
        loaded = torch.load(path, weights_only=True)
        return list(loaded[f"{item}_ids"]), loaded["embeddings"].numpy()
    if path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path).to_pydict()
        ids = table.pop(f"{item}_id")
        return ids, np.array(list(table.values()), dtype=np.float32).T
    if path.suffix == ".npy":
        ids, empty = read_back(path.with_suffix(".ids.csv"), item)
        assert empty.shape == (len(ids), 0)
        return ids, np.load(path, allow_pickle=False)
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
    assert header == [f"{item}_id", *(f"z{i}" for i in range(len(header) - 1))]
    return [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=np.float32)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("ids", [[3, 1, 2], ["Zoë", 'a "quoted", comma', "07"], [2**40, 0, 5]], ids=str)
def test_round_trip(tmp_path: Path, suffix: str, ids: list[Any]) -> None:
    z = np.random.default_rng(0).normal(size=(3, 12)).astype(np.float32)
    z[0, 0], z[1, 1] = 1e-30, 1 / 3
    path = tmp_path / f"z{suffix}"
    write_embeddings(path, z, ids)
    read_ids, read_z = read_back(path)
    assert read_ids == ([str(one) for one in ids] if suffix in (".csv", ".tsv", ".npy", ".h5ad") else ids)
    assert read_z.dtype == np.float32
    np.testing.assert_array_equal(read_z, z)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_ids_of_mixed_kinds_are_told_apart(tmp_path: Path, suffix: str) -> None:
    """A NetworkX graph or a PyG Data may well call its nodes 0, 1 and "hub"."""
    path = tmp_path / f"z{suffix}"
    write_embeddings(path, np.ones((3, 2), dtype=np.float32), [0, 1, "hub"])
    assert [str(one) for one in read_back(path)[0]] == ["0", "1", "hub"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_embeddings_of_graphs(tmp_path: Path, suffix: str) -> None:
    """They have the ids of graphs, and none of nodes."""
    path, z = tmp_path / f"z{suffix}", np.arange(6, dtype=np.float32).reshape(3, 2)
    write_embeddings(path, z, ["a", "b", "c"], item="graph")
    ids, read_z = read_back(path, "graph")
    assert ids == ["a", "b", "c"]
    np.testing.assert_array_equal(read_z, z)
    assert b"node_id" not in path.read_bytes()


def test_every_suffix_is_tested() -> None:
    assert set(WRITERS) == set(SUFFIXES)


def test_a_failing_writer_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "z.npz"
    write_embeddings(path, np.ones((2, 2), dtype=np.float32), [0, 1])
    before = path.read_bytes()

    def fail(file: IO[bytes], *_: object) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(WRITERS, ".npz", fail)
    with pytest.raises(OSError, match="No space"):
        write_embeddings(path, np.zeros((2, 2), dtype=np.float32), [0, 1])
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("z.txt", "must end in .npz, .parquet, .csv, .tsv, .npy, .pt, .h5ad"),
        ("taken", "holds other files"),
        ("missing/z.npz", "does not exist"),
    ],
)
def test_a_path_that_cannot_be_used(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").touch()
    with pytest.raises(InputError, match=reason):
        check_export(tmp_path / name)


def test_a_path_without_a_suffix_is_a_folder_of_parquet_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    z, columns = np.arange(20, dtype=np.float32).reshape(5, 4), {"label": ["a", None, "b", "c", "d"]}
    monkeypatch.setattr("sfa.export.PART_BYTES", 32)  # two rows
    write_embeddings(tmp_path / "z", z, [5, 6, 7, 8, "hub"], columns=columns)
    assert sorted(file.name for file in (tmp_path / "z").iterdir()) == [f"part-0000{i}.parquet" for i in range(3)]
    frame = pd.read_parquet(tmp_path / "z")
    assert frame["node_id"].tolist() == ["5", "6", "7", "8", "hub"]
    assert np.array_equal(frame[["z0", "z1", "z2", "z3"]].to_numpy(), z)
    assert frame["label"].fillna("-").tolist() == ["a", "-", "b", "c", "d"]
    write_embeddings(tmp_path / "z", z[:2], range(2))  # in place of it
    assert pd.read_parquet(tmp_path / "z")["node_id"].tolist() == [0, 1]
    assert [file.name for file in tmp_path.iterdir()] == ["z"]


def test_a_path_may_be_text_and_ids_must_be_as_many(tmp_path: Path) -> None:
    write_embeddings(str(tmp_path / "z.npz"), np.ones((2, 3), np.float32), [7, 8])
    assert np.load(tmp_path / "z.npz")["node_ids"].tolist() == [7, 8]
    with pytest.raises(InputError, match="2 embeddings need as"):
        write_embeddings(tmp_path / "z.csv", np.ones((2, 3), np.float32), [7])
    with pytest.raises(InputError, match="2 embeddings need as"):
        write_embeddings(tmp_path / "z.csv", np.ones((2, 3), np.float32), [7, 8, 9], item="graph")


def test_a_column_of_lists_in_parquet(tmp_path: Path) -> None:
    """Of 32-bit floats, as they were; pandas reads an array a row."""
    write_embeddings(tmp_path / "z.parquet", Z, ["a", "b", "c"], layout="list", columns={"label": ["x", None, "y"]})
    schema = pyarrow.parquet.read_schema(tmp_path / "z.parquet")
    assert schema.names == ["node_id", "embedding", "label"]
    assert schema.field("embedding").type == pyarrow.list_(pyarrow.float32())
    frame = pd.read_parquet(tmp_path / "z.parquet").set_index("node_id")
    np.testing.assert_array_equal(np.stack(frame.embedding), Z)
    assert frame.loc["b", "label"] is None or pd.isna(frame.loc["b", "label"])
    assert frame.loc[["a", "c"], "label"].tolist() == ["x", "y"]


def test_a_column_of_lists_in_csv_is_what_neo4j_imports(tmp_path: Path) -> None:
    path = tmp_path / "z.csv"
    write_embeddings(path, Z, ['a "b"', "c,d", "e"], item="graph", layout="list", columns={"label": ["x", None, "y"]})
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["graph_id:ID", "embedding:float[]", "label"]
    assert [row[0] for row in rows] == ['a "b"', "c,d", "e"]
    assert [row[2] for row in rows] == ["x", "", "y"]
    np.testing.assert_array_equal(np.array([row[1].split(";") for row in rows], dtype=np.float32), Z)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_more_columns(tmp_path: Path, suffix: str) -> None:
    """Unknown is what each format has for it."""
    path, columns = tmp_path / f"z{suffix}", {"label": ["x", None, "Zoë"], "part": ["test", "test", "train"]}
    write_embeddings(path, Z, [3, 1, 2], columns=columns)
    if suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name].tolist() for name in columns}
        assert found == {"label": ["x", "", "Zoë"], "part": columns["part"]}
        return
    if suffix == ".pt":
        loaded = torch.load(path, weights_only=True)
        assert {name: loaded[name] for name in columns} == columns
        return
    if suffix == ".h5ad":
        frame = anndata.read_h5ad(path).obs
        assert frame["label"].dtype == "category"
    else:
        separator = "\t" if suffix == ".tsv" else ","
        table = tmp_path / "z.ids.csv" if suffix == ".npy" else path
        frame = pd.read_parquet(path) if suffix == ".parquet" else pd.read_csv(table, sep=separator)
        features = [] if suffix == ".npy" else ["z0", "z1"]
        assert list(frame.columns) == ["node_id", *features, "label", "part"]
    assert frame["label"].isna().tolist() == [False, True, False]
    assert frame["label"].astype(object).tolist()[::2] == ["x", "Zoë"]
    assert frame["part"].astype(object).tolist() == columns["part"]


def test_anndata_knows_where_it_comes_from(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "z.h5ad", Z, [3, 1, 2], about={"method": "grace + sfa", "recipe": "method: grace"})
    read = anndata.read_h5ad(tmp_path / "z.h5ad")
    assert read.uns["sfa"] == {"method": "grace + sfa", "recipe": "method: grace"}
    assert read.var_names.tolist() == ["z0", "z1"]


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("z.npz", {"layout": "list"}, "is for tables, .parquet, .csv, .tsv, and not for .*z.npz"),
        ("z.h5ad", {"layout": "list"}, "is for tables"),
        ("z.csv", {"layout": "rows"}, "The layout is columns or list, not 'rows'"),
        ("z.csv", {"columns": {"label": ["x"]}}, "3 embeddings need as many values of label, not 1"),
        ("z.csv", {"columns": {"z1": ["x"] * 3}}, "cannot be called z1"),
        ("z.csv", {"columns": {"node_id": ["x"] * 3}}, "cannot be called node_id"),
        ("z.npz", {"columns": {"embeddings": ["x"] * 3}}, "cannot be called embeddings"),
        ("z.pt", {"columns": {"node_ids": ["x"] * 3}}, "cannot be called node_ids"),
        ("z.npz", {"columns": {"graph_ids": ["x"] * 3}, "item": "graph"}, "cannot be called graph_ids"),
        ("z.parquet", {"columns": {"embedding": ["x"] * 3}, "layout": "list"}, "cannot be called embedding"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, name: str, given: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        write_embeddings(tmp_path / name, Z, [3, 1, 2], **given)
    assert list(tmp_path.iterdir()) == []


def test_anndata_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(InputError, match=r"`anndata`: pip install 'sfa\[anndata\]'."):
        check_export(tmp_path / "z.h5ad")
    check_export(tmp_path / "z.csv")
