"""Random views: which augmentations a name stands for, how likely each, and that every graph has its own."""

import pytest
import torch
from torch_geometric.data import Batch, Data

from sfa.errors import InputError
from sfa.augment.graph import AUGMENTATIONS, Rates
from sfa.augment.graph import RandomViews, probabilities_of


@pytest.mark.parametrize(
    ("name", "among"),
    [
        ("identity", {"identity"}),
        ("attribute-mask", {"attribute-mask"}),
        ("random2", {"node-drop", "subgraph"}),
        ("random3", {"node-drop", "subgraph", "edge-perturb"}),
        ("random4", {"node-drop", "subgraph", "edge-perturb", "attribute-mask"}),
    ],
)
def test_a_name_stands_for_augmentations_that_are_as_likely(name: str, among: set[str]) -> None:
    found = dict(zip(AUGMENTATIONS, probabilities_of(name).tolist(), strict=True))  # type: ignore[arg-type]
    assert found == pytest.approx({kind: 1 / len(among) if kind in among else 0 for kind in AUGMENTATIONS})


def test_each_graph_is_treated_by_its_own_choice_and_the_rates() -> None:
    """Rings of ten nodes: of some a node goes, of the others all but three; and about as many of either."""
    ring = torch.tensor([[i, (i + 1) % 10] for i in range(10)]).T
    one = Data(x=torch.ones(10, 2), edge_index=torch.cat([ring, ring.flip(0)], 1))
    view = RandomViews("random2", Rates(node_drop=0.1, subgraph_keep=0.3))
    sizes = view(Batch.from_data_list([one] * 400), torch.Generator().manual_seed(0)).ptr.diff()
    assert set(sizes.tolist()) == {9, 3}
    assert 150 < int((sizes == 9).sum()) < 250


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="Unknown augmentation 'node_drop': did you mean 'node-drop'"):
        RandomViews("node_drop", Rates())  # type: ignore[arg-type]
