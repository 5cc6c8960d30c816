"""The multi-layer perceptron on node features."""

import pytest
import torch
from torch import Tensor, nn

from sfa.errors import InputError
from sfa.matrices import csr_matrix
from sfa.nn.dropout import dropout
from sfa.nn.mlp import MLP


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def as_csr(x: Tensor) -> Tensor:
    rowptr = torch.arange(len(x) + 1) * x.shape[1]
    return csr_matrix(rowptr, torch.arange(x.shape[1]).repeat(len(x)), x.flatten(), tuple(x.shape))


def reference(mlp: MLP) -> nn.Sequential:
    """The same weights in PyTorch's own layers."""
    layers: list[nn.Module] = []
    for linear in mlp.linears:
        own = nn.Linear(*linear.weight.shape)
        own.weight.data, own.bias.data = linear.weight.detach().T.clone(), linear.bias.detach().clone()
        layers += [own, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_equals_linear_layers_and_their_gradients(layout: str, layers: int) -> None:
    mlp = MLP(5, 3, inner=4, layers=layers)
    with torch.no_grad():
        for linear in mlp.linears:
            linear.bias.uniform_(-1, 1)
    expected, x = reference(mlp), torch.randn(7, 5, generator=seeded())
    found = mlp(as_csr(x) if layout == "csr" else x)
    torch.testing.assert_close(found, expected(x))
    found.square().sum().backward()
    expected(x).square().sum().backward()
    linears = [layer for layer in expected if isinstance(layer, nn.Linear)]
    for ours, theirs in zip(mlp.linears, linears, strict=True):
        torch.testing.assert_close(ours.weight.grad, theirs.weight.grad.T)
        torch.testing.assert_close(ours.bias.grad, theirs.bias.grad)


def test_dropout_comes_before_every_layer_and_only_in_training() -> None:
    mlp, x = MLP(5, 3, inner=4, dropout=0.5), torch.randn(7, 5, generator=seeded())
    generator = seeded(1)
    first, second = mlp.linears
    expected = second(dropout(first(dropout(x, 0.5, generator)).relu(), 0.5, generator))
    torch.testing.assert_close(mlp(x, seeded(1)), expected)
    plain = MLP(5, 3, inner=4)
    plain.load_state_dict(mlp.state_dict())
    assert torch.equal(mlp.eval()(x, seeded(1)), plain(x))


def test_sizes_are_checked() -> None:
    with pytest.raises(InputError, match="layers ≥ 1, not 4, 3 and 0"):
        MLP(5, 3, inner=4, layers=0)
