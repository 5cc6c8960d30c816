"""Graph-level methods whose graphs may be spread over processes: two act as one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from sfa import processes
from sfa.methods.graph_bgrl import GraphBGRL
from sfa.methods.graph_bt import GraphBT
from tests.processes import run_in_processes


def losses_and_gradients(parts: list[Data]) -> list[tuple[float, Tensor]]:
    """Of both methods, with views that are the graphs themselves: processes draw views apart."""
    torch.manual_seed(0)
    results = []
    for method in (
        GraphBT(4, hidden=3, layers=2, augmentation="identity", off_diagonal=1.0),
        GraphBGRL(4, hidden=3, layers=2, augmentation="identity", prediction=5),
    ):
        processes.synchronise(method)
        loss = method(parts[processes.rank()])
        loss.backward()
        grad = next(method.encoder.parameters()).grad
        assert grad is not None
        results.append((loss.item(), grad))
    return results


def test_two_processes_act_as_one(molecule_list: list[Data]) -> None:
    """Ten graphs in two processes have the loss of all in one; the mean of their gradients is its gradient."""
    expected = losses_and_gradients([Batch.from_data_list(molecule_list[:10])])
    parts = [Batch.from_data_list(molecule_list[:4]), Batch.from_data_list(molecule_list[4:10])]
    for (loss, gradient), first, second in zip(
        expected, *run_in_processes(losses_and_gradients, 2, parts), strict=True
    ):
        assert [first[0], second[0]] == pytest.approx([loss] * 2, rel=1e-4)
        torch.testing.assert_close((first[1] + second[1]) / 2, gradient, rtol=1e-3, atol=1e-5)
