"""Methods whose losses follow a script, and recipes that are trained in no time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sfa.run import Recipe
from sfa.train import RunFolder


class Scripted(nn.Module):
    """A method with one parameter; at each step its loss is the next number of a script, its gradient another's."""

    def __init__(self, losses: Sequence[float], gradients: Sequence[float] | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.losses = list(losses)
        self.gradients = list(gradients or [0.0] * len(self.losses))
        self.step = 0

    def forward(self, graph: Any, generator: torch.Generator | None = None) -> Tensor:
        loss, gradient = self.losses[self.step], self.gradients[self.step]
        self.step += 1
        return _WithGradient.apply(self.weight, loss, gradient)


class _WithGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, loss: float, gradient: float) -> Tensor:
        ctx.gradient = gradient
        return torch.full_like(weight, loss)

    @staticmethod
    def backward(ctx: Any, output: Tensor) -> tuple[Tensor, None, None]:
        return torch.full_like(output, ctx.gradient), None, None


@pytest.fixture
def scripted() -> type[Scripted]:
    return Scripted


@pytest.fixture
def new_folder(tmp_path: Path) -> Callable[[str], RunFolder]:
    return lambda name="run": RunFolder.create(tmp_path / name, {}, {})


@pytest.fixture
def small_recipe() -> Callable[..., Recipe]:
    def parse(method: str = "grace", **changes: Any) -> Recipe:
        small = {"method.hidden": 8, **({"method.projection": 8} if method == "grace" else {})}
        training = {"training.epochs": 10, "training.lr": 0.01, "training.checkpoint_every": 3}
        given = {key.replace("__", "."): value for key, value in changes.items()}
        return Recipe.parse({"method": method}).updated({**small, **training, **given})

    return parse
