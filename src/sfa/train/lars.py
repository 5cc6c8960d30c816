"""LARS: a learning rate for each layer, from the norms of its weights and of its gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

EPSILON = 1e-8
"""Beside the norms in the denominator, as implementations have it."""


class LARS(torch.optim.Optimizer):
    r"""Layer-wise adaptive rate scaling (You, Gitman & Ginsburg, 2017): SGD whose step suits the size of the weights.

    For the weights :math:`w` of a layer, their gradient :math:`g`, the weight decay :math:`\beta`, the momentum
    :math:`\mu` and the learning rate :math:`\gamma`,

    .. math::
        \lambda = \frac{\eta \lVert w \rVert}{\lVert g \rVert + \beta \lVert w \rVert + \epsilon}, \qquad
        v \leftarrow \mu v + \min(\lambda / \gamma, 1) (g + \beta w), \qquad
        w \leftarrow w - \gamma v.

    The minimum clips the local rate at :math:`\gamma` itself, so that no layer moves faster than SGD would move it;
    without clipping (the paper's form) :math:`\lambda` stands in its place. Weights that are zero, as new biases are,
    and gradients that are zero have no ratio: there :math:`v \leftarrow \mu v + g`, as in the implementations of which
    results are published.

    Args:
        params: Weights, or groups of them. A group with ``adaptive=False`` is left to SGD with momentum, as biases and
            the weights of batch normalisation are: :math:`v \leftarrow \mu v + g + \beta w`.
        lr: The learning rate :math:`\gamma`; 0 moves nothing.
        momentum: :math:`\mu`.
        weight_decay: :math:`\beta`.
        eta: The trust coefficient :math:`\eta`.
        clip: Whether the local rate is clipped.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        *,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        eta: float = 0.02,
        clip: bool = True,
    ) -> None:
        settings = {"momentum": momentum, "weight_decay": weight_decay, "eta": eta, "clip": clip, "adaptive": True}
        super().__init__(params, {"lr": lr, **settings})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Move all weights that have a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for w in group["params"]:
                if w.grad is not None:
                    self._move(w, w.grad, group)
        return loss

    def _move(self, w: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        beta = group["weight_decay"]
        direction = _scaled(w, g, group) if group["adaptive"] else g.add(w, alpha=beta)
        state = self.state[w]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(w)
        v = state["momentum_buffer"].mul_(group["momentum"]).add_(direction)
        w.add_(v, alpha=-group["lr"])


def _scaled(w: Tensor, g: Tensor, group: dict[str, Any]) -> Tensor:
    """The decayed gradient at the layer's own rate, relative to the learning rate; it never leaves the device."""
    beta, w_norm, g_norm = group["weight_decay"], torch.linalg.vector_norm(w), torch.linalg.vector_norm(g)
    rate = group["eta"] * w_norm / (g_norm + beta * w_norm + EPSILON)
    if group["clip"]:
        rate = (rate / group["lr"]).clamp(max=1)
    has_ratio = (w_norm > 0) & (g_norm > 0)
    return torch.where(has_ratio, rate * (g + beta * w), g)
