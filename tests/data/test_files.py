"""Each format, written by the test, is read back as the same graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from sfa.data import fingerprint, load, read_graph
from sfa.errors import InputError

Files = dict[str, Path]


def adjacency(graph: Data) -> sparse.csr_matrix:
    return sparse.csr_matrix((graph.edge_weight.numpy(), graph.edge_index.numpy()), shape=(5, 5))


def as_networkx(graph: Data, row: Callable[[list[float]], object]) -> nx.Graph:
    result = nx.Graph()
    for i in range(graph.num_nodes):
        result.add_node(i, x=row(graph.x[i].tolist()), y=int(graph.y[i]))
    for (u, v), w in zip(graph.edge_index.T.tolist(), graph.edge_weight.tolist(), strict=True):
        result.add_edge(u, v, weight=w)
    return result


def npz_dense(graph: Data, folder: Path) -> Files:
    np.savez(folder / "g.npz", x=graph.x, edge_index=graph.edge_index, edge_weight=graph.edge_weight, y=graph.y)
    return {"path": folder / "g.npz"}


def npz_benchmark(graph: Data, folder: Path) -> Files:
    arrays = {}
    for prefix, matrix in (("attr", sparse.csr_matrix(graph.x.numpy())), ("adj", adjacency(graph))):
        for part in ("data", "indices", "indptr", "shape"):
            arrays[f"{prefix}_{part}"] = np.asarray(getattr(matrix, part))
    np.savez_compressed(folder / "g.npz", labels=graph.y, **arrays)
    return {"path": folder / "g.npz"}


def npz_scipy(graph: Data, folder: Path) -> Files:
    sparse.save_npz(folder / "g.npz", adjacency(graph))
    np.save(folder / "x.npy", graph.x)
    return {"path": folder / "g.npz", "features": folder / "x.npy", "labels": labels_csv(graph, folder)}


def labels_csv(graph: Data, folder: Path) -> Path:
    known = [(i, label) for i, label in enumerate(graph.y.tolist()) if label >= 0]
    pd.DataFrame(known, columns=["id", "label"]).to_csv(folder / "labels.csv", index=False)
    return folder / "labels.csv"


def edge_frame(graph: Data) -> pd.DataFrame:
    source, target = graph.edge_index.tolist()
    return pd.DataFrame({"source": source, "target": target, "weight": graph.edge_weight.numpy()})


def feature_frame(graph: Data) -> pd.DataFrame:
    """In another order than the nodes', with the labels; an unknown label is an empty cell."""
    frame = pd.DataFrame(graph.x.numpy(), columns=["f0", "f1"])
    frame.insert(0, "node", range(5))
    frame["label"] = pd.array([None if y < 0 else y for y in graph.y.tolist()], dtype="Int64")
    return frame


def csv_csv(graph: Data, folder: Path) -> Files:
    edge_frame(graph).to_csv(folder / "g.csv", index=False)
    feature_frame(graph).to_csv(folder / "x.csv", index=False)
    return {"path": folder / "g.csv", "features": folder / "x.csv"}


def tsv_parquet(graph: Data, folder: Path) -> Files:
    edge_frame(graph).to_csv(folder / "g.tsv", index=False, header=False, sep="\t")
    feature_frame(graph).to_parquet(folder / "x.parquet")
    return {"path": folder / "g.tsv", "features": folder / "x.parquet"}


def csv_parquet_index(graph: Data, folder: Path) -> Files:
    edge_frame(graph).to_csv(folder / "g.csv", index=False, sep=";")
    feature_frame(graph).set_index("node").to_parquet(folder / "x.parquet")
    return {"path": folder / "g.csv", "features": folder / "x.parquet"}


def txt_npy(graph: Data, folder: Path) -> Files:
    body = edge_frame(graph).to_csv(index=False, header=False, sep=" ")
    (folder / "g.txt").write_text(f"# a comment\n# another, with commas\n\n{body}")
    np.save(folder / "x.npy", graph.x)
    return {"path": folder / "g.txt", "features": folder / "x.npy", "labels": labels_csv(graph, folder)}


def torch_data(graph: Data, folder: Path) -> Files:
    torch.save(graph, folder / "g.pt")
    return {"path": folder / "g.pt"}


def torch_dictionary(graph: Data, folder: Path) -> Files:
    torch.save({key: graph[key] for key in ("x", "edge_index", "edge_weight", "y")}, folder / "g.pt")
    return {"path": folder / "g.pt"}


def gml(graph: Data, folder: Path) -> Files:
    nx.write_gml(as_networkx(graph, lambda row: row), folder / "g.gml")
    return {"path": folder / "g.gml"}


def graphml(graph: Data, folder: Path) -> Files:
    nx.write_graphml(as_networkx(graph, str), folder / "g.graphml")
    return {"path": folder / "g.graphml"}


def gml_parquet(graph: Data, folder: Path) -> Files:
    bare = as_networkx(graph, lambda row: row)
    for node in bare:
        bare.nodes[node].clear()
    nx.write_gml(bare, folder / "g.gml")
    feature_frame(graph).iloc[[3, 1, 0, 4, 2]].to_csv(folder / "x.csv", index=False)
    return {"path": folder / "g.gml", "features": folder / "x.csv"}


FORMATS = [
    npz_dense,
    npz_benchmark,
    npz_scipy,
    csv_csv,
    tsv_parquet,
    csv_parquet_index,
    txt_npy,
    torch_data,
    torch_dictionary,
    gml,
    graphml,
    gml_parquet,
]


@pytest.mark.parametrize("write", FORMATS)
def test_every_format_gives_the_same_graph(write: Callable[[Data, Path], Files], graph: Data, tmp_path: Path) -> None:
    data = read_graph(**write(graph, tmp_path))  # type: ignore[arg-type]
    assert fingerprint(data) == fingerprint(graph)
    assert data.node_ids == [0, 1, 2, 3, 4]
    assert data.name == ("small" if write is torch_data else "g")


def test_ids_and_labels_may_be_any_text(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("u,v\nv,007\nNA,007\n")  # u and v are nodes here, not a header
    (tmp_path / "x.csv").write_text("id,0,1\nNA,1,2\nu,3,4\nv,5,6\n007,7,8\n")
    (tmp_path / "y.csv").write_text("u,y\nNA,n\n007,y\n")
    data = read_graph(tmp_path / "e.csv", features=tmp_path / "x.csv", labels=tmp_path / "y.csv")
    assert data.node_ids == ["NA", "u", "v", "007"]
    assert data.edge_index.tolist() == [[0, 1, 2, 2, 3, 3], [3, 2, 1, 3, 0, 2]]
    assert data.y.tolist() == [0, 1, -1, 1]
    assert data.class_names == ["n", "y"]


@pytest.mark.parametrize("header", ["", "Source,Target\n", "paper,cites\n"])
def test_the_header_of_an_edge_list_may_be_left_out(header: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"{header}10,11\n11,12\n")
    (tmp_path / "x.csv").write_text("10,1\n11,2\n12,3\n")
    data = read_graph(tmp_path / "e.csv", features=tmp_path / "x.csv")
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.x.tolist() == [[1], [2], [3]]


def test_named_columns_of_an_edge_list_may_stand_anywhere(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("year,weight,target,source\n1999,0.5,a,b\n2000,2,b,c\n")
    (tmp_path / "x.csv").write_text("a,1\nb,2\nc,3\n")
    data = read_graph(tmp_path / "e.csv", features=tmp_path / "x.csv")
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.edge_weight.tolist() == [0.5, 0.5, 2, 2]


def test_names_travel_in_npz_and_pt(graph: Data, tmp_path: Path) -> None:
    names = {"node_ids": list("abcde"), "class_names": ["no", "yes"]}
    np.savez(tmp_path / "g.npz", x=graph.x, edge_index=graph.edge_index, y=graph.y, **names)
    torch.save(Data(x=graph.x, edge_index=graph.edge_index, y=graph.y, **names), tmp_path / "g.pt")
    for file in ("g.npz", "g.pt"):
        data = read_graph(str(tmp_path / file))
        assert (data.node_ids, data.class_names) == (list("abcde"), ["no", "yes"])


def test_feature_rows_of_an_unnamed_adjacency_keep_their_order_and_lend_their_names(
    graph: Data, tmp_path: Path
) -> None:
    files = npz_scipy(graph, tmp_path)
    frame = feature_frame(graph).drop(columns="label")
    frame["node"] = list("vwxyz")
    frame.to_csv(tmp_path / "x.csv", index=False)
    data = read_graph(files["path"], features=tmp_path / "x.csv")
    assert data.node_ids == list("vwxyz")
    assert torch.equal(data.x, graph.x)


def test_a_gml_file_without_names_is_read_by_its_ids(tmp_path: Path) -> None:
    (tmp_path / "g.gml").write_text("graph [ node [ id 4 x 1 ] node [ id 9 x 2 ] edge [ source 9 target 4 ] ]")
    data = read_graph(tmp_path / "g.gml")
    assert data.node_ids == [4, 9]
    assert data.x.tolist() == [[1], [2]]


def test_a_third_column_is_the_weight_if_it_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("source,target,count\na,b,5\nb,c,2\n")
    assert load(tmp_path / "e.csv", node_features="degree").edge_weight.tolist() == [5, 5, 2, 2]
    (tmp_path / "e.csv").write_text("source,target,kind\na,b,likes\nb,c,knows\n")
    assert load(tmp_path / "e.csv", node_features="degree").edge_weight is None


def test_a_header_and_no_edges(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("source,target\n")
    with pytest.raises(InputError, match="has a header and no edges"):
        load(tmp_path / "e.csv", node_features="degree")
