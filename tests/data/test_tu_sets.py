"""TU Dortmund's sets: the bundled one, and others on small files of the same layout."""

from __future__ import annotations

import io
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import pytest
import torch
import torch_geometric.datasets
from torch_geometric.data import Data

from sfa.data import as_graphs, build_graphs, fingerprint, load, locate, remark
from sfa.errors import InputError

# Four graphs, the second and the last without edges. Edges are listed in one direction or both, one twice, with a loop.
EDGES = [(1, 2), (2, 1), (2, 3), (2, 3), (3, 3), (5, 6), (6, 5)]
GRAPHS = [1, 1, 1, 2, 3, 3, 4, 4]
ATOMS = [6, 7, 6, 8, 8, 6, 7, 6]
CHARGES = [(0.5, 1), (0, 0), (-1, 2), (3, 0), (0, 1), (2, 2), (1, 1), (0, 4)]
CLASSES = [-1, 1, 1, -1]
PTR = [0, 3, 4, 6, 8]


def write_tu(root: Path, name: str = "NCI1", **tables: list[Any] | None) -> Path:
    """The raw files, each a table of text; a table that is None is not written."""
    raw = root / "TUDataset" / name / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    given: dict[str, list[Any] | None] = {"A": EDGES, "graph_indicator": GRAPHS, "graph_labels": CLASSES}
    for table, rows in (given | tables).items():
        if rows is not None:
            lines = [", ".join(map(str, row)) if isinstance(row, tuple) else str(row) for row in rows]
            (raw / f"{name}_{table}.txt").write_text("\n".join(lines) + "\n")
    return raw


def wanted(x: Any) -> Data:
    return build_graphs(x, np.array(EDGES).T - 1, PTR, y=[0, 1, 1, 0])


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    return {str(p.relative_to(root)): (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(root.rglob("*"))}


FORMS: dict[str, tuple[dict[str, Any], Any]] = {
    "labels": ({"node_labels": ATOMS}, np.eye(3)[[0, 1, 0, 2, 2, 0, 1, 0]]),
    "attributes": ({"node_attributes": CHARGES}, np.array(CHARGES)),
    "one attribute": ({"node_attributes": [a for a, _ in CHARGES]}, np.array(CHARGES)[:, :1]),
    "both": ({"node_labels": ATOMS, "node_attributes": CHARGES}, np.eye(3)[[0, 1, 0, 2, 2, 0, 1, 0]]),
    "neither": ({}, None),
    "edge labels": ({"node_labels": ATOMS, "edge_labels": list(range(7))}, np.eye(3)[[0, 1, 0, 2, 2, 0, 1, 0]]),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_set_in_the_users_root_is_loaded_and_the_root_left_alone(
    form: str, tmp_path: Path, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tables, x = FORMS[form]
    raw = write_tu(tmp_path / "data", **tables)
    before = snapshot(tmp_path / "data")
    for _ in range(2):
        data = load("nci1", root=tmp_path / "data")
        assert fingerprint(data) == fingerprint(wanted(x))
        assert (data.name, data.graph_ids, data.ptr.tolist()) == ("nci1", [0, 1, 2, 3], PTR)
        made = "No node features in this set: degree features, 33 columns" if x is None else None
        assert remark(data) == made
    assert snapshot(tmp_path / "data") == before
    assert locate("nci1", tmp_path / "data") == raw
    assert not cache.exists()
    assert capfd.readouterr() == ("", "")


def test_it_is_what_torch_geometric_has(tmp_path: Path) -> None:
    """Where its own way of cutting the set into graphs holds: the last of them has edges."""
    for folder in ("data", "copy"):
        write_tu(tmp_path / folder, A=[*EDGES, (7, 8), (8, 7)], graph_labels=[5, 7, 5, 9], node_labels=ATOMS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about how it loads what it has saved
        theirs = torch_geometric.datasets.TUDataset(str(tmp_path / "copy" / "TUDataset"), "NCI1")
    assert fingerprint(load("nci1", root=tmp_path / "data")) == fingerprint(as_graphs(theirs))


def test_any_other_set_by_its_own_name(tmp_path: Path, cache: Path) -> None:
    raw = write_tu(tmp_path, "My_set-1", node_labels=ATOMS)
    data = load("tu:My_set-1", root=tmp_path)
    assert data.name == "tu:My_set-1"
    assert fingerprint(data) == fingerprint(wanted(FORMS["labels"][1]))
    assert locate("tu:My_set-1", tmp_path) == raw
    assert locate("tu:my_set-1", tmp_path) is None
    assert all(":" not in path.name for path in cache.rglob("*"))


def test_a_set_has_one_name_of_ours(tmp_path: Path) -> None:
    write_tu(tmp_path, "PTC_MR", node_labels=ATOMS)
    assert [load(name, root=tmp_path).name for name in ("ptc-mr", "PTC-MR", "tu:PTC_MR")] == ["ptc-mr"] * 3


@pytest.mark.parametrize("name", ["tu:", "tu:../secret", "tu:a/b", "tu:a b", "tu:."])
def test_what_is_no_name(name: str, tmp_path: Path) -> None:
    for ask in (load, locate):
        with pytest.raises(InputError, match="name of a TUDataset"):
            ask(name, root=tmp_path)  # type: ignore[operator]


def test_numbers_to_be_predicted_are_no_labels(tmp_path: Path) -> None:
    write_tu(tmp_path, graph_labels=None, graph_attributes=[0.5, 1.5, -2, 3], node_labels=ATOMS)
    data = load("nci1", root=tmp_path)
    assert "y" not in data
    assert data.ptr.tolist() == PTR
    write_tu(tmp_path, "DD", graph_labels=None, node_labels=ATOMS)
    assert "y" not in load("dd", root=tmp_path)


def test_a_file_that_is_added_is_read(tmp_path: Path) -> None:
    raw = write_tu(tmp_path)
    assert load("nci1", root=tmp_path).features_of == "degree"
    (raw / "NCI1_node_labels.txt").write_text("\n".join(map(str, ATOMS)) + "\n")
    assert fingerprint(load("nci1", root=tmp_path)) == fingerprint(wanted(FORMS["labels"][1]))


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({"A": None}, r"no file NCI1_A\.txt; nci1 needs NCI1_A\.txt, NCI1_graph_indicator\.txt"),
        ({"A": [("x", "y")]}, "files of nci1 in .* cannot be read"),
        ({"A": [*EDGES, (9, 8)]}, "node 8, but there are 8 nodes"),
        ({"A": [*EDGES, (8, 9)]}, "node 8, but there are 8 nodes"),
        ({"A": [*EDGES, (0, 8), (8, 0)]}, "node -1"),
        ({"A": [*EDGES, (3, 5)]}, "joins node 2 of the graph 0 and node 0 of the graph 2"),
        ({"graph_indicator": [1, 1, 1, 3, 2, 2, 4, 4]}, "does not list the nodes graph by graph"),
        ({"graph_indicator": [0, 0, 0, 1, 2, 2, 3, 3]}, "does not list the nodes graph by graph"),
        ({"graph_indicator": [1, 1, 1, 2, 4, 4, 5, 5], "graph_labels": [1, 0, 1, 0, 1]}, "The graph 2 has no nodes"),
        ({"graph_indicator": GRAPHS[:-1]}, "There are 8 rows of features for 7 nodes"),
        ({"graph_indicator": ["one", "two"]}, "files of nci1 in .* cannot be read"),
        ({"graph_labels": CLASSES[:-1]}, r"labels of shape \[3\] for 4 graphs"),
        ({"node_labels": [*ATOMS, 6]}, "9 rows of features for 8 nodes"),
        ({"node_labels": None, "node_attributes": [*CHARGES[:-1], (float("nan"), 1)]}, "node 1 of the graph 3"),
    ],
)
def test_damaged_files_are_said(tables: dict[str, Any], says: str, tmp_path: Path) -> None:
    write_tu(tmp_path, **({"node_labels": ATOMS} | tables))
    with pytest.raises(InputError, match=says) as caught:
        load("nci1", root=tmp_path)
    assert "\n" not in str(caught.value)


def served(monkeypatch: pytest.MonkeyPatch, archive: bytes) -> list[str]:
    asked: list[str] = []

    def get(self: object, url: str, target: str, *_: object) -> None:
        asked.append(url)
        Path(target).write_bytes(archive)

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", get)
    return asked


def packed(tmp_path: Path) -> io.BytesIO:
    raw = write_tu(tmp_path / "published", "BZR", node_labels=ATOMS)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in raw.iterdir():
            archive.write(file, f"BZR/{file.name}")
    return content


def test_a_download_is_kept_whole(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = served(monkeypatch, packed(tmp_path).getvalue())
    for _ in range(2):
        assert fingerprint(load("tu:BZR")) == fingerprint(wanted(FORMS["labels"][1]))
    assert asked == ["https://www.chrsmrrs.com/graphkerneldatasets/BZR.zip"]
    assert locate("tu:BZR") == cache / "TUDataset" / "BZR" / "raw"
    assert [path.name for path in cache.iterdir()] == ["TUDataset"]


def test_an_archive_writes_nothing_but_its_tables(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members with other names, in other folders, or links: none of them is unpacked."""
    archive = packed(tmp_path)
    with zipfile.ZipFile(archive, "a") as more:
        for name in ("../trace", "BZR/../../../trace", str(tmp_path / "trace"), "BZR/sub/BZR_A.txt", "C:\\trace"):
            more.writestr(name, b"evil")
        link = zipfile.ZipInfo("BZR/BZR_node_attributes.txt")
        link.external_attr = 0o120777 << 16
        more.writestr(link, "/etc/passwd")
    served(monkeypatch, archive.getvalue())
    with pytest.raises(InputError, match=r"files of tu:BZR in .* cannot be read"):
        load("tu:BZR")  # the text of the link, which is no table
    tables = ("A", "graph_indicator", "graph_labels", "node_attributes", "node_labels")
    written = [path for path in cache.rglob("*") if not path.is_dir()]
    assert sorted(path.name for path in written) == [f"BZR_{table}.txt" for table in tables]
    assert not any(path.is_symlink() for path in written)
    assert not list(tmp_path.rglob("trace*"))


@pytest.mark.parametrize("damage", ["no zip", "cut", "other", "bomb", "encrypted"])
def test_a_damaged_archive_leaves_nothing(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = packed(tmp_path).getvalue()
    if damage == "other":
        archive = archive.replace(b"BZR_A.txt", b"BZR_B.txt")
    elif damage == "bomb":
        monkeypatch.setattr("sfa.data.downloads.MAX_UNPACKED", 20)
    elif damage == "encrypted":
        archive = archive.replace(b"PK\3\4\x14\0\0", b"PK\3\4\x14\0\1").replace(
            b"PK\1\2\x14\3\x14\0\0", b"PK\1\2\x14\3\x14\0\1"
        )
    served(monkeypatch, {"no zip": b"text", "cut": archive[:-100]}.get(damage, archive))
    with pytest.raises(InputError, match=r"tu:BZR is not on this machine and .*--data-root"):
        load("tu:BZR")
    assert not (tmp_path / "cache").exists()


def test_features_and_labels_are_the_sets_own(tmp_path: Path) -> None:
    for name in ("mutag", "tu:NCI1"):
        for given in ({"labels": tmp_path / "y.csv"}, {"node_features": "degree"}, {"features": tmp_path / "x.npy"}):
            with pytest.raises(InputError, match=f"The data set {name} has its own features and labels"):
                load(name, **given)  # type: ignore[arg-type]


def test_mutag_is_bundled_and_is_the_published_set() -> None:
    data = load("mutag")
    assert (len(data.ptr) - 1, data.num_nodes, data.num_edges // 2, data.x.shape[1]) == (188, 3371, 3721, 7)
    counts = dict(zip(data.class_names, torch.bincount(data.y).tolist(), strict=True))
    assert counts == {"mutagenic": 125, "not mutagenic": 63}
    assert data.x.sum(dim=1).unique().tolist() == [1]
    assert data.x.sum(dim=0).tolist() == [2395, 345, 593, 12, 1, 23, 2]
    assert (data.name, data.graph_ids, remark(data)) == ("mutag", list(range(188)), None)
    assert data.ptr.diff().min() == 10
    assert data.ptr.diff().max() == 28
    assert fingerprint(data) == fingerprint(load("MUTAG")) == fingerprint(as_graphs(data))
