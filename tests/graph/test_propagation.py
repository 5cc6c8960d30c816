"""What the encoder refuses of a graph that did not come through the door, and what it takes in inference mode."""

import pytest
import torch
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.nn import GCN

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


@pytest.mark.parametrize(
    "weight", [[1.0, 2.0, 1.0, 1.0], [-1.0, -1.0, 1.0, 1.0], [float("nan"), float("nan"), 1.0, 1.0]], ids=str
)
@pytest.mark.parametrize("call", ["forward", "embed"])
def test_weights_that_are_no_symmetric_adjacency_are_refused(weight: list[float], call: str) -> None:
    graph = Data(x=torch.ones(3, 2), edge_index=EDGES, edge_weight=torch.tensor(weight))
    with pytest.raises(InputError, match="edge weights"):
        getattr(GCN(2, 4), call)(graph)


@pytest.mark.parametrize("call", ["forward", "embed"])
def test_edges_of_one_direction_are_refused(call: str) -> None:
    graph = Data(x=torch.ones(3, 2), edge_index=EDGES[:, :3])
    with pytest.raises(InputError, match="one direction"):
        getattr(GCN(2, 4), call)(graph)


def test_graphs_made_in_inference_mode() -> None:
    encoder = GCN(2, 4).eval()
    expected = encoder(Data(x=torch.ones(3, 2), edge_index=EDGES))
    with torch.inference_mode():
        graph = Data(x=torch.ones(3, 2), edge_index=EDGES.clone())
        torch.testing.assert_close(encoder(graph), expected)
        graph.edge_index.copy_(graph.edge_index.flip(0))
        torch.testing.assert_close(encoder.embed(graph), expected)
