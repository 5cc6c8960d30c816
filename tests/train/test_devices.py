"""What can be known without a GPU of training on one: where batches are, and what a step asks of the host."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch_geometric.data import Data

from sfa.data.write_store import write_store
from sfa.run import Recipe
from sfa.train import BatchPlan
from tests.memory_maps import file_of

NAMES = "tensor zeros ones empty full arange eye rand randn randint randperm linspace"
FACTORIES = {getattr(torch, name) for name in NAMES.split()}
WAITS = {getattr(torch.Tensor, name) for name in ("__bool__", "__int__", "__float__", "__index__", "item")}
COPIES = {getattr(torch.Tensor, name) for name in ("cpu", "numpy", "tolist", "__array__")}


class HostCalls(TorchFunctionMode):
    """Record calls from sfa that make a tensor without a device, copy one to the host, or wait for a number."""

    def __init__(self) -> None:
        super().__init__()
        self.made_or_copied: list[str] = []
        self.waits: set[str] = set()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        where = [frame for frame in traceback.extract_stack() if "/sfa/" in frame.filename]
        found = f"{function.__name__} in {where[-1].filename}: {where[-1].line}" if where else ""
        if found and ((function in FACTORIES and "device" not in kwargs) or function in COPIES):
            self.made_or_copied.append(found)
        elif found and function in WAITS:
            self.waits.add(found)
        return function(*args, **kwargs)


@pytest.mark.parametrize(
    ("method", "sampler", "waits"),
    [("neighbor-contrast", None, 2), ("signa", None, 0), ("grace", "neighbours", 4)],
)
def test_a_step_makes_and_copies_nothing_on_the_host(
    planted: Data, method: str, sampler: str | None, waits: int
) -> None:
    recipe = Recipe.parse({"method": method}).updated({} if sampler is None else {"sampler": {"name": sampler}})
    recipe = recipe.settled(planted)
    module, data = recipe.build_for(planted), recipe.prepare(planted, recipe.statistics(planted))
    plan = BatchPlan(data, recipe.make_sampler(), 0)
    module.before_training(plan.data)
    batch, generator = plan.first(), plan.generator(0, 0)
    module(batch, generator)  # what is worked out once for a graph is
    with HostCalls() as calls:
        module(batch, generator).backward()
    assert calls.made_or_copied == []
    assert len(calls.waits) <= waits, calls.waits


@pytest.mark.parametrize(("sampler", "all_of_it"), [("whole", True), ("random-nodes", True), ("neighbours", False)])
def test_batches_and_what_methods_see_before_training_are_on_the_device(
    planted: Data, sampler: str, all_of_it: bool
) -> None:
    """A graph that every batch holds is moved once; otherwise features stay on the host, and batches are moved."""
    recipe = Recipe.parse({"method": "neighbor-contrast" if sampler == "random-nodes" else "grace"})
    settings = {"name": sampler} if sampler == "whole" else {"name": sampler, "batch_size": 8}
    plan = BatchPlan(planted, recipe.updated({"sampler": settings}).make_sampler(), 0, "meta")
    assert plan.data.x.device.type == ("meta" if all_of_it else "cpu")
    assert planted.x.device.type == "cpu"
    if sampler != "whole":  # which keeps no nodes
        assert plan.first().get("seeds", plan.first().x).device.type == "meta"
    assert plan.first().x.device.type == plan.first().edge_index.device.type == "meta"


def test_a_stored_graph_stays_on_the_host(planted: Data, tmp_path: Path) -> None:
    stored = write_store(planted, tmp_path / "store")
    recipe = Recipe.parse({"method": "neighbor-contrast"})
    batch = BatchPlan(stored, recipe.make_sampler(), 0, "meta").first()
    assert {tensor.device.type for tensor in batch.to_dict().values() if isinstance(tensor, torch.Tensor)} == {"cpu"}
    assert file_of(batch.x) == str(tmp_path / "store" / "x.npy")
