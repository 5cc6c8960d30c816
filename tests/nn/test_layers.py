"""Batch normalization over real processes, dropout and PReLU, each against PyTorch's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sfa import distributed
from sfa.errors import InputError
from sfa.matrices import csr_matrix
from sfa.nn import layers
from sfa.nn.layers import BatchNorm, BatchNorm2d, PReLU, dropout
from tests.processes import run_in_processes

ROUGH = {torch.float32: 1e-5, torch.float64: 1e-10}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "cumulative": {"momentum": None},
    "slow": {"momentum": 0.01, "eps": 0.1},
    "no weights": {"affine": False},
    "no running statistics": {"track_running_stats": False},
}
FORMATS = {"channels first": torch.contiguous_format, "channels last": torch.channels_last}
Norm = nn.BatchNorm1d | nn.BatchNorm2d
Step = tuple[Tensor, Tensor]


def random_rows(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return 2 + 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def with_weights(norm: Norm) -> None:
    if norm.affine:
        with torch.no_grad():
            norm.weight.copy_(torch.linspace(0.5, 2, norm.num_features))
            norm.bias.copy_(torch.linspace(-1, 1, norm.num_features))


def steps(
    norm: Norm, batches: Tensor, weights: Tensor, sizes: tuple[int, ...], memory: str = "channels first"
) -> tuple[list[Step], dict[str, Tensor], dict[str, Tensor]]:
    """Outputs and gradients of the inputs for each batch, summed gradients of the parameters, and the state."""
    with_weights(norm)
    seen: list[Step] = []
    for batch, weight in zip(batches, weights, strict=True):
        x, w = (whole.split(sizes)[distributed.rank()] for whole in (batch, weight))
        x = x.clone(memory_format=FORMATS[memory]).requires_grad_()
        y = norm(x)
        assert y.is_contiguous(memory_format=FORMATS[memory])
        (y * w).sum().backward()
        assert x.grad is not None
        seen.append((y.detach(), x.grad))
    gradients = {name: p.grad for name, p in norm.named_parameters() if p.grad is not None}
    return seen, gradients, norm.state_dict()


def across(options: dict[str, Any], batches: Tensor, *how: Any) -> Any:
    ours = BatchNorm2d if batches.dim() == 5 else BatchNorm
    norm = ours(batches.shape[2], dtype=batches.dtype, **options)
    distributed.enable_cross_rank(norm)
    return steps(norm, batches, *how)


@pytest.mark.multiprocess
@pytest.mark.parametrize("dtype", ROUGH, ids=str)
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("sizes", [(6, 3), (1, 1), (5, 1, 4), (7, 0, 2)], ids=str)
def test_equals_one_process(sizes: tuple[int, ...], name: str, dtype: torch.dtype) -> None:
    batches, weights = (random_rows(3, sum(sizes), 4, dtype=dtype, seed=seed) for seed in (0, 1))
    assert_same(sizes, OPTIONS[name], batches, weights)


def test_with_a_length() -> None:
    batches, weights = (random_rows(2, 9, 4, 5, seed=seed) for seed in (0, 1))
    assert_same((6, 0, 3), {}, batches, weights)


@pytest.mark.parametrize("memory", FORMATS)
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("sizes", [(3, 2), (1, 1, 0)], ids=str)
def test_images(sizes: tuple[int, ...], name: str, memory: str) -> None:
    batches, weights = (random_rows(2, sum(sizes), 4, 3, 5, seed=seed) for seed in (0, 1))
    assert_same(sizes, OPTIONS[name], batches, weights, memory)


def assert_same(
    sizes: tuple[int, ...], options: dict[str, Any], batches: Tensor, weights: Tensor, memory: str = "channels first"
) -> None:
    dtype = batches.dtype
    theirs = nn.BatchNorm2d if batches.dim() == 5 else nn.BatchNorm1d
    one = theirs(batches.shape[2], dtype=dtype, **options)
    seen, gradients, state = steps(one, batches, weights, (sum(sizes),), memory)
    parts = run_in_processes(across, len(sizes), options, batches, weights, sizes, memory)
    rough = {"rtol": ROUGH[dtype], "atol": 10 * ROUGH[dtype]}
    for step, expected in enumerate(seen):
        found = zip(*(part[0][step] for part in parts), strict=True)
        for rows, whole in zip(found, expected, strict=True):
            torch.testing.assert_close(torch.cat(rows), whole, **rough)
    for parameter, gradient in gradients.items():
        torch.testing.assert_close(sum(part[1][parameter] for part in parts), gradient, **rough)
    for _, _, found_state in parts:
        assert list(found_state) == list(state)
        for buffer in state:
            torch.testing.assert_close(found_state[buffer], state[buffer], **rough)
            assert torch.equal(found_state[buffer], parts[0][2][buffer]), "to the bit on all ranks"


@pytest.mark.multiprocess
def test_of_its_own_rows_alone_a_process_has_other_statistics() -> None:
    x = random_rows(9, 4)
    expected = nn.BatchNorm1d(4, dtype=x.dtype)(x)
    assert (torch.cat(run_in_processes(normalise_own_rows, 2, x)) - expected).abs().max() > 0.1


def normalise_own_rows(x: Tensor) -> Tensor:
    return BatchNorm(4, dtype=x.dtype)(x.split([6, 3])[distributed.rank()]).detach()


@pytest.mark.multiprocess
def test_one_row_in_all_is_refused_and_eval_needs_nobody_else() -> None:
    first, second = run_in_processes(odd_cases, 2)
    torch.testing.assert_close(first, torch.full((2, 3), 5 / (1 + 1e-5) ** 0.5))
    assert second is None


def odd_cases() -> Tensor | None:
    norm = BatchNorm(3)
    distributed.enable_cross_rank(norm)
    before = {name: x.clone() for name, x in norm.state_dict().items()}
    with pytest.raises(InputError, match="needs 2 or more"):
        norm(torch.ones(distributed.rank(), 3))
    assert all(torch.equal(x, before[name]) for name, x in norm.state_dict().items())
    with pytest.raises(ValueError, match="2D or 3D"):
        norm(torch.ones(2, 3, 1, 1))
    of_images = BatchNorm2d(3)
    distributed.enable_cross_rank(of_images)
    with pytest.raises(ValueError, match="4D"):
        of_images(torch.ones(2, 3))
    with pytest.raises(InputError, match="needs 2 or more"):
        of_images(torch.ones(distributed.rank(), 3, 1, 1))
    return norm.eval()(torch.full((2, 3), 5.0)).detach() if distributed.rank() == 0 else None


@pytest.mark.multiprocess
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("shape", [(300, 4), (300, 4, 3, 2)], ids=["rows", "images"])
def test_half_precision_is_normalised_in_float32(shape: tuple[int, ...], half: torch.dtype) -> None:
    x = random_rows(*shape).to(half)
    expected = (nn.BatchNorm1d if len(shape) == 2 else nn.BatchNorm2d)(4)(x.float())
    for rows, whole in zip(run_in_processes(normalise_half, 2, x), expected.split([299, 1]), strict=True):
        assert rows.dtype == half
        torch.testing.assert_close(rows.float(), whole, rtol=2**-8, atol=2**-8)


def normalise_half(x: Tensor) -> Tensor:
    norm = BatchNorm(4) if x.dim() == 2 else BatchNorm2d(4)
    distributed.enable_cross_rank(norm)
    with torch.autocast("cpu", x.dtype):
        return norm(x.split([299, 1])[distributed.rank()]).detach()


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    ("kinds", "shape", "memory"),
    [
        ((BatchNorm, nn.BatchNorm1d), (3, 9, 4), "channels first"),
        ((BatchNorm2d, nn.BatchNorm2d), (3, 9, 4, 5, 3), "channels first"),
        ((BatchNorm2d, nn.BatchNorm2d), (3, 9, 4, 5, 3), "channels last"),
    ],
    ids=["rows", "images", "images with channels last"],
)
def test_in_one_process_the_bits_and_the_state_are_those_of_batch_norm(
    kinds: tuple[type[Norm], type[Norm]], shape: tuple[int, ...], memory: str, told: bool, name: str
) -> None:
    batches, weights = (random_rows(*shape, dtype=torch.float32, seed=seed) for seed in (0, 1))
    ours, theirs = (kind(4, **OPTIONS[name]) for kind in kinds)
    if told:
        distributed.enable_cross_rank(ours)
    (seen, gradients, state), (expected, expected_gradients, expected_state) = (
        steps(norm, batches, weights, (9,), memory) for norm in (ours, theirs)
    )
    for found, right in zip(seen, expected, strict=True):
        assert torch.equal(found[0], right[0])
        assert torch.equal(found[1], right[1])
    for one, other in ((gradients, expected_gradients), (state, expected_state)):
        assert list(one) == list(other)
        assert all(torch.equal(one[key], other[key]) for key in other)
    assert torch.equal(ours.eval()(batches[0]), theirs.eval()(batches[0]))
    kinds[1](4, **OPTIONS[name]).load_state_dict(state)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sparse(dense: Tensor) -> Tensor:
    row, col = dense.nonzero(as_tuple=True)
    rowptr = torch.cat([torch.zeros(1, dtype=torch.int64), (dense != 0).sum(1).cumsum(0)])
    return csr_matrix(rowptr, col, dense[row, col], tuple(dense.shape))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_entries_are_dropped_or_scaled_and_keep_their_mean(rate: float) -> None:
    x = 1 + torch.rand(200, 300, generator=seeded())
    dropped = dropout(x, rate, seeded(1))
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], (x / (1 - rate))[kept])
    assert kept.double().mean().item() == pytest.approx(1 - rate, abs=0.01)
    assert dropped.mean().item() == pytest.approx(x.mean().item(), rel=0.03)
    # Neither rows nor columns go together.
    for dim in (0, 1):
        assert kept.double().mean(dim).std() < 2 * (rate * (1 - rate) / x.shape[dim]) ** 0.5


def test_of_a_sparse_matrix_stored_values_are_dropped() -> None:
    x = torch.rand(30, 20, generator=seeded()) * (torch.rand(30, 20, generator=seeded(1)) < 0.3)
    given = sparse(x)
    dropped = dropout(given, 0.4, seeded(2))
    assert dropped.layout == torch.sparse_csr
    assert dropped.col_indices().data_ptr() == given.col_indices().data_ptr()
    values = dropped.values()
    expected = dropout(given.values(), 0.4, seeded(2))
    assert torch.equal(values, expected)
    assert 0 < (values == 0).sum() < len(values)
    assert torch.equal(given.to_dense(), x), "the given matrix stays as it is"


def test_the_generator_alone_decides() -> None:
    x = torch.ones(50)
    torch.manual_seed(1)
    first = dropout(x, 0.5, seeded(3))
    torch.manual_seed(2)
    assert torch.equal(first, dropout(x, 0.5, seeded(3)))
    assert not torch.equal(first, dropout(x, 0.5, seeded(4)))


def test_the_ends() -> None:
    x = torch.rand(4, 3)
    assert dropout(x, 0.0) is x
    assert torch.equal(dropout(x, 1.0), torch.zeros(4, 3))
    with pytest.raises(InputError, match=r"from 0 to 1, not 1\.5"):
        dropout(x, 1.5)


def test_the_gradient_is_that_of_what_was_kept() -> None:
    x = torch.rand(6, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: dropout(x, 0.3, seeded()), (x,))


@pytest.mark.parametrize("draws", [7, 1 << 16])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_dropout_keeps_where_a_float64_number_is_low(
    dtype: torch.dtype, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old runs go on with the same draws, whatever the pieces."""
    monkeypatch.setattr(layers, "DRAWS", draws)
    expected = torch.rand(13, 5, dtype=torch.float64, generator=seeded(4)) < 0.3
    for like in (torch.empty(13, 5, dtype=dtype), torch.empty(5, 13, dtype=dtype).mT):
        kept = layers.draw_kept(like, 0.3, seeded(4))
        assert kept.dtype == dtype
        assert torch.equal(kept.bool(), expected)


def step(module: nn.Module, x: Tensor, upstream: Tensor) -> list[Tensor]:
    """The result, and the gradients of input and weight."""
    given = x.clone().requires_grad_()
    y = module(given)
    return [y.detach(), *torch.autograd.grad(y, (given, *module.parameters()), upstream.to(y.dtype))]


@pytest.mark.parametrize("slope", [0.25, -0.5, 0.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_prelu_is_that_of_pytorch_to_the_bit(dtype: torch.dtype, slope: float) -> None:
    x, upstream = random_rows(40, 6, dtype=dtype, seed=1) - 2, random_rows(40, 6, dtype=dtype, seed=2)
    x[0] = torch.tensor([0.0, -0.0, 1e30, -1e30, 1e-30, -1e-30])
    ours, theirs = PReLU(init=slope).to(dtype), nn.PReLU(init=slope).to(dtype)
    for found, expected in zip(step(ours, x, upstream), step(theirs, x, upstream), strict=True):
        assert torch.equal(found, expected)
    with torch.autocast("cpu", torch.bfloat16):
        for found, expected in zip(step(ours, x, upstream), step(theirs, x, upstream), strict=True):
            assert found.dtype == expected.dtype
            assert torch.equal(found, expected)
    assert ours.state_dict().keys() == theirs.state_dict().keys()


def test_prelu_has_second_derivatives_and_is_mapped() -> None:
    x, upstream = random_rows(6, 4) - 2, random_rows(6, 4, seed=1)
    found = []
    for layer in (PReLU().double(), nn.PReLU().double()):
        given = x.clone().requires_grad_()
        first = torch.autograd.grad((layer(given).square() * upstream).sum(), (given, layer.weight), create_graph=True)
        second = torch.autograd.grad(sum(one.square().sum() for one in first), (given, layer.weight))
        found.append([*first, *second, torch.vmap(layer)(x)])
    torch.testing.assert_close(*found)


def test_prelu_with_a_slope_for_each_channel_is_left_to_pytorch() -> None:
    x, upstream = random_rows(8, 3), random_rows(8, 3)
    ours, theirs = PReLU(3).double(), nn.PReLU(3).double()
    for found, expected in zip(step(ours, x, upstream), step(theirs, x, upstream), strict=True):
        assert torch.equal(found, expected)
