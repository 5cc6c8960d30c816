"""Batches made ahead by a thread: the same ones, one at a time, and errors where they belong."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.sampling import RandomWalks
from sfa.train import BatchPlan, loop, train
from sfa.train.batch_plan import prefetch
from sfa.train.callbacks import TrainingState
from sfa.train.loop import add_gradient, make_fabric


class Recorder(torch.nn.Module):
    """A method that keeps what it is called on, and is called on too little to learn."""

    def __init__(self, fail_at: int = -1, error: type[BaseException] = ValueError) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))
        self.seen: list[tuple[Tensor, Tensor, float]] = []
        self.fail_at, self.error = fail_at, error

    def forward(self, data: Data, generator: torch.Generator) -> Tensor:
        if len(self.seen) == self.fail_at:
            raise self.error("in the step")
        self.seen.append((data.nodes, data.edge_index, float(torch.rand((), generator=generator))))
        return self.weight.square()


class Failing(RandomWalks):
    """A sampler whose third batch fails."""

    calls = 0

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        self.calls += 1
        if self.calls == 3:
            raise ValueError("in the thread")
        return super().subgraph(seeds, generator)


def run(
    graph: Data, method: Recorder, sampler: Callable[..., RandomWalks] = RandomWalks, accumulate: int = 1
) -> Recorder:
    small = partial(sampler, batch_size=20, length=2)
    train(method, graph, epochs=2, patience=None, sampler=small, accumulate=accumulate, device="cpu")
    return method


@pytest.mark.parametrize("accumulate", [1, 3])
def test_batches_and_generators_are_the_same_to_the_bit(planted: Data, accumulate: int) -> None:
    ahead = run(planted, Recorder(), accumulate=accumulate).seen
    with patch.object(loop, "prefetch", lambda thread, items: items):
        one_by_one = run(planted, Recorder(), accumulate=accumulate).seen
    assert len(ahead) == len(one_by_one) > 4
    for a, b in zip(ahead, one_by_one, strict=True):
        assert torch.equal(a[0], b[0])
        assert torch.equal(a[1], b[1])
        assert a[2] == b[2]


def test_an_error_of_the_thread_is_raised_after_the_steps_before_it(planted: Data) -> None:
    method = Recorder()
    with pytest.raises(ValueError, match="in the thread"):
        run(planted, method, Failing)
    assert len(method.seen) == 2
    assert not living()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_thread_ends_with_training_that_is_stopped(planted: Data, error: type[BaseException]) -> None:
    with pytest.raises(error, match="in the step"):
        run(planted, Recorder(fail_at=1, error=error))
    assert not living()


def test_one_item_is_made_ahead_and_no_more() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1, 6):
            made.append(number)
            yield number

    with ThreadPoolExecutor(1) as thread:
        for number in prefetch(thread, items()):
            thread.submit(int).result()  # all that was asked for is made by now
            assert len(made) == min(number + 1, 5)


def test_the_parts_of_a_step_end_with_its_last(planted: Data) -> None:
    steps = BatchPlan(planted, partial(RandomWalks, batch_size=30), seed=0, accumulate=2)
    plan = steps.plan(0)
    parts = steps.rest(0, plan, 1)
    method, fabric = Recorder(), make_fabric("cpu")
    optimizer = torch.optim.SGD(method.parameters())
    model, _ = fabric.setup(method, optimizer)
    state = TrainingState(method, optimizer, planted, 1, [])
    for step in range(1, len(plan)):
        method.seen.clear()
        add_gradient(fabric, model, parts, torch.Generator(), state)
        for (nodes, _, _), part in zip(method.seen, steps.parts(0, step, plan[step]), strict=True):
            assert torch.equal(nodes, part.batch.nodes)
    assert next(parts, None) is None


def living() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("batches")]
