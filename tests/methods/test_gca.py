"""GCA: the loss of GRACE, on adaptive views."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.augment.adaptive import adaptive_views
from sfa.graph.centrality import CENTRALITIES, Centrality
from sfa.methods import GCA, GRACE
from sfa.spectral import SpectralFeatureAugmentation


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def slow_loss(z_alpha: Tensor, z_beta: Tensor, tau: float) -> float:
    """The mean over both views of −log of each node's positive over all pairs of it, term by term (Eq. 1 and 2)."""
    u, v = (z / z.norm(dim=1, keepdim=True) for z in (z_alpha.detach().double(), z_beta.detach().double()))
    n, total = len(u), 0.0
    for own, other in ((u, v), (v, u)):
        for i in range(n):
            positive = float((own[i] @ other[i] / tau).exp())
            inter = sum(float((own[i] @ other[k] / tau).exp()) for k in range(n) if k != i)
            intra = sum(float((own[i] @ own[k] / tau).exp()) for k in range(n) if k != i)
            total -= float(torch.tensor(positive / (positive + inter + intra)).log())
    return total / (2 * n)


@pytest.mark.parametrize("centrality", CENTRALITIES)
def test_the_loss_is_the_papers_on_adaptive_views(centrality: Centrality, planted: Data) -> None:
    drops = {"edge_drop": (0.1, 0.4), "feature_drop": (0.2, 0.3)}
    method = GCA(8, hidden=8, tau=0.7, centrality=centrality, cut_off=0.5, **drops)  # type: ignore[arg-type]
    views = adaptive_views(planted, (0.1, 0.4), (0.2, 0.3), seeded(3), centrality=centrality, cut_off=0.5)
    z = [method.head(method.encoder(view)) for view in views]
    assert method(planted, seeded(3)).item() == pytest.approx(slow_loss(*z, 0.7), rel=1e-4)


def test_views_differ_from_grace_s_and_the_rest_does_not(planted: Data) -> None:
    torch.manual_seed(0)
    gca = GCA(8, hidden=8)
    grace = GRACE(
        8, hidden=8, activation="prelu", projection=256, edge_drop=gca.edge_drop, feature_drop=gca.feature_drop
    )
    grace.load_state_dict(gca.state_dict())
    assert torch.equal(gca.embed(planted), grace.embed(planted))
    assert not torch.equal(gca(planted, seeded(1)), grace(planted, seeded(1)))
    z = torch.randn(2, 9, 8, generator=seeded())
    assert torch.equal(gca.loss(*z), grace.loss(*z))


def test_edges_of_central_nodes_stay(planted: Data) -> None:
    method = GCA(8, hidden=8, edge_drop=(0.4, 0.4))
    degree = torch.bincount(planted.edge_index[0])
    importance = degree[planted.edge_index].sum(0)
    generator = seeded()
    kept = sum(method.views(planted, generator)[0].edge_weight for _ in range(200)) / 200
    assert kept[importance == importance.max()].min() == 1
    assert kept[importance <= importance.float().quantile(0.2)].mean() < 0.5


def test_sfa_changes_the_loss_and_not_the_embeddings(planted: Data) -> None:
    plain, augmented = GCA(8, hidden=8), GCA(8, hidden=8, spectral=SpectralFeatureAugmentation())
    augmented.load_state_dict(plain.state_dict())
    assert not torch.isclose(plain(planted, seeded(1)), augmented(planted, seeded(1)))
    assert torch.equal(plain.embed(planted), augmented.embed(planted))


def test_an_unknown_centrality_is_refused_before_training() -> None:
    with pytest.raises(InputError, match="Unknown centrality 'closeness'"):
        GCA(8, centrality="closeness")  # type: ignore[arg-type]
