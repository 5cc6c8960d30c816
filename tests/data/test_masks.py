"""Public splits: boolean, of the right length, of parts that have no node in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import as_graph, build_graph, fingerprint, load, read_graph
from sfa.errors import InputError
from sfa.graph.features import add_noise, normalize_features
from sfa.registry import resolve
from tests.augment.views import random_views

X = np.arange(12.0).reshape(6, 2)
EDGES = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
ONE = {
    "train_mask": np.array([1, 1, 0, 0, 0, 0], bool),
    "val_mask": np.array([0, 0, 1, 0, 0, 0], bool),
    "test_mask": np.array([0, 0, 0, 1, 1, 0], bool),
}
TWO = {
    "train_mask": np.eye(6, dtype=bool)[:, [0, 1]],
    "val_mask": np.eye(6, dtype=bool)[:, [2, 5]],
    "test_mask": ONE["test_mask"],
}


def stored(data: Data) -> dict[str, list[Any]]:
    return {name: data[name].tolist() for name in ONE if name in data}


@pytest.mark.parametrize("masks", [ONE, TWO, {"test_mask": ONE["test_mask"]}, {}], ids=["one", "two", "part", "none"])
def test_masks_are_kept_as_they_are(masks: dict[str, Any], tmp_path: Path) -> None:
    wanted = {name: mask.tolist() for name, mask in masks.items()}
    data = build_graph(X, EDGES, y=[0, 1, 0, 1, 0, 1], masks=masks)
    assert stored(data) == wanted
    assert all(data[name].dtype == torch.bool for name in wanted)
    assert stored(as_graph(data)) == wanted
    assert stored(as_graph(data, labels=False)) == {}, "what is not asked for may be anything"

    np.savez(tmp_path / "g.npz", x=X, edge_index=EDGES, **masks)
    torch.save(Data(x=data.x, edge_index=data.edge_index, **{k: data[k] for k in masks}), tmp_path / "g.pt")
    for file in ("g.npz", "g.pt"):
        assert stored(read_graph(tmp_path / file)) == wanted


def test_a_table_of_one_split_is_one_mask() -> None:
    assert build_graph(X, EDGES, masks={"val_mask": ONE["val_mask"][:, None]}).val_mask.shape == (6,)


def test_the_callers_masks_are_not_shared() -> None:
    given = {name: mask.copy() for name, mask in ONE.items()}
    data = build_graph(X, EDGES, masks=given)
    data.train_mask.fill_(True)
    assert given["train_mask"].sum() == 2


def test_what_is_wrong_is_said(subtests: pytest.Subtests) -> None:
    for masks, says in [
        ({"train_mask": np.ones(5, bool)}, r"train_mask has shape \[5\].*\[6\] or \[6, splits\]"),
        ({"val_mask": np.ones((6, 2, 2), bool)}, r"val_mask has shape \[6, 2, 2\]"),
        ({"val_mask": np.ones((6, 0), bool)}, r"val_mask has shape \[6, 0\]"),
        ({"test_mask": [0, 1, 0, 1, 0, 1]}, "test_mask has .* int64 values, but .* a mask is boolean"),
        ({**ONE, "val_mask": ~ONE["train_mask"]}, "2 nodes are both in val_mask and in test_mask .the first: node 3"),
        ({**TWO, "test_mask": TWO["val_mask"][:, ::-1] | TWO["train_mask"]}, "both in train_mask and in test_mask"),
        (
            {**TWO, "val_mask": np.eye(6, dtype=bool)[:, [2, 1]]},
            "1 nodes are both in train_mask and in val_mask.*node 1",
        ),
        ({**TWO, "val_mask": np.zeros((6, 3), bool)}, "2 in train_mask, 3 in val_mask"),
        ({"training": ONE["train_mask"]}, "no mask 'training'; allowed are train_mask, val_mask, test_mask"),
    ]:
        with subtests.test(says):
            with pytest.raises(InputError, match=says) as caught:
                build_graph(X, EDGES, masks=masks)
            assert "\n" not in str(caught.value)


def test_parts_may_share_a_node_in_different_splits() -> None:
    masks = {"train_mask": TWO["train_mask"], "val_mask": TWO["train_mask"][:, ::-1]}
    assert stored(build_graph(X, EDGES, masks=masks)) == {name: mask.tolist() for name, mask in masks.items()}


def test_a_fingerprint_does_not_depend_on_masks() -> None:
    plain = build_graph(X, EDGES)
    assert fingerprint(plain) == fingerprint(build_graph(X, EDGES, masks=ONE))
    assert fingerprint(plain) == fingerprint(build_graph(X, EDGES, masks=TWO))


def test_cora_has_its_public_split_and_the_fingerprint_of_earlier_runs() -> None:
    cora = load("cora")
    assert [int(cora[name].sum()) for name in ONE] == [140, 500, 1000]
    assert torch.bincount(cora.y[cora.train_mask]).tolist() == [20] * 7
    # Of Planetoid's own files: subjects of the test part, in the order of our class names.
    assert torch.bincount(cora.y[cora.test_mask]).tolist() == [103, 144, 319, 149, 91, 64, 130]
    assert fingerprint(cora) == "c433140eefca88607794c1c342906055237441c6fd6aa26c1e8a9d8127240faf"


@pytest.mark.parametrize("sampler", ["whole", "neighbours", "random-walks"])
@pytest.mark.parametrize("masks", [ONE, TWO], ids=["one", "two"])
def test_masks_are_in_nobodys_way(sampler: str, masks: dict[str, Any]) -> None:
    graph = build_graph(X, EDGES, masks=masks)
    generator = torch.Generator().manual_seed(0)
    prepared = normalize_features(add_noise(graph, 0.1, seed=0), "standard")
    assert stored(prepared) == stored(graph)
    made = resolve("sampler", sampler)(prepared)
    for part in ([0, 3], list(range(6))):
        batch = made.batch(torch.tensor(part), generator)
        views = random_views(batch, (0.2, 0.4), (0.3, 0.3), generator)
        assert [view.num_nodes for view in views] == [batch.num_nodes] * 2
