"""Feature normalisation."""

import torch
from torch_geometric.data import Data

from sfa.graph.features import normalise_features


def test_rows_sum_to_one_zero_rows_stay_and_the_input_is_untouched() -> None:
    x = torch.tensor([[1.0, 3.0], [0.0, 0.0], [-2.0, 2.0]])
    graph = Data(x=x.clone(), edge_index=torch.tensor([[0, 1], [1, 0]]), node_ids=["a", "b", "c"])
    normalised = normalise_features(graph, "row")
    assert torch.equal(normalised.x, torch.tensor([[0.25, 0.75], [0.0, 0.0], [-0.5, 0.5]]))
    assert torch.equal(graph.x, x)
    assert normalised.node_ids == graph.node_ids
    assert normalise_features(graph, "none") is graph


def test_a_row_does_not_depend_on_the_others() -> None:
    x = torch.rand(6, 4, generator=torch.Generator().manual_seed(0))
    whole = normalise_features(Data(x=x), "row").x
    assert torch.equal(whole[:2], normalise_features(Data(x=x[:2]), "row").x)
