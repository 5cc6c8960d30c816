"""Files of graphs, tables, labels and images at random: success, or one sentence and nothing touched on disk."""

from __future__ import annotations

import functools
import io
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy import sparse
from torch_geometric.data import Data

from sfa.data import as_graph, as_graphs, as_images, load
from sfa.data.images import KEYS as IMAGE_KEYS
from sfa.data.readers.graph import KEYS, SCIPY_KEYS
from tests.data.test_datasets import LAYOUTS, random_graph
from tests.data.test_tu_sets import ATOMS, CHARGES, write_tu
from tests.fuzz.outcomes import contents, examples, outcome

fuzz = examples(25)
EDGES = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
NUMBERS = [0, 1, -1, 2, 3, 4, 5, 255, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 0.5, -0.0, 1e39, 1e300]
NUMBERS += [float("nan"), float("inf"), -float("inf")]
TYPES = ["?", "i1", "u1", "<i4", ">i8", "i8", "u8", "f2", "f4", "f8", "g", "c8", "S2", "U2", "M8[s]", "m8[s]", "i4,f8"]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("SFA_DATA", raising=False)


def untouched(folder: Path, *actions: Callable[[], Any]) -> None:
    before = contents(folder)
    for action in actions:
        outcome(action)
    assert contents(folder) == before


@st.composite
def odd_arrays(draw: st.DrawFn) -> np.ndarray:
    shape = draw(st.sampled_from([(), (0,), (1,), (2,), (4,), (5,), (6,), (2, 4), (5, 2), (4, 2), (0, 4), (2, 0, 3)]))
    values = draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=6))
    with np.errstate(all="ignore"):
        flat = np.resize(np.array(values, dtype=object), int(np.prod(shape)))
        kind = np.dtype(draw(st.sampled_from(TYPES)))
        if kind.kind in "fgc":
            return flat.astype(float).astype(kind).reshape(shape)
        whole = [int(one) % 2**64 if one == one and abs(one) < 1e40 else 7 for one in flat]
        return np.array(whole, dtype=np.uint64).astype("i8").astype(kind).reshape(shape)


@st.composite
def changed(draw: st.DrawFn, content: bytes) -> bytes:
    """The bytes, of which some are others, left out, put in or repeated."""
    made = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(made) - 1, 0)))
        size = draw(st.sampled_from([1, 1, 2, 4, 8, 60]))
        match draw(st.sampled_from(["set", "set", "number", "cut", "end", "put in", "repeat"])):
            case "set":
                made[place : place + size] = draw(st.binary(min_size=1, max_size=4))
            case "number":
                made[place : place + 4] = draw(st.sampled_from([b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f", b"9999"]))
            case "cut":
                del made[place : place + size]
            case "end":
                del made[place:]
            case "put in":
                made[place:place] = draw(
                    st.binary(max_size=8) | st.sampled_from([b"\0", b"\n", b",", b'"', b"\x85" * 9])
                )
            case "repeat":
                made[place:place] = made[place : place + size] * draw(st.integers(1, 50))
    return bytes(made)


def npz(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def parts(prefix: str, matrix: Any) -> dict[str, Any]:
    return {f"{prefix}{key}": np.asarray(getattr(matrix, key)) for key in ("data", "indices", "indptr", "shape")}


ADJACENCY = sparse.csr_array((np.ones(4), tuple(EDGES)), shape=(5, 5))
GRAPHS = [
    {"x": np.eye(5), "edge_index": EDGES, "y": np.arange(5) % 2},
    {"x": np.eye(5), "edge_index": EDGES, "ptr": [0, 5], "graph_ids": ["a"], "edge_weight": np.ones(4)},
    {"labels": np.arange(5), **parts("attr_", sparse.csr_array(np.eye(5))), **parts("adj_", ADJACENCY)},
    *({"format": np.bytes_(kind), **parts("", ADJACENCY.asformat(kind))} for kind in ("csr", "csc", "bsr")),
    {"format": np.bytes_("coo"), "row": EDGES[0], "col": EDGES[1], "data": np.ones(4), "shape": [5, 5]},
    {"format": np.bytes_("dia"), "offsets": [1], "data": np.ones((1, 5)), "shape": [5, 5]},
]


@fuzz
@given(
    st.sampled_from(GRAPHS),
    st.dictionaries(st.sampled_from(sorted(KEYS | SCIPY_KEYS)), odd_arrays(), max_size=2),
    st.sampled_from(sorted(KEYS | SCIPY_KEYS)),
)
def test_npz_of_graphs(tmp_path: Path, graph: dict[str, Any], odd: dict[str, Any], lacking: str) -> None:
    arrays = {key: value for key, value in (graph | odd).items() if odd or key != lacking}
    (tmp_path / "g.npz").write_bytes(npz(arrays))
    untouched(tmp_path, lambda: load(tmp_path / "g.npz", node_features="degree"), lambda: load(tmp_path / "g.npz"))


IMAGES = {"x": np.zeros((3, 4, 5, 3), np.uint8), "y": [0, 1, 0]}
HALVES = {"x_train": IMAGES["x"], "x_test": IMAGES["x"], "y_train": [0, 1, 0], "y_test": [0, 1, 0]}


@fuzz
@given(
    st.sampled_from([IMAGES, HALVES]), st.dictionaries(st.sampled_from(sorted(IMAGE_KEYS)), odd_arrays(), max_size=2)
)
def test_npz_of_images(tmp_path: Path, images: dict[str, Any], odd: dict[str, Any]) -> None:
    (tmp_path / "i.npz").write_bytes(npz(images | odd))
    np.save(tmp_path / "i.npy", odd.get("x", IMAGES["x"]), allow_pickle=False)
    untouched(tmp_path, lambda: load(tmp_path / "i.npz"), lambda: load(tmp_path / "i.npy"))
    outcome(lambda: as_images(odd.get("x", IMAGES["x"])))


@st.composite
def odd_values(draw: st.DrawFn) -> Any:
    """Tensors of odd kinds and what else may be in a Data."""
    array = draw(odd_arrays())
    plain = array.dtype.kind in "biufc" and array.dtype.isnative and array.dtype.char != "g"
    tensor = torch.from_numpy(np.array(array)) if plain else torch.ones(2, 4)
    kinds: list[Callable[[], Any]] = [
        lambda: tensor,
        lambda: tensor.to(torch.bfloat16),
        lambda: tensor.to_sparse(),
        lambda: tensor.to_sparse_csr(),
        lambda: tensor.to("meta"),
        lambda: torch.quantize_per_tensor(tensor.float(), 0.1, 0, torch.qint8),
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        lambda: tensor.to(torch.float8_e5m2),
        lambda: torch.sparse_coo_tensor([[0, 9**9], [1, -1]], [1.0, 1.0], (5, 5), check_invariants=False),
        lambda: torch.ones(1, 1).expand(10**6, 10**7),
        lambda: tensor.tolist(),
    ]
    others = st.none() | st.text(max_size=3) | st.sampled_from([5, -1, 2**70, 2.5, True, [], [[1], [2, 3]], {"a": 1}])
    if draw(st.booleans()):
        return draw(others)
    try:
        return draw(st.sampled_from(kinds))()
    except (RuntimeError, IndexError):  # not of this shape or type
        return tensor


DATA_KEYS = ["x", "edge_index", "edge_weight", "edge_attr", "y", "num_nodes", "ptr", "batch", "node_ids", "graph_ids"]
DATA_KEYS += ["name", "task", "class_names", "train_mask", "test_mask", "features_of", "mapped_features", "pos"]


@fuzz
@given(
    st.dictionaries(st.sampled_from(DATA_KEYS), odd_values(), max_size=2),
    st.sampled_from(["dict", "Data", "list", "value", "legacy"]),
    st.data(),
)
def test_pt(tmp_path: Path, odd: dict[str, Any], container: str, choose: st.DataObject) -> None:
    sound = {"x": torch.eye(5), "edge_index": torch.tensor(EDGES), "y": torch.arange(5)}
    made: Any = sound | odd
    if container in ("Data", "list"):
        made = Data.from_dict(made)
        outcome(lambda: as_graph(made, node_features=choose.draw(st.sampled_from([None, "degree"]))))
        outcome(lambda: as_graphs([made, made]))
    made = [made, made] if container == "list" else next(iter(odd.values()), None) if container == "value" else made
    try:
        torch.save(made, tmp_path / "g.pt", _use_new_zipfile_serialization=container != "legacy")
    except (RuntimeError, NotImplementedError):  # what torch does not save
        return
    if choose.draw(st.booleans()):
        content = (tmp_path / "g.pt").read_bytes()
        (tmp_path / "g.pt").write_bytes(choose.draw(changed(content)))
    untouched(tmp_path, lambda: load(tmp_path / "g.pt"), lambda: load(tmp_path / "g.pt", node_features="degree"))


@functools.cache
def saved(kind: str) -> bytes:
    """A sound file of each kind."""
    file = io.BytesIO()
    frame = pd.DataFrame({"id": list("abcde"), "one": range(5), "two": 0.5, "label": [0, 1, 0, 1, -1]})
    if kind == "npz":
        return npz(GRAPHS[0])
    if kind == "scipy":
        return npz(GRAPHS[3])
    if kind == "pt":
        torch.save(Data(x=torch.eye(5), edge_index=torch.tensor(EDGES)), file)
    elif kind == "npy":
        np.save(file, np.eye(5))
    elif kind == "parquet":
        frame.to_parquet(file)
    elif kind == "csv":
        return frame.to_csv(index=False).encode()
    elif kind == "gml":
        nodes = "".join(f'node [ id {i} label "{name}" x {i} y "c" ] ' for i, name in enumerate("abcde"))
        return f"graph [ {nodes} edge [ source 0 target 1 weight 2.5 ] edge [ source 1 target 4 ] ]".encode()
    elif kind == "graphml":
        keys = '<key id="d0" for="node" attr.name="x" attr.type="string"/><key id="d1" for="edge" attr.name="weight" '
        nodes = "".join(f'<node id="{name}"><data key="d0">1 {i}</data></node>' for i, name in enumerate("abcde"))
        ends = '<edge source="a" target="b"><data key="d1">2.5</data></edge><edge source="b" target="e"/>'
        top = '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        return (
            f'{top}{keys}attr.type="double"/><graph edgedefault="undirected">{nodes}{ends}</graph></graphml>'.encode()
        )
    else:
        gray = np.arange(30, dtype=np.uint8).reshape(6, 5)
        image = Image.fromarray(np.stack([gray, gray, gray], axis=2) if kind not in ("pgm", "gif") else gray)
        image.save(file, {"jpg": "JPEG", "pgm": "PPM", "tif": "TIFF"}.get(kind, kind.upper()))
    return file.getvalue()


@pytest.mark.parametrize("kind", ["npz", "scipy", "pt", "gml", "graphml"])
@examples(20)
@given(choose=st.data())
def test_damaged_graphs(kind: str, tmp_path: Path, choose: st.DataObject) -> None:
    path = tmp_path / f"g.{'npz' if kind == 'scipy' else kind}"
    path.write_bytes(choose.draw(changed(saved(kind))))
    untouched(tmp_path, lambda: load(path), lambda: load(path, node_features="degree"))


cells = st.sampled_from(
    ["a", "b", "5", "-1", "0.5", "1e999", "nan", "", '"', '"a', "#", "\0", "9" * 5000, "é", "label"]
)
cells |= st.sampled_from(
    ["id", "source", "target", "weight", "node", "user", "item", "inf", " ", "1_0", "٣", "2020-01-01"]
)
rows = st.lists(st.lists(cells, min_size=0, max_size=4), max_size=6)
texts = st.builds(
    lambda table, separator, end: end.join(separator.join(row) for row in table),
    rows,
    st.sampled_from([",", "\t", ";", " ", ", "]),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
)
encoded = st.builds(lambda text, code: text.encode(code), texts, st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))


@examples(40)
@given(encoded, encoded, encoded, st.sampled_from(["csv", "tsv", "txt"]), st.booleans())
def test_tables(tmp_path: Path, edges: bytes, features: bytes, labels: bytes, suffix: str, sound: bool) -> None:
    (tmp_path / f"e.{suffix}").write_bytes(b"a,b\nb,c\nc,d\nd,e\n" if sound else edges)
    (tmp_path / f"x.{suffix}").write_bytes(features)
    (tmp_path / "y.csv").write_bytes(labels)
    path, x, y = tmp_path / f"e.{suffix}", tmp_path / f"x.{suffix}", tmp_path / "y.csv"
    untouched(
        tmp_path,
        lambda: load(path, node_features="degree"),
        lambda: load(path, node_features="degree", labels=y),
        lambda: load(path, features=x),
        lambda: load(path, node_features="degree", source="a", target="b", bipartite=True),
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
@examples(20)
@given(choose=st.data())
def test_damaged_features(kind: str, tmp_path: Path, choose: st.DataObject) -> None:
    (tmp_path / "e.csv").write_text("a,b\nb,c\nc,d\nd,e\n")
    (tmp_path / f"x.{kind}").write_bytes(choose.draw(changed(saved(kind))))
    untouched(tmp_path, lambda: load(tmp_path / "e.csv", features=tmp_path / f"x.{kind}"))


@pytest.mark.parametrize("kind", ["png", "jpg", "bmp", "webp", "gif", "tif", "ppm", "pgm"])
@examples(15)
@given(choose=st.data())
def test_damaged_images(kind: str, tmp_path: Path, choose: st.DataObject) -> None:
    (tmp_path / "photos").mkdir(exist_ok=True)
    (tmp_path / "photos" / "sound.png").write_bytes(saved("png"))
    (tmp_path / "photos" / f"a.{kind}").write_bytes(choose.draw(changed(saved(kind))))
    (tmp_path / "y.csv").write_bytes(choose.draw(st.sampled_from([b"a,0\nsound,1\n"]) | encoded))
    options: dict[str, Any] = choose.draw(st.sampled_from([{}, {"image_size": 4}, {"skip_corrupt": True}]))
    untouched(
        tmp_path,
        lambda: load(tmp_path / "photos", **options),
        lambda: load(tmp_path / "photos", labels=tmp_path / "y.csv", image_size=4, skip_corrupt=True),
    )


@st.composite
def other_json(draw: st.DrawFn, content: Any) -> Any:
    """A dictionary with another value under one of its keys."""
    odd = st.recursive(st.sampled_from(NUMBERS) | st.none() | st.text(max_size=2), st.lists, max_leaves=5)
    return content | {draw(st.sampled_from(sorted(content))): draw(odd)}


@pytest.mark.parametrize("name", [*LAYOUTS, "nci1"])
@examples(15)
@given(choose=st.data())
def test_raw_files_of_named_sets(name: str, tmp_path: Path, choose: st.DataObject) -> None:
    root = tmp_path / "root"
    if not root.exists():
        write_tu(root, node_labels=ATOMS, node_attributes=CHARGES) if name == "nci1" else LAYOUTS[name][0](
            root, random_graph(LAYOUTS[name][2])
        )
    file = choose.draw(st.sampled_from(sorted(path for path in root.rglob("*") if path.is_file())))
    content = file.read_bytes()
    if file.suffix == ".npz":
        with np.load(file) as archive:
            arrays = dict(archive)
        other = npz(arrays | {choose.draw(st.sampled_from(sorted(arrays))): choose.draw(odd_arrays())})
    elif file.suffix == ".json" and choose.draw(st.booleans()):
        other = json.dumps(choose.draw(other_json(json.loads(content)))).encode()
    else:
        other = choose.draw(changed(content))
    try:
        file.write_bytes(other)
        with warnings.catch_warnings():
            untouched(tmp_path, lambda: load(name, root=root))
    finally:
        file.write_bytes(content)
