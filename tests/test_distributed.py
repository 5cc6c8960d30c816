"""Processes that act as one, tried with 2 and 3 real ones; and the harness that starts them."""

from __future__ import annotations

import os
import signal
import time
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sfa import distributed
from sfa.errors import InputError
from sfa.losses import barlow_twins
from sfa.nn.layers import BatchNorm
from sfa.registry import registered
from sfa.spectral import GaussianNoise, SpectralFeatureAugmentation, SpectralMap, Whiten
from tests.processes import run_in_processes

pytestmark = pytest.mark.multiprocess

SIZES = [(5, 2), (0, 4), (3, 1, 4), (4, 0, 2)]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def who() -> tuple[int, int]:
    return distributed.rank(), distributed.world_size()


def test_alone_it_is_rank_0_of_1_and_gets_its_own_tensor_back() -> None:
    x = torch.randn(3, 2, generator=seeded(0), requires_grad=True)
    assert who() == (0, 1)
    assert distributed.all_reduce_sum(x) is x
    assert distributed.count_rows(x) == 3
    rows, offset = distributed.gather_rows(x)
    assert torch.equal(rows, x)
    assert offset == 0
    assert torch.equal(distributed.broadcast(x), x)
    assert not rows.requires_grad
    assert not distributed.broadcast(x).requires_grad


@pytest.mark.parametrize("world", [3, 2, 1])
def test_ranks_and_count(world: int) -> None:
    assert run_in_processes(who, world) == [(rank, world) for rank in range(world)]


def left() -> list[tuple[int, int]]:
    before = who()
    distributed.barrier_and_destroy()
    return [before, who()]


@pytest.mark.parametrize("world", [2, 1])
def test_who_has_left_is_alone(world: int) -> None:
    assert run_in_processes(left, world) == [[(rank, world), (0, 1)] for rank in range(world)]


class TestSum:
    """y = Σ xᵢ and every process's loss is the weighted sum of y³, with weights of its own."""

    @pytest.mark.parametrize("world", [2, 3])
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
    def test_value_and_derivatives(self, world: int, dtype: torch.dtype) -> None:
        x, weights, seen = torch.randn(3, world, 4, 2, generator=seeded(0), dtype=torch.float64).to(dtype)
        total, slope = x.double().sum(0), weights.double().sum(0)
        rough = {torch.bfloat16: 0.05, torch.float32: 1e-5, torch.float64: 1e-12}[dtype]
        for value, first, second in run_in_processes(sum_and_derivatives, world, x, weights, seen):
            assert value.dtype == first.dtype == dtype
            torch.testing.assert_close(value.double(), total, rtol=rough, atol=rough)
            torch.testing.assert_close(first.double(), slope * 3 * total**2, rtol=rough, atol=rough)
            torch.testing.assert_close(
                second.double(), seen.double().sum(0) * slope * 6 * total, rtol=rough, atol=10 * rough
            )

    def test_half_precision_is_summed_in_float32(self) -> None:
        """256 + 1 is 256 in bfloat16, so that adding 1 twice, in whatever order but one, would lose it."""
        for total in run_in_processes(sum_of_ones_and_256, 3):
            assert total.dtype == torch.bfloat16
            assert total.tolist() == [258, 258, 258]

    def test_whole_numbers_scalars_and_tensors_that_are_not_contiguous(self) -> None:
        for whole, scalar, transposed in run_in_processes(odd_sums, 3):
            assert torch.equal(whole, torch.tensor([3 * 2**53 + 3]))
            assert scalar.shape == ()
            assert scalar.item() == 3
            assert torch.equal(transposed, torch.arange(6.0).view(2, 3).T * 3)


def sum_and_derivatives(x: Tensor, weights: Tensor, seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    rank = distributed.rank()
    own = x[rank].clone().requires_grad_()
    before = own.detach().clone()
    total = distributed.all_reduce_sum(own)
    (first,) = torch.autograd.grad((total**3 * weights[rank]).sum(), own, create_graph=True)
    (second,) = torch.autograd.grad((first * seen[rank]).sum(), own)
    assert torch.equal(own, before), "the input is left alone"
    return total.detach(), first.detach(), second


def sum_of_ones_and_256() -> Tensor:
    return distributed.all_reduce_sum((1 + 255 * torch.eye(3, dtype=torch.bfloat16))[distributed.rank()])


def odd_sums() -> tuple[Tensor, Tensor, Tensor]:
    return (
        distributed.all_reduce_sum(torch.tensor([2**53 + distributed.rank()])),
        distributed.all_reduce_sum(torch.tensor(1.0)),
        distributed.all_reduce_sum(torch.arange(6.0).view(2, 3).T),
    )


class TestRows:
    @pytest.mark.parametrize("sizes", SIZES, ids=str)
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.bool])
    @pytest.mark.parametrize("width", [(), (3,), (2, 3)], ids=str)
    def test_all_rows_in_order_and_where_ones_own_begin(
        self, sizes: tuple[int, ...], dtype: torch.dtype, width: tuple[int, ...]
    ) -> None:
        x = (torch.randn(sum(sizes), *width, generator=seeded(0)) * 3).to(dtype)
        offsets = [sum(sizes[:rank]) for rank in range(len(sizes))]
        for (rows, offset), expected in zip(run_in_processes(gather, len(sizes), x, sizes), offsets, strict=True):
            assert torch.equal(rows, x)
            assert offset == expected

    def test_no_rows_at_all(self) -> None:
        for rows, offset in run_in_processes(gather, 2, torch.zeros(0, 3), (0, 0)):
            assert rows.shape == (0, 3)
            assert offset == 0

    def test_counted(self) -> None:
        assert run_in_processes(count_own, 3, (4, 0, 7)) == [11, 11, 11]


def own_rows(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    return x.split(sizes)[distributed.rank()]


def gather(x: Tensor, sizes: tuple[int, ...]) -> tuple[Tensor, int]:
    own = own_rows(x, sizes)
    rows, offset = distributed.gather_rows(own.requires_grad_() if own.is_floating_point() else own)
    assert not rows.requires_grad
    return rows, offset


def count_own(sizes: tuple[int, ...]) -> int:
    return distributed.count_rows(torch.zeros(sizes[distributed.rank()], 2))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_shared_is_that_of_rank_0(dtype: torch.dtype) -> None:
    x = torch.randn(3, 4, 2, generator=seeded(0)).to(dtype)
    for taken, own in run_in_processes(share, 3, x):
        assert torch.equal(taken, x[0].mT)
        assert own, "the input is left alone"


def share(x: Tensor) -> tuple[Tensor, bool]:
    own = x[distributed.rank()].clone().mT.requires_grad_()
    taken = distributed.broadcast(own)
    assert not taken.requires_grad
    return taken, torch.equal(own, x[distributed.rank()].mT)


def test_any_process_raises_the_flag_and_rank_0_has_the_word() -> None:
    assert distributed.any_of(True)
    assert not distributed.any_of(False)
    assert distributed.broadcast_object("own") == "own"
    assert run_in_processes(agree, 3) == [(False, True, True, "rank 0")] * 3


def agree() -> tuple[bool, bool, bool, str]:
    flags = (distributed.any_of(flag) for flag in (False, distributed.rank() == 2, True))
    return *flags, distributed.broadcast_object(f"rank {distributed.rank()}")


class Model(nn.Module):
    """Linear, normalized, augmented, decorrelated: the loss of a batch of two views."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 6), BatchNorm(6), nn.PReLU(), nn.Linear(6, 5))
        self.spectral = SpectralFeatureAugmentation(iterations=2, detach=False)
        self.across_processes = False

    def forward(self, x_alpha: Tensor, x_beta: Tensor, generator: torch.Generator) -> Tensor:
        z_alpha, z_beta = self.spectral.forward_all(self.encoder(x_alpha), self.encoder(x_beta), generator=generator)
        return barlow_twins(z_alpha, z_beta, across_processes=self.across_processes)


def train(model: nn.Module, *views: Tensor) -> tuple[list[float], dict[str, Tensor], dict[str, Tensor]]:
    """Three steps: the losses, the gradients of the first step, the state after the last."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, gradients = [], {}
    for step in range(3):
        optimizer.zero_grad()
        loss = model(*views, seeded(step))
        loss.backward()
        losses.append(loss.item())
        gradients = gradients or {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        optimizer.step()
    return losses, gradients, model.state_dict()


def train_in_parallel(model: Model, views: Tensor, sizes: tuple[int, ...], synchronized: bool) -> Any:
    if synchronized:
        distributed.enable_cross_rank(model)
    parallel: nn.Module = DistributedDataParallel(model)
    losses, gradients, state = train(parallel, *(own_rows(view, sizes) for view in views))
    return losses, *({name.removeprefix("module."): x for name, x in named.items()} for named in (gradients, state))


class TestModelInParallel:
    """DDP's average of the parameters' gradients is the gradient of one process on the whole batch."""

    def start(self, rows: int, dtype: torch.dtype) -> tuple[Model, Tensor]:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = Model().to(dtype)
        x, noise = torch.randn(2, rows, 4, generator=seeded(0), dtype=dtype)
        return model, torch.stack([x, x + 0.5 * noise])

    @pytest.mark.parametrize("sizes", [(5, 9), (7, 1, 5), (6, 0, 7)], ids=str)
    @pytest.mark.parametrize(("dtype", "rough"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=str)
    def test_equals_one_process(self, sizes: tuple[int, ...], dtype: torch.dtype, rough: float) -> None:
        model, views = self.start(sum(sizes), dtype)
        losses, gradients, state = train(deepcopy(model), *views)
        assert len(gradients) == 7
        for result in run_in_processes(train_in_parallel, len(sizes), model, views, sizes, True):
            assert result[0] == pytest.approx(losses, rel=rough)
            for found, expected in zip(result[1:], (gradients, state), strict=True):
                assert found.keys() == expected.keys()
                for name, x in expected.items():
                    torch.testing.assert_close(
                        found[name], x, rtol=rough, atol=rough, msg=lambda m, n=name: f"{n}: {m}"
                    )

    def test_without_synchronising_it_does_not(self) -> None:
        model, views = self.start(14, torch.float64)
        _, gradients, _ = train(deepcopy(model), *views)
        for _, found, _ in run_in_processes(train_in_parallel, 2, model, views, (5, 9), False):
            assert all((found[name] - x).abs().max() > 1e-3 for name, x in gradients.items() if x.abs().max() > 1e-3)


class TestSynchronise:
    def test_sets_every_part_that_can(self) -> None:
        model = nn.Sequential(BatchNorm(3), nn.Sequential(SpectralFeatureAugmentation(), nn.Linear(3, 3)))
        distributed.enable_cross_rank(model)
        assert model[0].across_processes
        assert model[1][0].across_processes
        assert not hasattr(model[1][1], "across_processes")
        assert not BatchNorm(3).across_processes
        assert not SpectralFeatureAugmentation().across_processes

    def test_names_a_map_that_cannot_and_sets_nothing(self) -> None:
        model = nn.Sequential(BatchNorm(3), Whiten())
        with pytest.raises(InputError, match="spectral map that span"):
            distributed.enable_cross_rank(model)
        assert not model[0].across_processes

    def test_maps_that_span_processes_are_these(self) -> None:
        spanning = [name for name, made in registered("spectral").items() if made().spans_processes]
        assert {"none", "sfa", "noise"} <= set(spanning)
        assert not {"whiten", "costa"} & set(spanning)

    def test_a_map_of_ones_own_does_not_unless_it_says_so(self) -> None:
        class Own(GaussianNoise):
            def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
                return h - h.mean(0)

        class RowWise(SpectralMap, spans_processes=True):
            pass

        assert not Own.spans_processes
        assert RowWise.spans_processes
        assert GaussianNoise.spans_processes


def fail() -> None:
    raise RuntimeError("this one")


def sleep() -> None:
    time.sleep(60)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class TestHarness:
    def test_what_a_process_raises_is_shown(self) -> None:
        with pytest.raises(AssertionError, match="0 of 1 failed"):
            run_in_processes(fail, 1)

    def test_so_is_where_it_stood_when_time_was_up_and_the_next_call_works(self) -> None:
        assert run_in_processes(who, 1) == [(0, 1)]
        with pytest.raises(TimeoutError, match=r"(?s)not done after 1 s.*in sleep"):
            run_in_processes(sleep, 1, seconds=1)
        assert run_in_processes(who, 1) == [(0, 1)]

    def test_and_that_it_was_killed(self) -> None:
        with pytest.raises(AssertionError, match="It ended with -9"):
            run_in_processes(die, 1)
