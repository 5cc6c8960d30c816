import copy
import json
import re

import numpy as np
import pytest
import torch

import sfa
from sfa.data.store import StoredGraph, open_store
from sfa.data.write_store import write_manifest, write_store
from sfa.errors import InputError
from sfa.graph.structure import structure_of
from sfa.graph.walks import Transitions


def test_a_stored_graph_is_the_one_in_memory(tmp_path):
    data = sfa.data.load("cora")
    structure = structure_of(data)
    write_store(data, tmp_path / "store")
    stored = copy.copy(open_store(tmp_path / "store"))
    nodes = torch.arange(data.num_nodes)
    steps = [Transitions.of(graph).step(nodes, torch.Generator().manual_seed(0)) for graph in (data, stored)]
    assert torch.equal(*steps)
    assert "edge_index" not in stored  # walks read the rows on disk
    assert torch.equal(structure_of(stored).col, structure.col)
    assert torch.equal(structure_of(stored).edge_row, structure.edge_row)
    assert torch.equal(stored.edge_index, data.edge_index)
    assert stored.num_edges == data.num_edges


@pytest.fixture
def folder(tmp_path):
    graph = sfa.data.stochastic_block_model(50, 100, 4, 2)
    graph.node_ids = [f"n{i}" for i in range(50)]
    write_store(graph, tmp_path / "store")
    return tmp_path / "store"


def test_ids_are_read_when_they_are_asked_for(folder):
    graph = sfa.data.load(folder)
    assert "_ids" not in vars(graph.node_ids)
    assert (len(graph.node_ids), graph.node_ids[7], graph.node_ids[48:]) == (50, "n7", ["n48", "n49"])
    assert list(graph.node_ids) == [f"n{i}" for i in range(50)]
    assert copy.copy(graph).to("cpu").node_ids is graph.node_ids
    assert list(write_store("cora", folder / "cora").node_ids)[:2] == [31336, 1061127]


def test_a_store_stays_one(folder):
    graph = sfa.data.load(folder)
    assert graph.store == str(folder)
    assert isinstance(sfa.data.as_graph(graph), StoredGraph)
    unlabeled = sfa.data.as_graph(folder, labels=False)
    assert isinstance(unlabeled, StoredGraph)
    assert "y" not in unlabeled
    again = write_store(graph, folder / "again", float16=True)
    assert sfa.data.fingerprint(again) != sfa.data.fingerprint(graph)
    assert sfa.data.fingerprint(open_store(folder)) == sfa.data.fingerprint(graph)


def damage(folder, name, change):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(change(content))


def with_checksums(folder):
    """Write sizes and checksums anew, as somebody who makes a store by hand does."""
    manifest = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").unlink()
    write_manifest(folder, manifest["name"], manifest["notes"])


def replace_array(name, change):
    def replace(folder):
        array = np.load(folder / name)
        np.save(folder / name, change(array))
        with_checksums(folder)

    return replace


def manifest_with(**values):
    def change(folder):
        manifest = json.loads((folder / "graph.json").read_text())
        (folder / "graph.json").write_text(json.dumps(manifest | values))

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: damage(folder, "x.npy", lambda content: content[:-4]), "x.npy has 924 bytes, and 928"),
        (lambda folder: damage(folder, "x.npy", lambda content: content[:-1] + b"?"), "x.npy has changed"),
        (lambda folder: (folder / "indices.npy").unlink(), "No such file"),
        (lambda folder: (folder / "graph.json").unlink(), "graph"),
        (lambda folder: damage(folder, "graph.json", lambda content: content[:100]), "not JSON"),
        (lambda folder: (folder / "graph.json").write_text("[]"), "damaged"),
        (manifest_with(format=2), "format 2, not 1"),
        (manifest_with(files={}), "names the files"),
        (manifest_with(files={"../x.npy": {}}), "names the files"),
        (manifest_with(nodes=51), "shape"),
        (manifest_with(nodes="many"), "damaged"),
        (replace_array("indices.npy", lambda array: array + 10), "from 0 to 49"),
        (replace_array("indptr.npy", lambda array: array[::-1].copy()), "do not ascend"),
        (replace_array("indptr.npy", lambda array: array.astype(np.int32)), "int32 values"),
        (replace_array("x.npy", lambda array: array.astype(np.float64)), "float64 values"),
        (replace_array("y.npy", lambda array: array[:-1]), "y.npy has the shape"),
    ],
)
def test_a_damaged_store_is_one_sentence(folder, change, words):
    change(folder)
    with pytest.raises(InputError, match=re.escape(words)) as error:
        sfa.data.load(folder)
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_large_store_is_checked_only_when_asked(folder, monkeypatch):
    monkeypatch.setattr("sfa.data.store.SMALL", 0)
    damage(folder, "x.npy", lambda content: content[:-1] + b"?")
    open_store(folder)
    with pytest.raises(InputError, match="has changed"):
        open_store(folder, verify=True)


def test_nothing_is_written_over(folder):
    with pytest.raises(InputError, match="exists"):
        write_store("cora", folder)
    with pytest.raises(InputError, match="does not exist"):
        write_store("cora", folder / "a" / "b")
    with pytest.raises(InputError, match="set of graphs"):
        write_store("mutag", folder / "a")
    with pytest.raises(InputError, match="no graph store"):
        open_store(folder.parent)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["store"]
