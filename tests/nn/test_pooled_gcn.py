"""The pooled convolutions against the project's GCN on each graph alone."""

import pytest
import torch
from torch_geometric.data import Batch, Data

from sfa.nn import GCN, PooledGCN
from tests.graph.graph_batches import WIDTH, mixed_batch, seeded


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hidden", [2, 5])
def test_equals_the_gcn_of_each_graph_alone(hidden: int, weighted: bool) -> None:
    """Layer by layer: a GCN of one convolution has the ReLU of ours, and normalization follows."""
    batch = mixed_batch(weighted)
    encoder = PooledGCN(WIDTH, hidden, layers=2)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=seeded()))
    encoder(batch)  # running statistics that are no longer those of a new module
    encoder.eval()
    rows = []
    for graph in Batch.to_data_list(batch):
        h, sums = graph.x, []
        for convolution, norm in zip(encoder.convolutions, encoder.norms, strict=True):
            alone = GCN(h.shape[1], hidden, layers=1)
            alone.convolutions[0].load_state_dict(convolution.state_dict())
            h = norm(alone(Data(x=h, edge_index=graph.edge_index, edge_weight=graph.get("edge_weight"))))
            sums.append(h.sum(0))
        rows.append(torch.cat(sums))
    torch.testing.assert_close(encoder(batch), torch.stack(rows))
    assert not rows[1].any()  # the graph without nodes


def test_normalises_over_the_nodes_of_the_batch_after_the_activation() -> None:
    batch = mixed_batch()
    nodes = PooledGCN(WIDTH, 4).nodes(batch)
    torch.testing.assert_close(nodes.mean(0), torch.zeros(12), rtol=0, atol=1e-5)
    assert bool((nodes < 0).any())
