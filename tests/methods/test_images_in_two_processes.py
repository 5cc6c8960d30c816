"""Image-level methods whose images are spread over processes: two act as one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa import processes
from sfa.methods import resolve
from tests.methods.whole_steps import gradients, images
from tests.processes import run_in_processes

NAMES = ("simclr", "barlow-twins", "simsiam", "byol")
SMALL = {"hidden": 2, "head_hidden": 7, "head_width": 5, "augmentation": "identity"}


def losses_and_gradients(parts: list[Data]) -> list[tuple[float, dict[str, Tensor]]]:
    """Of each method, in float64, with views that are the images themselves: processes draw views apart."""
    torch.manual_seed(0)
    results = []
    for name in NAMES:
        cls: Any = resolve(name)
        method = cls(3, **SMALL, **({"prediction": 4} if name in ("simsiam", "byol") else {})).double()
        processes.synchronise(method)
        loss = method(parts[processes.rank()])
        results.append((loss.item(), gradients(method, loss)))
    return results


def test_two_processes_act_as_one() -> None:
    """Nine images in two processes have the loss of all in one; the mean of their gradients is its gradient."""
    together = images(9)
    parts = [Data(x=together.x[:4]), Data(x=together.x[4:])]
    expected = losses_and_gradients([together])
    found = run_in_processes(losses_and_gradients, 2, parts)
    for (loss, gradient), first, second in zip(expected, *found, strict=True):
        assert [first[0], second[0]] == pytest.approx([loss] * 2, rel=1e-9)
        mean = {name: (first[1][name] + second[1][name]) / 2 for name in gradient}
        torch.testing.assert_close(mean, gradient, rtol=1e-6, atol=1e-9)
