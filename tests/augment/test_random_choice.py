"""Random choices: which augmentations a name stands for, how likely each, and that every graph has its own."""

from typing import Any

import pytest
import torch
from torch_geometric.data import Batch, Data

from sfa.augment import RandomChoice
from sfa.augment.graph import AUGMENTATIONS, probabilities_of
from sfa.errors import InputError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rings(count: int, size: int) -> Data:
    ring = torch.tensor([[i, (i + 1) % size] for i in range(size)]).T
    one = Data(x=torch.ones(size, 4), edge_index=torch.cat([ring, ring.flip(0)], 1))
    batch: Data = Batch.from_data_list([one] * count)
    return batch


@pytest.mark.parametrize(
    ("name", "among"),
    [
        ("identity", {"identity"}),
        ("attribute-mask", {"attribute-mask"}),
        ("random2", {"node-drop", "subgraph"}),
        ("random3", {"node-drop", "subgraph", "edge-perturb"}),
        ("random4", {"node-drop", "subgraph", "edge-perturb", "attribute-mask"}),
        ("all", set(AUGMENTATIONS)),
    ],
)
def test_a_name_stands_for_augmentations_that_are_as_likely(name: Any, among: set[str]) -> None:
    found = dict(zip(AUGMENTATIONS, probabilities_of(name).tolist(), strict=True))
    assert found == pytest.approx({kind: 1 / len(among) if kind in among else 0 for kind in AUGMENTATIONS})
    assert torch.equal(RandomChoice(name).probabilities, probabilities_of(name))


def test_each_graph_is_treated_by_its_own_choice_and_the_rates() -> None:
    """Rings of ten nodes: of some a node goes, of the others all but three; and about as many of either."""
    augmentation = RandomChoice("random2", node_drop=0.1, subgraph_keep=0.3)
    sizes = augmentation.view(rings(400, 10), seeded()).ptr.diff()
    assert set(sizes.tolist()) == {9, 3}
    assert 150 < int((sizes == 9).sum()) < 250


@pytest.mark.parametrize(
    ("kinds", "sizes"),
    [
        ("identity", {1.0}),
        ("node-drop", {0.5}),
        ("subgraph", {0.25}),
        ("random2", {0.5, 0.25}),
        ("random3", {0.5, 0.25, 1.0}),
        ("random4", {0.5, 0.25, 1.0}),
    ],
)
def test_each_graph_is_augmented_by_a_kind_of_its_own(kinds: Any, sizes: set[float]) -> None:
    """Rings of 8 nodes: half of them stay after a node drop, a quarter in a subgraph, all after the other kinds."""
    batch = rings(64, 8)
    augmentation = RandomChoice(
        kinds, node_drop=0.5, subgraph_keep=0.25, attribute_mask=1.0, edge_drop=0.5, both_views=False
    )
    alpha, beta = augmentation(batch, seeded())
    assert alpha is batch
    assert set((beta.ptr.diff() / 8).tolist()) == sizes
    whole = beta.ptr.diff().index_select(0, beta.batch) == 8
    assert bool((beta.x[whole] != 1).any()) == (kinds == "random4")
    fewer_edges = beta.edge_index[:, whole[beta.edge_index[0]]].shape[1] < 2 * int(whole.sum())
    assert fewer_edges == (kinds in ("random3", "random4"))


def test_both_views_are_augmented_and_drawn_apart() -> None:
    batch = rings(10, 6)
    alpha, beta = RandomChoice("attribute-mask", attribute_mask=0.5)(batch, seeded())
    assert not torch.equal(alpha.x, batch.x)
    assert not torch.equal(beta.x, batch.x)
    assert not torch.equal(alpha.x, beta.x)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="Unknown augmentation 'node_drop': did you mean 'node-drop'"):
        RandomChoice("node_drop")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean 'random4'"):
        RandomChoice("random5")  # type: ignore[arg-type]
    for option in ("node_drop", "subgraph_keep"):
        with pytest.raises(InputError, match=option):
            RandomChoice(**{option: 1.5})  # type: ignore[arg-type]
