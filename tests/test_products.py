"""Products of matrices by oneDNN, to rounding those of PyTorch, which are taken where it does not apply."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa import products
from sfa.products import add_product, add_product_, multiply, product
from sfa.run import Recipe
from sfa.train import LambdaCallback, train
from tests.cases import each


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.fixture
def on_amd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take oneDNN for all products, whatever the processor and the size."""
    if not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        pytest.skip("this build of PyTorch has no oneDNN")
    monkeypatch.setattr(products, "prefers_onednn", lambda: True)
    monkeypatch.setattr(products, "_shapes_repeat", True)
    monkeypatch.setattr(products, "LEAST", 0)
    monkeypatch.setattr(products, "LEAST_SIDE", 0)


VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda x: x,
    "transposed": lambda x: x.mT.contiguous().mT,
    "columns of a wider one": lambda x: torch.cat([x, x], dim=1)[:, : x.shape[1]],
    "transposed, of a wider one": lambda x: torch.cat([x, x], dim=0).mT.contiguous().mT[: x.shape[0]],
    "every other row": lambda x: x.repeat_interleave(2, 0)[::2],
}


@pytest.mark.usefixtures("on_amd")
@each("right", VIEWS)
@each("left", VIEWS)
@each("shape", [(37, 20, 11), (3, 50, 40), (1, 7, 1), (300, 2, 5)], ids=str)
def test_whatever_lies_how_in_memory(shape: tuple[int, int, int], left: str, right: str) -> None:
    n, k, m = shape
    a, b, x = VIEWS[left](draw(n, k)), VIEWS[right](draw(k, m, seed=1)), draw(n, m, seed=2)
    expected = a.double() @ b.double()
    near = {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(multiply(a, b).double(), expected, **near)
    torch.testing.assert_close(product(a, b).double(), expected, **near)
    torch.testing.assert_close(add_product(x, a, b, -0.5).double(), x - 0.5 * expected, **near)
    total = x.clone()
    add_product_(total, a, b)
    torch.testing.assert_close(total.double(), x + expected, **near)


@pytest.mark.usefixtures("on_amd")
def test_gradients_of_first_and_second_order() -> None:
    a, b, upstream = draw(9, 6).requires_grad_(), draw(6, 4, seed=1).requires_grad_(), draw(9, 4, seed=2)

    def derivatives(y: Tensor) -> list[Tensor]:
        first = torch.autograd.grad((y.tanh() * upstream).sum(), (a, b), create_graph=True)
        return [*first, *torch.autograd.grad(sum(one.square().sum() for one in first), (a, b))]

    for found, expected in zip(derivatives(product(a, b)), derivatives(a @ b), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("on_amd")
def test_a_linear_layer_with_and_without_bias() -> None:
    x = draw(30, 8)
    for bias in (True, False):
        ours, theirs = products.DenseLinear(8, 5, bias=bias), nn.Linear(8, 5, bias=bias)
        theirs.load_state_dict(ours.state_dict())
        torch.testing.assert_close(ours(x), theirs(x))
        gradients = [torch.autograd.grad(layer(x).square().sum(), list(layer.parameters())) for layer in (ours, theirs)]
        torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("on_amd")
def test_what_onednn_does_not_know_is_left_to_pytorch() -> None:
    """Other types, autocast, vmap, and numbers that are none."""
    a, b = draw(12, 6, dtype=torch.float64), draw(6, 5, dtype=torch.float64)
    assert torch.equal(multiply(a, b), a @ b)
    with torch.autocast("cpu", torch.bfloat16):
        assert product(a.float(), b.float()).dtype == torch.bfloat16
        assert products.DenseLinear(6, 5)(a.float()).dtype == torch.bfloat16
    batch = draw(3, 12, 6)
    torch.testing.assert_close(torch.vmap(lambda one: multiply(one, b.float()))(batch), batch @ b.float())
    assert torch.equal(product(a.float().to_sparse_csr(), b.float()), a.float().to_sparse_csr() @ b.float())
    assert multiply(torch.full((4, 3), torch.nan), torch.ones(3, 2)).isnan().all()
    assert multiply(torch.ones(0, 3), torch.ones(3, 2)).shape == (0, 2)


@pytest.mark.parametrize(("is_amd", "repeats"), [(False, True), (True, False)])
def test_elsewhere_the_bits_are_pytorchs(is_amd: bool, repeats: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "prefers_onednn", lambda: is_amd)
    monkeypatch.setattr(products, "_shapes_repeat", repeats)
    a, b, x = draw(300, 200), draw(200, 100), draw(300, 100)
    assert torch.equal(multiply(a, b), a @ b)
    assert torch.equal(product(a, b), a @ b)
    assert torch.equal(add_product(x, a, b, 2.0), torch.addmm(x, a, b, alpha=2.0))
    layer = products.DenseLinear(200, 50)
    assert torch.equal(layer(a), nn.functional.linear(a, layer.weight, layer.bias))


def test_shapes_repeat_inside_a_block_alone() -> None:
    with products.shapes_repeat():
        assert products._shapes_repeat
        with products.shapes_repeat(False):
            assert not products._shapes_repeat
        assert products._shapes_repeat
    assert not products._shapes_repeat


@pytest.mark.parametrize(("name", "repeats"), [("whole", True), ("random-walks", False), ("neighbours", False)])
def test_training_knows_whether_they_do(planted: Data, name: str, repeats: bool) -> None:
    seen: list[bool] = []
    recipe = Recipe.parse({"method": "grace", "sampler": name, "training": {"epochs": 1}})
    note = LambdaCallback(on_step_end=lambda _: seen.append(products._shapes_repeat))
    train(recipe.build_for(planted), planted, epochs=1, sampler=recipe.make_sampler(), device="cpu", callbacks=[note])
    assert seen == [repeats] * len(seen) != []
