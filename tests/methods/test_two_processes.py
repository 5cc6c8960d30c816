"""Methods whose nodes, graphs or images may be spread over processes: two act as one."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from sfa import distributed
from sfa.tasks import Task
from tests.methods.conformance import build, built_in
from tests.methods.whole_steps import gradients, images
from tests.processes import run_in_processes

pytestmark = pytest.mark.multiprocess


def losses_and_gradients(task: Task, parts: list[Data]) -> dict[str, tuple[float, dict[str, Tensor]]]:
    """Of each method of a level, in float64, with views that are the data themselves: processes draw views apart."""
    results = {}
    for name, method_class in built_in(task).items():
        if not method_class.spans_processes:
            continue
        identity = {"name": "image", "strength": "identity"} if task == "image" else "identity"
        changes: dict[str, Any] = {"augmentation": identity}
        if not method_class.takes_augmentation:  # nodes are their own positives, and no feature is dropped
            exact = {"mask": 1.0, "precision": "full"}
            options = {key: exact[key] for key in exact if key in signature(method_class).parameters}
            encoder = {"name": "mlp", "hidden": 8, "dropout": 0.0}
            changes = {"method": {"name": name, **options}, "encoder": encoder}
        method = build(name, parts[0], **changes).double()
        distributed.enable_cross_rank(method)
        loss = method(parts[distributed.rank()])
        results[name] = (loss.item(), gradients(method, loss))
    return results


def halves(graph: Data) -> list[Data]:
    """The first 30 nodes and the last, with the edges among each."""
    row, col = graph.edge_index
    x = graph.x.double()
    return [
        Data(x=x[start : start + 30], edge_index=torch.stack([row[inside], col[inside]]) - start, num_nodes=30)
        for start in (0, 30)
        for inside in [(row // 30 == start // 30) & (col // 30 == start // 30)]
    ]


def together_and_parts(task: Task, planted: Data, molecule_list: list[Data]) -> tuple[Data, list[Data]]:
    """A batch, and the same as two batches of unlike size where that is possible."""
    if task == "image":
        batch = images(9)
        return batch, [Data(x=batch.x[:4]), Data(x=batch.x[4:])]
    if task == "graph":
        graphs = [Data(x=one.x.double(), edge_index=one.edge_index) for one in molecule_list[:10]]
        return Batch.from_data_list(graphs), [Batch.from_data_list(graphs[:4]), Batch.from_data_list(graphs[4:])]
    first, second = halves(planted)
    edges = torch.cat([first.edge_index, second.edge_index + 30], dim=1)
    return Data(x=planted.x.double(), edge_index=edges, num_nodes=60), [first, second]


@pytest.mark.parametrize("task", ["node", "graph", "image"])
def test_two_processes_act_as_one(task: Task, planted: Data, molecule_list: list[Data]) -> None:
    """A batch in two processes has the loss of all of it in one; the mean of their gradients is its gradient."""
    together, parts = together_and_parts(task, planted, molecule_list)
    expected = losses_and_gradients(task, [together])
    first, second = run_in_processes(losses_and_gradients, 2, task, parts)
    assert expected
    for name, (loss, gradient) in expected.items():
        assert [first[name][0], second[name][0]] == pytest.approx([loss] * 2, rel=1e-9), name
        for key in gradient:
            mean = (first[name][1][key] + second[name][1][key]) / 2
            assert torch.allclose(mean, gradient[key], rtol=1e-6, atol=1e-9), f"{name}, {key}"
