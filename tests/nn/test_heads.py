"""Projectors and predictors against the layers that were published, one by one."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from sfa.methods import BYOL, BarlowTwins, SimCLR, SimSiam
from sfa.methods.swav import Queue
from sfa.nn import graph_projector, mlp_head, projection_head, resnet18, small
from sfa.nn.heads import BilinearDiscriminator, ResidualDiscriminator, prelu_head
from sfa.nn.layers import BatchNorm


def parameters(*heads: nn.Module) -> int:
    return sum(weight.numel() for head in heads for weight in head.parameters())


def published() -> dict[str, tuple[nn.Sequential, nn.Sequential]]:
    """Each head, narrow, beside the layers of its paper written out."""
    return {
        "simclr": (mlp_head((5, 7, 3), batch_norm=False), nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))),
        "barlow-twins": (
            mlp_head((5, 7, 7, 3)),
            nn.Sequential(
                *(nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7), nn.ReLU()),
                *(nn.Linear(7, 7, bias=False), nn.BatchNorm1d(7), nn.ReLU()),
                nn.Linear(7, 3),
            ),
        ),
        "simsiam": (
            mlp_head((5, 7, 7, 3), last_norm=True),
            nn.Sequential(
                *(nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7), nn.ReLU()),
                *(nn.Linear(7, 7, bias=False), nn.BatchNorm1d(7), nn.ReLU()),
                *(nn.Linear(7, 3, bias=False), nn.BatchNorm1d(3, affine=False)),
            ),
        ),
        "predictor": (
            mlp_head((5, 7, 5)),
            nn.Sequential(*(nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7), nn.ReLU()), nn.Linear(7, 5)),
        ),
    }


@pytest.mark.parametrize("name", published())
def test_a_head_is_what_its_paper_says(name: str) -> None:
    torch.manual_seed(0)
    head, layers = published()[name]
    layers.load_state_dict(head.state_dict())
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    for training in (True, False):
        torch.testing.assert_close(head.train(training)(x), layers.train(training)(x), rtol=0, atol=0)


def test_every_normalisation_can_span_processes() -> None:
    for head, _ in published().values():
        norms = [part for part in head.modules() if isinstance(part, nn.BatchNorm1d)]
        assert all(isinstance(norm, BatchNorm) for norm in norms)


def test_the_last_normalisation_leaves_columns_of_mean_0_and_deviation_1() -> None:
    torch.manual_seed(0)
    z = mlp_head((5, 7, 3), last_norm=True)(torch.randn(50, 5))
    torch.testing.assert_close(z.mean(0), torch.zeros(3), rtol=0, atol=1e-6)
    torch.testing.assert_close(z.var(0, correction=0), torch.ones(3), rtol=1e-3, atol=0)


def test_the_published_sizes() -> None:
    """Of the heads on a ResNet-18, whose embeddings are 512 wide: weights, biases, scales and shifts by hand."""
    for method, expected in (
        (SimCLR, 512 * 2048 + 2048 + 2048 * 256 + 256),
        (BarlowTwins, 512 * 2048 + 2 * 2048 + 2048 * 2048 + 2 * 2048 + 2048 * 2048 + 2048),
        (SimSiam, 512 * 2048 + 2 * 2048 + 2048 * 2048 + 2 * 2048 + 2048 * 2048),
    ):
        built = method(resnet18(3, 64))
        assert built.encoder.width == 512
        assert parameters(built.head) == expected
    assert parameters(SimSiam(small(3, 2)).predictor) == 2048 * 512 + 2 * 512 + 512 * 2048 + 2048
    byol = BYOL(resnet18(3, 64))
    assert parameters(byol.projector) == parameters(byol.target_projector) == 512 * 4096 + 2 * 4096 + 4096 * 256 + 256
    assert parameters(byol.predictor) == 256 * 4096 + 2 * 4096 + 4096 * 256 + 256


def test_the_heads_of_graph_methods() -> None:
    """GRACE's, GraphCL's (of one width, Xavier-initialized without bias) and MERIT's, layer by layer."""
    torch.manual_seed(0)
    x = torch.randn(6, 5, generator=torch.Generator().manual_seed(1))
    for head, layers in (
        (projection_head(5, 7), [nn.Linear(5, 7), nn.ELU(), nn.Linear(7, 5)]),
        (projection_head(5, 7, "prelu"), [nn.Linear(5, 7), nn.PReLU(), nn.Linear(7, 5)]),
        (graph_projector(5), [nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 5)]),
        (prelu_head(5, 7, 3), [nn.Linear(5, 7), nn.BatchNorm1d(7), nn.PReLU(), nn.Linear(7, 3)]),
    ):
        published = nn.Sequential(*layers)
        published.load_state_dict(head.state_dict())
        torch.testing.assert_close(head(x), published(x), rtol=0, atol=0)
    bound = (6 / (96 + 96)) ** 0.5
    for layer in graph_projector(96)[::2]:
        assert 0.95 * bound < layer.weight.abs().max() <= bound
        assert not layer.bias.any()


def test_scores_are_bilinear() -> None:
    torch.manual_seed(0)
    discriminator = BilinearDiscriminator(5)
    h, s = torch.randn(7, 5), torch.randn(5)
    expected = nn.functional.bilinear(h, s.expand(7, 5), discriminator.weight[None]).squeeze(1)
    torch.testing.assert_close(discriminator(h, s), expected)
    assert not torch.allclose(discriminator.weight, discriminator.weight.T)


def test_the_residual_discriminator_is_three_layers_and_a_linear_one_beside() -> None:
    torch.manual_seed(0)
    discriminator = ResidualDiscriminator(5)
    h = torch.randn(7, 5)
    out = h
    for layer in discriminator.block[::2]:
        out = (out @ layer.weight.T + layer.bias).clamp(min=0)
    expected = out + h @ discriminator.shortcut.weight.T + discriminator.shortcut.bias
    torch.testing.assert_close(discriminator(h), expected)
    assert len(discriminator.block) == 6
    assert not any(part.bias.any() for part in discriminator.modules() if isinstance(part, nn.Linear))


@given(size=st.integers(1, 9), batches=st.lists(st.integers(0, 12), max_size=6))
def test_the_queue_holds_the_newest_rows_of_each_view(size: int, batches: list[int]) -> None:
    queue = Queue(size, 3)
    views: tuple[list[Tensor], list[Tensor]] = ([], [])
    for number, count in enumerate(batches):
        assert queue.is_full == (len(views[0]) >= size)
        z = torch.randn(2, count, 3, generator=torch.Generator().manual_seed(number))
        queue.push(z)
        for kept, rows in zip(views, z, strict=True):
            kept[:0] = rows
    for kept, rows in zip(views, queue.rows, strict=True):
        expected = torch.stack([*kept[:size], *[torch.zeros(3)] * (size - len(kept))])
        assert torch.equal(rows, expected)
    assert int(queue.stored) == min(size, sum(batches))
