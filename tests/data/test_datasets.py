"""Named data sets: the bundled one, and torch_geometric's on tiny files of the same layout."""

from __future__ import annotations

import json
import os
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import torch
import torch_geometric.datasets
from scipy import sparse
from torch_geometric.data import Data

from sfa.data import as_graph, build_graph, data_root, fingerprint, load, locate, names
from sfa.errors import InputError


def random_graph(n: int, seed: int = 0) -> Data:
    """A ring with random binary features and 3 classes; symmetric by construction."""
    x = (np.random.default_rng(seed).random((n, 4)) < 0.5).astype(np.float32)
    return build_graph(x, np.stack([np.arange(n), (np.arange(n) + 1) % n]), y=np.arange(n) % 3)


def write_amazon(root: Path, graph: Data, name: str = "Photo") -> Path:
    raw = root / "Amazon" / name / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    n = graph.num_nodes
    adj = sparse.csr_matrix((np.ones(graph.num_edges), graph.edge_index.numpy()), shape=(n, n))
    arrays = {
        f"{prefix}_{part}": np.asarray(getattr(matrix, part))
        for prefix, matrix in (("attr", sparse.csr_matrix(graph.x.numpy())), ("adj", adj))
        for part in ("data", "indices", "indptr", "shape")
    }
    np.savez(raw / f"amazon_electronics_{name.lower()}.npz", labels=graph.y, **arrays)
    return raw


def write_wikics(root: Path, graph: Data) -> Path:
    raw = root / "WikiCS" / "raw"
    raw.mkdir(parents=True)
    n = graph.num_nodes
    links: list[list[int]] = [[] for _ in range(n)]
    for u, v in graph.edge_index.T.tolist():
        if u < v:
            links[u].append(v)
    masks = [[True] * n]
    content = {"features": graph.x.tolist(), "labels": graph.y.tolist(), "links": links, "test_mask": [True] * n}
    content |= {"train_masks": masks, "val_masks": masks, "stopping_masks": masks}
    (raw / "data.json").write_text(json.dumps(content))
    return raw


def write_planetoid(root: Path, graph: Data, name: str = "CiteSeer") -> Path:
    """Ten labelled nodes first, the last eight for testing; the loader wants 500 nodes for validation between."""
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
        (raw / f"ind.{name.lower()}.{part}").write_bytes(pickle.dumps(value))
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


def test_names_tell_what_there_is() -> None:
    assert [info.name for info in names()] == ["cora", "citeseer", "pubmed", "photo", "computers", "wikics"]
    assert [info.name for info in names() if info.bundled] == ["cora"]
    assert all(info.description and "\n" not in info.description for info in names())


@pytest.mark.parametrize(
    ("name", "write", "size"),
    [("photo", write_amazon, 12), ("wikics", write_wikics, 12), ("citeseer", write_planetoid, 520)],
)
def test_a_set_in_the_users_root_is_loaded_and_the_root_left_alone(
    name: str, write: Any, size: int, tmp_path: Path, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    graph = random_graph(size)
    raw = write(tmp_path / "data", graph)
    before = snapshot(tmp_path / "data")

    for _ in range(2):  # the second time from the cache
        data = load(name, root=tmp_path / "data")
        assert fingerprint(data) == fingerprint(graph)
        assert data.name == name

    assert snapshot(tmp_path / "data") == before
    assert locate(name, tmp_path / "data") == raw
    assert len(list((cache / "processed").iterdir())) == 1
    assert capfd.readouterr() == ("", "")


def test_torch_geometric_is_not_heard_outside_a_test_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # it is silent under pytest on its own
    write_amazon(tmp_path, random_graph(12))
    load("photo", root=tmp_path)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "put back, for pytest takes it away")


def test_changed_raw_files_are_processed_anew(tmp_path: Path) -> None:
    for seed in (0, 1):
        graph = random_graph(12, seed)
        raw = write_amazon(tmp_path, graph)
        for file in raw.iterdir():
            os.utime(file, ns=(seed, seed))
        assert fingerprint(load("photo", root=tmp_path)) == fingerprint(graph)


def test_the_same_set_in_two_roots_is_two_sets(tmp_path: Path) -> None:
    for seed, folder in enumerate(("a", "b")):
        write_amazon(tmp_path / folder, random_graph(12, seed))
    loaded = [load("photo", root=tmp_path / folder) for folder in ("a", "b")]
    assert fingerprint(loaded[0]) != fingerprint(loaded[1])


def test_without_symbolic_links_the_raw_files_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    write_amazon(tmp_path, random_graph(12))
    assert fingerprint(load("photo", root=tmp_path)) == fingerprint(random_graph(12))


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


def test_a_download_is_kept_whole(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, calls = random_graph(12), []

    def download(self: Any) -> None:
        calls.append(1)
        write_amazon(Path(self.root).parent, graph)

    monkeypatch.setattr(torch_geometric.datasets.Amazon, "download", download)
    (tmp_path / "root").mkdir()
    for _ in range(2):
        assert fingerprint(load("photo", root=tmp_path / "root")) == fingerprint(graph)
    assert len(calls) == 1
    assert locate("photo") == cache / "Amazon" / "Photo" / "raw"
    assert list((tmp_path / "root").iterdir()) == []
    assert sorted(path.name for path in cache.iterdir()) == ["Amazon", "processed"]


def test_a_failed_download_says_how_to_give_the_files_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(self: Any) -> None:
        Path(self.raw_dir, "ind.pubmed.x").write_bytes(b"half of it")
        raise URLError("no network")

    monkeypatch.setattr(torch_geometric.datasets.Planetoid, "download", download)
    with pytest.raises(InputError, match=r"Planetoid/PubMed/raw/ind.pubmed.x with --data-root or SFA_DATA"):
        load("pubmed")
    assert list(cache.iterdir()) == []


def test_a_raw_folder_that_lacks_a_file_is_not_filled(tmp_path: Path) -> None:
    raw = write_planetoid(tmp_path, random_graph(520))
    (raw / "ind.citeseer.ally").unlink()
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=r"has no file ind\.citeseer\.ally"):
        load("citeseer", root=tmp_path)
    assert snapshot(tmp_path) == before


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
    with pytest.raises(InputError, match=r"files of photo in .* cannot be read"):
        load("photo", root=tmp_path)
    assert list((cache / "processed").iterdir()) == []


def test_a_path_is_read_as_a_file(graph: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "cora.npz", x=graph.x, edge_index=graph.edge_index)
    monkeypatch.chdir(tmp_path)
    assert load("cora.npz").num_nodes == 5
    assert load(tmp_path / "cora.npz").num_nodes == 5
    (tmp_path / "plain").touch()
    for given, says in {"plain": "no suffix", "some/where": "does not exist", "x.npz": "does not exist"}.items():
        with pytest.raises(InputError, match=says):
            load(given)
    with pytest.raises(InputError, match="graph file cora does not exist"):
        load(Path("cora"))


def test_what_cannot_be_loaded_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"Unknown data set 'citeser': did you mean .citeseer.\?.*wikics"):
        load("citeser")
    with pytest.raises(InputError, match="Unknown data set 'nope'"):
        locate("nope")
    with pytest.raises(InputError, match="cora has its own features"):
        load("cora", features=tmp_path / "x.npy")
    with pytest.raises(InputError, match="nowhere given as data root does not exist"):
        load("photo", root=tmp_path / "nowhere")
    monkeypatch.setenv("SFA_DATA", str(tmp_path / "gone"))
    with pytest.raises(InputError, match="gone set in SFA_DATA does not exist"):
        data_root()


def test_a_cache_that_cannot_be_made_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    write_amazon(tmp_path, random_graph(12))
    with pytest.raises(InputError, match="set XDG_CACHE_HOME"):
        load("photo", root=tmp_path)
