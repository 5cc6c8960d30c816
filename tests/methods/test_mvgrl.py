"""MVGRL's loss is its paper's, with the diffusion of the whole graph, on plain and on augmented feature maps."""

import math
from typing import Any, Literal

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment import Diffusion, UniformDrop
from sfa.augment.diffusion import personalized_pagerank
from sfa.data import build_graph
from sfa.errors import InputError
from sfa.methods import MVGRL
from sfa.nn import GCN
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from tests.augment.dense_diffusion import dense_adjacency, dense_encoder, dense_heat, dense_pagerank

SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 64,
    "augmentation.tolerance": 1e-3,
    "training.lr": 5e-3,
    "training.epochs": 15,
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def build(diffusion: Literal["ppr", "heat"] = "ppr", spectral: SpectralMap | None = None, **options: Any) -> MVGRL:
    torch.manual_seed(0)
    encoder = GCN(8, 6, layers=1, activation="prelu")
    return MVGRL(encoder, Diffusion(diffusion, tolerance=1e-8, **options), spectral=spectral).double()


def dense_maps(method: MVGRL, graph: Data, x: Tensor) -> tuple[Tensor, Tensor]:
    views = method.diffusion
    kernel = dense_pagerank(graph, views.alpha) if views.diffusion == "ppr" else dense_heat(graph, views.t)
    h_alpha = dense_encoder(method.encoder, dense_adjacency(graph), x)
    return h_alpha, dense_encoder(method.diffusion_encoder, kernel, x)


@torch.no_grad()
def slow_loss(method: MVGRL, maps: list[Tensor]) -> float:
    """The mean, over views and nodes, of sp(-D) with the other view's summary, and of sp(D) for a corrupted node."""
    h_alpha, h_beta, n_alpha, n_beta = maps
    s_alpha, s_beta = (torch.sigmoid(h.sum(0) / len(h)) for h in (h_alpha, h_beta))
    total = 0.0
    for h, s, sign in ((h_alpha, s_beta, -1), (h_beta, s_alpha, -1), (n_alpha, s_beta, 1), (n_beta, s_alpha, 1)):
        for row in h:
            total += math.log(1 + math.exp(sign * float(row @ method.discriminator.weight @ s)))
    return total / sum(len(h) for h in maps)


@pytest.mark.parametrize("iterations", [None, 2])
@pytest.mark.parametrize("diffusion", ["ppr", "heat"])
def test_the_loss_is_the_papers_on_the_maps_of_the_slot(
    planted: Data, diffusion: Literal["ppr", "heat"], iterations: int | None
) -> None:
    planted.x = planted.x.double()
    method = build(diffusion, None if iterations is None else SpectralFeatureAugmentation(iterations=iterations))
    generator = seeded(3)
    order = torch.randperm(60, generator=generator)
    maps = [h for x in (planted.x, planted.x[order]) for h in dense_maps(method, planted, x)]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    assert method(planted, seeded(3)).item() == pytest.approx(slow_loss(method, maps), rel=1e-6)


@pytest.mark.parametrize("diffusion", ["ppr", "heat"])
def test_sfa_changes_the_loss_and_not_the_embeddings(planted: Data, diffusion: Literal["ppr", "heat"]) -> None:
    planted.x = planted.x.double()
    plain, augmented = build(diffusion), build(diffusion, SpectralFeatureAugmentation())
    assert plain(planted, seeded()).item() != pytest.approx(augmented(planted, seeded()).item(), rel=1e-3)
    assert torch.equal(plain.embed(planted), augmented.embed(planted))
    h_alpha, h_beta = dense_maps(plain, planted, planted.x)
    torch.testing.assert_close(plain.embed(planted), (h_alpha + h_beta).detach(), rtol=1e-5, atol=1e-6)


def test_options_of_the_diffusion_count(planted: Data) -> None:
    planted.x = planted.x.double()
    losses = [
        build(planted_kernel, **options)(planted, seeded()).item()
        for planted_kernel, options in (
            ("ppr", {"alpha": 0.2}),
            ("ppr", {"alpha": 0.6}),
            ("heat", {"t": 5.0}),
            ("heat", {"t": 1.0}),
            ("ppr", {"alpha": 0.2, "top_k": 3}),
        )
    ]
    assert len({round(loss, 9) for loss in losses}) == 5
    assert build().embed(planted).shape == (60, 6)


def test_edge_weights_count_in_both_views(planted: Data) -> None:
    rng = torch.Generator().manual_seed(0)
    upper = planted.edge_index[:, planted.edge_index[0] < planted.edge_index[1]]
    weight = torch.rand(upper.shape[1], generator=rng).add(0.1).numpy()
    weighted = build_graph(planted.x.numpy(), upper.numpy(), edge_weight=weight)
    weighted.x = weighted.x.double()
    method = build()
    h_alpha, h_beta = dense_maps(method, weighted, weighted.x)
    torch.testing.assert_close(method.embed(weighted), (h_alpha + h_beta).detach(), rtol=1e-5, atol=1e-6)


def test_the_diffusion_is_worked_out_once_for_all_steps(planted: Data) -> None:
    method = build()
    first = method.diffusion.diffuse(planted).propagation
    planted.x = planted.x.double()
    method(planted, seeded())
    assert method.diffusion.diffuse(planted).propagation is first
    assert personalized_pagerank(planted, alpha=0.2, tolerance=1e-8) is first


def test_the_authors_settings() -> None:
    recipe = Recipe.parse({"method": "mvgrl"})
    encoder, augmentation, training = recipe.encoder, recipe.augmentation, recipe.training
    assert isinstance(encoder, dict)
    assert isinstance(augmentation, dict)
    assert (training.lr, training.weight_decay, training.patience, training.epochs) == (1e-3, 0, 20, 3000)
    assert training.restore_best
    assert (encoder["hidden"], encoder["layers"]) == (512, 1)
    assert (augmentation["diffusion"], augmentation["alpha"], augmentation["t"]) == ("ppr", 0.2, 5)


def test_each_view_has_an_encoder_with_weights_of_its_own() -> None:
    method = build()
    weights, others = method.encoder.state_dict(), method.diffusion_encoder.state_dict()
    assert {name: value.shape for name, value in weights.items()} == {k: v.shape for k, v in others.items()}
    assert not torch.equal(weights["convolutions.0.weight"], others["convolutions.0.weight"])


def test_other_augmentations_are_refused() -> None:
    with pytest.raises(InputError, match="graph with its diffusion"):
        MVGRL(GCN(8, 6), UniformDrop())
