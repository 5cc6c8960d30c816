"""GCA: the loss of GRACE, on adaptive views."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment import AdaptiveDrop, UniformDrop
from sfa.augment.adaptive import CENTRALITIES, Centrality
from sfa.errors import InputError
from sfa.methods import GCA, GRACE
from sfa.nn import GCN
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation

SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 64,
    "method.intraview": False,
    "training.lr": 5e-3,
    "training.epochs": 8,
}


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
    augmentation = AdaptiveDrop((0.1, 0.4), (0.2, 0.3), centrality=centrality, cut_off=0.5)
    method = GCA(GCN(8, 8), augmentation, tau=0.7)
    z = [method.head(method.encoder(view)) for view in augmentation(planted, seeded(3))]
    assert method(planted, seeded(3)).item() == pytest.approx(slow_loss(*z, 0.7), rel=1e-4)


def test_views_differ_from_grace_s_and_the_rest_does_not(planted: Data) -> None:
    torch.manual_seed(0)
    gca = GCA(GCN(8, 8))
    assert isinstance(gca.augmentation, AdaptiveDrop)
    drops = UniformDrop(gca.augmentation.edge_drop, gca.augmentation.feature_drop)
    grace = GRACE(GCN(8, 8), drops, projection=256)
    grace.load_state_dict(gca.state_dict())
    assert torch.equal(gca.embed(planted), grace.embed(planted))
    assert not torch.equal(gca(planted, seeded(1)), grace(planted, seeded(1)))
    z = torch.randn(2, 9, 8, generator=seeded())
    assert torch.equal(gca.loss(*z), grace.loss(*z))


def test_edges_of_central_nodes_stay(planted: Data) -> None:
    """Edges that point to them: the authors' weights, by which one direction may stay and the other go."""
    method = GCA(GCN(8, 8), AdaptiveDrop(edge_drop=(0.4, 0.4)))
    importance = torch.bincount(planted.edge_index[0])[planted.edge_index[1]]
    generator = seeded()
    kept = sum(method.augmentation(planted, generator)[0].edge_weight for _ in range(200)) / 200
    assert kept[importance == importance.max()].min() == 1
    assert kept[importance <= importance.float().quantile(0.2)].mean() < 0.5


def test_sfa_changes_the_loss_and_not_the_embeddings(planted: Data) -> None:
    plain, augmented = GCA(GCN(8, 8)), GCA(GCN(8, 8), spectral=SpectralFeatureAugmentation())
    augmented.load_state_dict(plain.state_dict())
    assert not torch.isclose(plain(planted, seeded(1)), augmented(planted, seeded(1)))
    assert torch.equal(plain.embed(planted), augmented.embed(planted))


def test_an_unknown_centrality_is_refused_before_training() -> None:
    with pytest.raises(InputError, match="Unknown centrality 'closeness'"):
        AdaptiveDrop(centrality="closeness")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="centrality"):
        Recipe.parse({"method": "gca", "augmentation": {"centrality": "closeness"}})


def test_the_authors_settings() -> None:
    recipe = Recipe.parse({"method": "gca"})
    encoder, augmentation, training = recipe.encoder, recipe.augmentation, recipe.training
    assert isinstance(encoder, dict)
    assert isinstance(augmentation, dict)
    assert (encoder["hidden"], encoder["activation"], recipe.method["projection"]) == (256, "prelu", 256)
    assert (augmentation["name"], augmentation["centrality"], augmentation["cut_off"]) == ("adaptive", "degree", 0.7)
    assert (augmentation["edge_drop"], augmentation["feature_drop"]) == ((0.2, 0.3), (0.1, 0.1))
    assert (augmentation["importance"], training.lr, training.epochs, training.patience) == ("sink", 0.01, 3000, None)
