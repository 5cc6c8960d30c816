"""The multi-layer perceptron on node features."""

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.augment import MaskFeatures, UniformDrop
from sfa.errors import InputError
from sfa.matrices import csr_matrix
from sfa.methods import GRACE
from sfa.nn import MLP
from sfa.nn.layers import dropout


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


@pytest.mark.parametrize("activate_last", [True, False])
def test_activations_and_layer_normalization_come_after_layers(activate_last: bool) -> None:
    mlp = MLP(5, 3, inner=4, layers=3, activation="prelu", layer_norm=True, activate_last=activate_last)
    expected = list(reference(mlp))[::2]
    for place, size in ((1, 4), (3, 4), (5, 3))[: 3 if activate_last else 2]:
        expected[place:place] = [nn.Sequential(nn.PReLU(), nn.LayerNorm(size))]
    x = torch.randn(7, 5, generator=seeded())
    torch.testing.assert_close(mlp(x), nn.Sequential(*expected)(x))
    assert len(mlp.state_dict()) == 6 + 3 * (3 if activate_last else 2)


def test_by_default_it_has_the_weights_and_draws_of_older_versions() -> None:
    """So that saved weights are read, and a seed gives the same result."""
    torch.manual_seed(0)
    mlp = MLP(5, 3, inner=4)
    torch.manual_seed(0)
    expected = [torch.nn.init.xavier_uniform_(torch.empty(shape)) for shape in ((5, 4), (4, 3))]
    assert list(mlp.state_dict()) == [f"linears.{i}.{name}" for i in (0, 1) for name in ("weight", "bias")]
    assert all(torch.equal(linear.weight, weight) for linear, weight in zip(mlp.linears, expected, strict=True))


def test_sizes_are_checked() -> None:
    with pytest.raises(InputError, match="layers ≥ 1, not"):
        MLP(5, 3, inner=4, layers=0)


class TestAsAnEncoder:
    """Of the nodes of a graph, whose edges it does not see."""

    @pytest.fixture
    def mlp(self) -> MLP:
        return MLP(8, 3, inner=4, dropout=0.5)

    @pytest.mark.parametrize("layout", ["dense", "csr"])
    def test_a_graph_is_its_features(self, mlp: MLP, layout: str, planted: Data) -> None:
        dense = planted.x
        planted.x = as_csr(dense) if layout == "csr" else dense
        torch.testing.assert_close(mlp(planted, seeded()), mlp(planted.x, seeded()))
        torch.testing.assert_close(mlp.eval()(planted), reference(mlp)(dense))

    @pytest.mark.parametrize("layout", ["dense", "csr"])
    @pytest.mark.parametrize("chunk", [1, 7, 60, 1000])
    def test_embeddings_in_chunks_are_those_of_all_rows(self, mlp: MLP, layout: str, chunk: int, planted: Data) -> None:
        expected = reference(mlp)(planted.x)
        planted.x = as_csr(planted.x) if layout == "csr" else planted.x
        z = mlp.embed(planted, chunk=chunk)
        torch.testing.assert_close(z, expected)
        assert mlp.training
        assert not z.requires_grad

    def test_no_nodes(self, mlp: MLP) -> None:
        assert mlp.embed(Data(x=torch.empty(0, 8))).shape == (0, 3)

    @pytest.mark.parametrize("layout", ["dense", "csr"])
    def test_masked_columns_of_a_view_do_not_count(self, mlp: MLP, layout: str, planted: Data) -> None:
        dense = planted.x
        planted.x = as_csr(dense) if layout == "csr" else dense
        view = MaskFeatures(0.5).view(planted, seeded())
        assert 0 < int(view.feature_mask.sum()) < 8
        torch.testing.assert_close(mlp.eval()(view), reference(mlp)(dense * view.feature_mask))
        mlp(view).sum().backward()
        assert not mlp.linears[0].weight.grad[~view.feature_mask].any()

    def test_a_method_trains_it_and_its_views_differ(self, planted: Data) -> None:
        method = GRACE(MLP(8, 6), UniformDrop((0.0, 0.0), (0.5, 0.5)), projection=4)
        alpha, beta = method.augmentation(planted, seeded())
        assert not torch.equal(method.encoder(alpha), method.encoder(beta))
        method(planted, seeded()).backward()
        assert method.embed(planted).shape == (60, 6)
