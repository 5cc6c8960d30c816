"""Summary and discriminators, against their formulas."""

import torch
from torch import nn

from sfa.nn.discriminators import BilinearDiscriminator, ResidualDiscriminator, summary


def test_the_summary_is_the_sigmoid_of_the_mean() -> None:
    h = torch.tensor([[0.0, 2.0], [0.0, -4.0]])
    torch.testing.assert_close(summary(h), torch.tensor([0.5, 1 / (1 + 2.718281828)]))


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
