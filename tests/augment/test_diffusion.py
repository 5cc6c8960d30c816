"""A graph against its diffusion: which view has what removed, and which matrix."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sfa.augment import Diffusion, UniformDrop
from sfa.augment.diffusion import heat_kernel, personalized_pagerank, require_diffusion
from sfa.errors import InputError
from sfa.nn import GCN, MLP
from tests.augment.dense_diffusion import dense_heat, dense_pagerank


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kernel", ["ppr", "heat"])
def test_alpha_is_the_graph_and_beta_has_its_diffusion(planted: Data, kernel: Any) -> None:
    alpha, beta = Diffusion(kernel, alpha=0.3, t=2.0, tolerance=1e-9)(planted)
    assert "propagation" not in alpha
    assert alpha.x is beta.x is planted.x
    assert "propagation" not in planted
    expected = dense_pagerank(planted, 0.3) if kernel == "ppr" else dense_heat(planted, 2.0)
    torch.testing.assert_close(beta.propagation.to_dense().double(), expected, rtol=0, atol=1e-6)


def test_options_reach_the_kernels(planted: Data) -> None:
    ppr = Diffusion(alpha=0.4, tolerance=1e-3, top_k=5).diffuse(planted).propagation
    assert torch.equal(ppr.values(), personalized_pagerank(planted, alpha=0.4, tolerance=1e-3, top_k=5).values())
    heat = Diffusion("heat", t=3.0, tolerance=1e-3, top_k=4).diffuse(planted).propagation
    assert torch.equal(heat.values(), heat_kernel(planted, t=3.0, tolerance=1e-3, top_k=4).values())


def test_edges_go_in_alpha_alone_and_columns_in_both(planted: Data) -> None:
    alpha, beta = Diffusion(edge_drop=0.4, feature_drop=(0.3, 0.6))(planted, seeded())
    generator = seeded()
    expected = UniformDrop((0.4, 0.0), (0.3, 0.6))
    first, second = expected.view(planted, generator, 0), expected.view(planted, generator, 1)
    assert torch.equal(alpha.edge_weight, first.edge_weight)
    assert torch.equal(alpha.feature_mask, first.feature_mask)
    assert beta.edge_weight is None
    assert torch.equal(beta.feature_mask, second.feature_mask)
    whole = Diffusion().diffuse(planted).propagation
    assert torch.equal(beta.propagation.values(), whole.values()), "of all edges, also those that alpha lacks"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'ppr'"):
        Diffusion("pprr")  # type: ignore[arg-type]
    diffusion = Diffusion()
    assert require_diffusion(diffusion, GCN(5, 4), "mvgrl") is diffusion
    with pytest.raises(InputError, match="and takes the augmentation"):
        require_diffusion(UniformDrop(), GCN(5, 4), "mvgrl")
    with pytest.raises(InputError, match="mvgrl embeds the diffusion"):
        require_diffusion(diffusion, MLP(5, 4), "mvgrl")
