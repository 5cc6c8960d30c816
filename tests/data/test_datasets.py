"""Named data sets: the bundled one, and torch_geometric's on tiny files of the same layout."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import pickle
import sys
import warnings
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
import pooch
import pytest
import torch
import torch_geometric.datasets
from scipy import sparse
from torch_geometric.data import Data

from sfa.data import as_graph, build_graph, data_root, fingerprint, load, locate, names
from sfa.data.pyg_sets import SHA256, TU, PygSet, TuSet
from sfa.errors import InputError
from sfa.registry import resolve


def random_graph(n: int, seed: int = 0) -> Data:
    """A ring with random binary features and 3 classes; symmetric by construction, and no row is empty."""
    x = (np.random.default_rng(seed).random((n, 4)) < 0.5).astype(np.float32)
    x[:, 0] = 1
    return build_graph(x, np.stack([np.arange(n), (np.arange(n) + 1) % n]), y=np.arange(n) % 3)


def split_into(graph: Data, splits: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Random disjoint masks, each [n, splits]; some nodes are in no part."""
    parts = np.random.default_rng(seed).integers(0, 4, (graph.num_nodes, splits))
    return {name: parts == i for i, name in enumerate(("train_mask", "val_mask", "test_mask"))}


def masks_of(graph: Data) -> dict[str, list[Any]]:
    return {name: graph[name].tolist() for name in ("train_mask", "val_mask", "test_mask") if name in graph}


def write_amazon(root: Path, graph: Data, name: str = "Photo") -> Path:
    return write_benchmark(root / "Amazon" / name / "raw", f"amazon_electronics_{name.lower()}.npz", graph)


def write_coauthor(root: Path, graph: Data) -> Path:
    return write_benchmark(root / "Coauthor" / "Physics" / "raw", "ms_academic_phy.npz", graph)


def write_benchmark(raw: Path, file: str, graph: Data) -> Path:
    raw.mkdir(parents=True, exist_ok=True)
    n = graph.num_nodes
    adj = sparse.csr_matrix((np.ones(graph.num_edges), graph.edge_index.numpy()), shape=(n, n))
    arrays = {
        f"{prefix}_{part}": np.asarray(getattr(matrix, part))
        for prefix, matrix in (("attr", sparse.csr_matrix(graph.x.numpy())), ("adj", adj))
        for part in ("data", "indices", "indptr", "shape")
    }
    np.savez(raw / file, labels=graph.y, **arrays)
    return raw


def write_wikics(root: Path, graph: Data) -> Path:
    """20 splits into training, stopping and validation, and one test part for all of them."""
    raw = root / "WikiCS" / "raw"
    raw.mkdir(parents=True)
    n = graph.num_nodes
    links: list[list[int]] = [[] for _ in range(n)]
    for u, v in graph.edge_index.T.tolist():
        if u < v:
            links[u].append(v)
    content = {"features": graph.x.tolist(), "labels": graph.y.tolist(), "links": links}
    masks = wikics_masks(graph)
    content |= {"test_mask": masks["test_mask"].tolist(), "stopping_masks": np.zeros((20, n), bool).tolist()}
    content |= {f"{part}_masks": masks[f"{part}_mask"].T.tolist() for part in ("train", "val")}
    (raw / "data.json").write_text(json.dumps(content))
    return raw


def wikics_masks(graph: Data) -> dict[str, np.ndarray]:
    test = np.arange(graph.num_nodes) % 2 == 0
    return {name: mask & ~test[:, None] for name, mask in split_into(graph, 20).items()} | {"test_mask": test}


def write_heterophilous(root: Path, graph: Data) -> Path:
    """Each pair of nodes once, and masks of which each row is a split."""
    raw = root / "HeterophilousGraphDataset" / "roman_empire" / "raw"
    raw.mkdir(parents=True)
    once = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]].T.numpy()
    masks = {f"{name}s": mask.T for name, mask in split_into(graph, 10).items()}
    np.savez(raw / "roman_empire.npz", node_features=graph.x, node_labels=graph.y, edges=once, **masks)
    return raw


def write_webkb(root: Path, graph: Data) -> Path:
    return write_geom_gcn(root / "WebKB" / "cornell" / "raw", "cornell", graph, listed=False)


def write_wikipedia(root: Path, graph: Data) -> Path:
    raw = root / "WikipediaNetwork" / "squirrel" / "geom_gcn" / "raw"
    return write_geom_gcn(raw, "squirrel", graph, listed=False)


def write_actor(root: Path, graph: Data) -> Path:
    return write_geom_gcn(root / "Actor" / "raw", "film", graph, listed=True)


def write_geom_gcn(raw: Path, name: str, graph: Data, *, listed: bool) -> Path:
    """Tables of text with a header each, and ten files of splits; of an actor the keywords are listed by number."""
    raw.mkdir(parents=True)
    rows = [row.nonzero()[0] if listed else row.astype(int) for row in graph.x.numpy()]
    nodes = [f"{i}\t{','.join(map(str, row))}\t{graph.y[i]}" for i, row in enumerate(rows)]
    edges = [f"{u}\t{v}" for u, v in graph.edge_index.T.tolist() if u < v]
    (raw / "out1_node_feature_label.txt").write_text("\n".join(["node_id\tfeature\tlabel", *nodes]) + "\n")
    (raw / "out1_graph_edges.txt").write_text("\n".join(["node_id\tnode_id", *edges]) + "\n")
    for i in range(10):
        masks = {name: mask[:, i].astype(np.uint8) for name, mask in split_into(graph, 10).items()}
        np.savez(raw / f"{name}_split_0.6_0.2_{i}.npz", **masks)
    return raw


def write_arxiv(root: Path, graph: Data) -> Path:
    """Tables without headers, gzipped; each citation once, and the numbers of the nodes of each part."""
    folder = root / "ogbn_arxiv"
    once = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]].T.numpy()
    parts = {f"split/time/{part}": np.flatnonzero(mask)[:, None] for part, mask in arxiv_parts(graph).items()}
    tables = {"raw/edge": once, "raw/node-feat": graph.x.numpy(), "raw/node-label": graph.y.numpy()[:, None], **parts}
    for name, table in tables.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(table).to_csv(folder / f"{name}.csv.gz", header=False, index=False)
    return folder


def arxiv_parts(graph: Data) -> dict[str, np.ndarray]:
    return dict(zip(("train", "valid", "test"), (mask[:, 0] for mask in split_into(graph, 1).values()), strict=True))


def arxiv_masks(graph: Data) -> dict[str, np.ndarray]:
    return {f"{part.replace('valid', 'val')}_mask": mask for part, mask in arxiv_parts(graph).items()}


def write_planetoid(root: Path, graph: Data, name: str = "CiteSeer") -> Path:
    """Ten labeled nodes first, the last eight for testing; the loader wants 500 nodes for validation between."""
    raw = root / "Planetoid" / name / "raw"
    raw.mkdir(parents=True)
    n = graph.num_nodes
    x, y = sparse.csr_matrix(graph.x.numpy()), np.eye(3, dtype=np.int32)[graph.y.numpy()]
    neighbours: dict[int, list[int]] = defaultdict(list)
    for u, v in graph.edge_index.T.tolist():
        neighbours[u].append(v)
    known = n - 8
    parts: dict[str, Any] = {"x": x[:10], "tx": x[known:], "allx": x[:known], "y": y[:10], "ty": y[known:]}
    parts |= {"ally": y[:known], "graph": neighbours}
    for part, value in parts.items():
        (raw / f"ind.{name.lower()}.{part}").write_bytes(pickle.dumps(value, protocol=2))
    (raw / f"ind.{name.lower()}.test.index").write_text("\n".join(str(i) for i in range(known, n)) + "\n")
    return raw


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    return {str(p.relative_to(root)): (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(root.rglob("*"))}


def test_cora_is_bundled_and_is_the_published_graph() -> None:
    data = load("cora")
    assert (data.num_nodes, data.num_edges // 2, data.x.shape[1], len(data.class_names)) == (2708, 5278, 1433, 7)
    assert (set(data.x.values().tolist()), data.x.values().numel()) == ({1}, 49216)
    counts = dict(zip(data.class_names, torch.bincount(data.y).tolist(), strict=True))
    assert (counts["Neural_Networks"], counts["Rule_Learning"]) == (818, 180)
    assert data.name == "cora"
    assert 1061127 in data.node_ids
    assert fingerprint(data) == fingerprint(load("Cora")) == fingerprint(as_graph(data))
    # Runs know their data by it: it must never change.
    assert fingerprint(data) == "c433140eefca88607794c1c342906055237441c6fd6aa26c1e8a9d8127240faf"


def test_names_tell_what_there_is() -> None:
    assert [info.name for info in names()][:9] == [
        *("cora", "citeseer", "pubmed", "photo", "computers", "wikics", "coauthor-cs", "coauthor-physics", "ogbn-arxiv")
    ]
    assert {info.name for info in names()[9:] if info.task == "node"} == {
        *("actor", "chameleon", "squirrel", "cornell", "texas", "wisconsin"),
        *("roman-empire", "amazon-ratings", "minesweeper", "tolokers", "questions"),
    }
    assert {info.name for info in names() if info.task == "graph"} == {
        *("mutag", "nci1", "nci109", "proteins", "dd", "enzymes", "ptc-mr"),
        *("imdb-binary", "imdb-multi", "reddit-binary", "reddit-multi-5k", "collab"),
    }
    assert {info.name for info in names() if info.task == "image"} == {
        *("digits", "cifar10", "cifar100", "cifar10-subset", "cifar100-subset", "imagenet-100"),
    }
    assert [info.name for info in names() if info.bundled] == ["cora", "mutag", "digits"]
    assert all(info.description and "\n" not in info.description for info in names())


def no_masks(graph: Data) -> dict[str, np.ndarray]:
    return {}


def ten_splits(graph: Data) -> dict[str, np.ndarray]:
    return split_into(graph, 10)


def planetoid_masks(graph: Data) -> dict[str, np.ndarray]:
    """The first ten, the 500 after them and the last eight: so `write_planetoid` has it."""
    node = np.arange(graph.num_nodes)
    known = graph.num_nodes - 8
    return {"train_mask": node < 10, "val_mask": (node >= 10) & (node < 510), "test_mask": node >= known}


LAYOUTS = {
    "photo": (write_amazon, no_masks, 12),
    "wikics": (write_wikics, wikics_masks, 12),
    "citeseer": (write_planetoid, planetoid_masks, 520),
    "coauthor-physics": (write_coauthor, no_masks, 12),
    "ogbn-arxiv": (write_arxiv, arxiv_masks, 30),
    "roman-empire": (write_heterophilous, ten_splits, 30),
    "cornell": (write_webkb, ten_splits, 30),
    "squirrel": (write_wikipedia, ten_splits, 30),
    "actor": (write_actor, ten_splits, 30),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_set_in_the_users_root_is_loaded_and_the_root_left_alone(
    name: str, tmp_path: Path, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write, masks, size = LAYOUTS[name]
    graph = random_graph(size)
    raw = write(tmp_path / "data", graph)
    before = snapshot(tmp_path / "data")

    for _ in range(2):  # the second time from the cache
        data = load(name, root=tmp_path / "data")
        assert fingerprint(data) == fingerprint(graph)
        assert data.name == name
        assert masks_of(data) == {part: mask.tolist() for part, mask in masks(graph).items()}
        assert masks_of(as_graph(data)) == masks_of(data)

    assert snapshot(tmp_path / "data") == before
    assert locate(name, tmp_path / "data") == raw
    assert cache.exists() == (name == "ogbn-arxiv")  # of which alone arrays are kept, for its text takes long to read
    assert capfd.readouterr() == ("", "")


def test_files_are_where_torch_geometric_has_them(
    subtests: pytest.Subtests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Exception):
        pass

    def stop(self: Any) -> None:
        raise Stopped([Path(one).name for one in self.raw_paths], Path(self.raw_dir).relative_to(tmp_path))

    seen: list[str] = []
    monkeypatch.setattr(torch_geometric.io.fs, "cp", lambda url, *_, **__: seen.append(url))
    for info in names():
        origin = resolve("dataset", info.name)
        if not isinstance(origin, (PygSet, TuSet)):
            continue
        with subtests.test(info.name):
            assert origin.locate(tmp_path) is None
            seen.clear()
            kind, *own = Path(origin.places[0]).parts[:-1]
            theirs = getattr(torch_geometric.datasets, kind)
            if hasattr(sys.modules[theirs.__module__], "download_url"):
                monkeypatch.setattr(sys.modules[theirs.__module__], "download_url", lambda url, *_: seen.append(url))
            monkeypatch.setattr(theirs, "process", stop)
            if kind == "TUDataset":  # it goes on to move what it has unpacked
                monkeypatch.setattr(torch_geometric.io.fs, "ls", lambda folder: [])
                monkeypatch.setattr(torch_geometric.io.fs, "rm", lambda folder: None)
            options = {"name": own[0]} if own else {"is_undirected": True} if kind == "WikiCS" else {}
            with pytest.raises(Stopped) as stopped:
                theirs(root=str(tmp_path / kind), **options)
            needed, place = stopped.value.args
            assert (sorted(needed), str(place)) == (sorted(origin.files), origin.places[0])
            ours = [TU.format(own[0])] if isinstance(origin, TuSet) else list(origin.urls.values())
            assert sorted(ours) == sorted(seen)


@pytest.mark.parametrize("name", ["photo", "citeseer", "wikics", "roman-empire", "cornell", "squirrel", "actor"])
def test_they_are_read_as_torch_geometric_reads_them(name: str, tmp_path: Path) -> None:
    write, _, size = LAYOUTS[name]
    raw = write(tmp_path, random_graph(size))
    kind, *own = raw.relative_to(tmp_path).parts[:-1]
    options = {"name": own[0]} if own else {"is_undirected": True} if kind == "WikiCS" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(torch_geometric.datasets, kind)(root=str(tmp_path / kind), **options)[0]
    ours = load(name, root=tmp_path)
    assert fingerprint(ours) == fingerprint(as_graph(theirs))
    assert masks_of(ours) == masks_of(as_graph(theirs))


def test_the_same_set_in_two_roots_is_two_sets(tmp_path: Path) -> None:
    for seed, folder in enumerate(("a", "b")):
        write_amazon(tmp_path / folder, random_graph(12, seed))
    loaded = [load("photo", root=tmp_path / folder) for folder in ("a", "b")]
    assert fingerprint(loaded[0]) != fingerprint(loaded[1])


def test_the_root_is_the_argument_then_the_variable_then_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_root() == cache
    assert locate("photo") is None
    (tmp_path / "env").mkdir()
    raw = write_amazon(tmp_path / "env", random_graph(12))
    monkeypatch.setenv("SFA_DATA", str(tmp_path / "env"))
    assert data_root() == tmp_path / "env"
    assert locate("photo") == raw
    assert data_root(tmp_path) == tmp_path
    assert locate("photo", tmp_path) is None


def served(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> list[str]:
    """Answer downloads with these files, by the ends of their addresses; return the list of what is asked for."""
    asked: list[str] = []

    def get(self: object, url: str, target: str, *_: object) -> None:
        asked.append(url)
        content = next((content for end, content in files.items() if url.endswith(end)), None)
        Path(target).write_bytes(b"half of it" if content is None else content)
        if content is None:
            raise URLError("no network")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", get)
    return asked


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name != "ogbn-arxiv"])
def test_a_download_is_kept_whole(name: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, _, size = LAYOUTS[name]
    graph = random_graph(size)
    raw = write(tmp_path / "published", graph)
    asked = served(monkeypatch, {"/" + file.name: file.read_bytes() for file in raw.iterdir()})
    monkeypatch.setattr("sfa.data.pyg_sets.SHA256", {})
    (tmp_path / "root").mkdir()
    for _ in range(2):
        assert fingerprint(load(name, root=tmp_path / "root")) == fingerprint(graph)
    assert all(url.startswith("https://") for url in asked)
    assert len(asked) == len(list(raw.iterdir()))
    assert locate(name) == cache / raw.relative_to(tmp_path / "published")
    assert list((tmp_path / "root").iterdir()) == []
    assert [path.name for path in cache.iterdir()] == [raw.relative_to(tmp_path / "published").parts[0]]


def test_a_failed_download_says_how_to_give_the_files_and_leaves_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served(monkeypatch, {})
    for name, content in (("pubmed", "Planetoid/PubMed/raw"), ("ogbn-arxiv", "ogbn_arxiv/raw/edge.csv.gz")):
        with pytest.raises(InputError, match=rf"downloaded \(URLError\).*{content} with --data-root or SFA_DATA"):
            load(name)
        assert not (tmp_path / "cache").exists()
    cache.mkdir(parents=True)
    with pytest.raises(InputError, match="pubmed is not on this machine"):
        load("pubmed")
    assert list(cache.iterdir()) == []


def test_what_is_downloaded_has_the_published_checksum(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served(monkeypatch, {"": b"something else"})
    for name in ("citeseer", "pubmed", "ogbn-arxiv"):
        with pytest.raises(InputError, match=r"not as published: its SHA256 is f41f3f.* and not [0-9a-f]{64}"):
            load(name)
    assert not cache.exists()


def test_checksums_are_those_of_the_original_files() -> None:
    """They and Cora's, 24 in all, make the checksum of GraphMLDatasets.jl, which is the exclusive or of all files."""
    cora = 0x81DE017067DC045EBDB8FFD5C0E69A209973FFDB1FE2D5B434E94D3614F3F5C7
    total = functools.reduce(int.__xor__, (int(one, 16) for name, one in SHA256.items() if name[:4] == "ind."), cora)
    assert f"{total:064x}" == "f52b3d47f5993912d7509b51e8090b6807228c4ba8c7d906f946868005c61c18"


def zipped(members: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


def test_arxiv_is_downloaded(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(30)
    folder = write_arxiv(tmp_path, graph)
    files = {f"arxiv/{one.relative_to(folder)}": one.read_bytes() for one in folder.rglob("*.gz")}
    archive = zipped(files | {"arxiv/mapping/README.md": b"more", "../trace": b"evil"})
    monkeypatch.setitem(SHA256, "arxiv.zip", hashlib.sha256(archive).hexdigest())
    asked = served(monkeypatch, {"arxiv.zip": archive})
    for _ in range(2):
        assert fingerprint(load("ogbn-arxiv")) == fingerprint(graph)
    assert len(asked) == 1
    assert sorted(path.name for path in cache.iterdir()) == ["ogbn_arxiv", "processed"]
    assert sorted(path.name for path in (cache / "ogbn_arxiv").rglob("*.*")) == sorted(Path(one).name for one in files)


@pytest.mark.parametrize("damage", ["missing", "text", "node"])
def test_damaged_tables_of_arxiv_are_said(damage: str, tmp_path: Path, cache: Path) -> None:
    folder = write_arxiv(tmp_path, random_graph(30))
    if damage == "missing":
        (folder / "split/time/valid.csv.gz").unlink()
    elif damage == "text":
        (folder / "raw/edge.csv.gz").write_bytes(b"no gzip")
    else:
        pd.DataFrame([[99]]).to_csv(folder / "split/time/test.csv.gz", header=False, index=False)
    says = {"missing": r"no file split/time/valid\.csv\.gz", "node": "split holds the nodes 99 to 99"}.get(damage, "")
    says = says or "files of ogbn-arxiv in .* cannot be read"
    with pytest.raises(InputError, match=says) as caught:
        load("ogbn-arxiv", root=tmp_path)
    assert "\n" not in str(caught.value)


def test_a_raw_folder_that_lacks_a_file_is_not_filled(tmp_path: Path) -> None:
    raw = write_planetoid(tmp_path, random_graph(520))
    (raw / "ind.citeseer.ally").unlink()
    before = snapshot(tmp_path / "Planetoid")
    with pytest.raises(InputError, match=r"has no file ind\.citeseer\.ally"):
        load("citeseer", root=tmp_path)
    assert snapshot(tmp_path / "Planetoid") == before


def test_a_planetoid_pickle_that_would_run_code_is_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "trace"),)

    raw = write_planetoid(tmp_path, random_graph(520))
    (raw / "ind.citeseer.x").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(InputError, match=r"ind.citeseer.x is refused: .*posix.mkdir|nt.mkdir"):
        load("citeseer", root=tmp_path)
    assert not (tmp_path / "trace").exists()


def test_damaged_raw_files_are_said(tmp_path: Path, cache: Path) -> None:
    raw = write_amazon(tmp_path, random_graph(12))
    (raw / "amazon_electronics_photo.npz").write_bytes(b"PK nothing")
    with pytest.raises(InputError, match="cannot be read"):
        load("photo", root=tmp_path)
    assert not cache.exists()


def test_a_path_is_read_as_a_file(graph: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "cora.npz", x=graph.x, edge_index=graph.edge_index)
    monkeypatch.chdir(tmp_path)
    assert load("cora.npz").num_nodes == 5
    assert load(tmp_path / "cora.npz").num_nodes == 5
    (tmp_path / "plain").touch()
    missing = {"some/where": "There is no file or folder some", "x.npz": r"There is no file or folder x\.npz\."}
    for given, says in {"plain": "its suffix must be one of", **missing}.items():
        with pytest.raises(InputError, match=says):
            load(given)
    with pytest.raises(InputError, match=r"file or folder cora\."):
        load(Path("cora"))


def test_what_cannot_be_loaded_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_path = "and there is no file or folder of that name"
    with pytest.raises(InputError, match=rf"Unknown data set 'citeser', {no_path}: did you mean .citeseer.\?.*wikics"):
        load("citeser")
    with pytest.raises(InputError, match=rf"Unknown data set 'nofolder', {no_path}: did you"):
        load("nofolder")
    with pytest.raises(InputError, match=rf"Unknown data set 'x_y', {no_path}\. Allowed: actor, .*wisconsin\."):
        load("x_y")
    with pytest.raises(InputError, match="Unknown data set 'nope'"):
        locate("nope")
    with pytest.raises(InputError, match=r"leave out features= \(--f"):
        load("cora", features=tmp_path / "x.npy")
    with pytest.raises(InputError, match=r"node_features= \(--labels, --node-features\): others"):
        load("cora", labels=tmp_path / "y.csv", node_features="degree")
    with pytest.raises(InputError, match="nowhere given as data"):
        load("photo", root=tmp_path / "nowhere")
    monkeypatch.setenv("SFA_DATA", str(tmp_path / "gone"))
    with pytest.raises(InputError, match="SFA_DATA does not exist"):
        data_root()


def test_a_cache_that_cannot_be_made_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    write_arxiv(tmp_path, random_graph(30))
    with pytest.raises(InputError, match="set XDG_CACHE_HOME"):
        load("ogbn-arxiv", root=tmp_path)
