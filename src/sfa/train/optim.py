"""Optimizers, among them LARS, and the learning rate as a function of the epoch."""

import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from sfa.errors import unknown_name
from sfa.methods.base import TrainingHooks

OptimizerName = Literal["adam", "adamw", "sgd", "lars"]


def make_optimizer(
    name: OptimizerName, method: nn.Module, *, lr: float, weight_decay: float, momentum: float
) -> torch.optim.Optimizer:
    """Make the optimizer of the trained weights of a method.

    Weights whose rate stays at its peak (:meth:`~sfa.methods.Method.constant_rate`) are in groups marked ``constant``,
    after the others. Under LARS those of at most one dimension, such as biases, have neither its rate nor weight decay.
    """
    if name not in get_args(OptimizerName):
        raise unknown_name("optimizer", name, get_args(OptimizerName))
    constant = set(method.constant_rate()) if isinstance(method, TrainingHooks) else set()
    group_of: dict[tuple[bool, bool], dict[str, Any]] = {}
    for weights in method.parameters():
        if weights.requires_grad:
            is_constant, is_plain = weights in constant, name == "lars" and weights.ndim <= 1
            own = {"constant": True} if is_constant else {}
            plain = {"adaptive": False, "weight_decay": 0.0} if is_plain else {}
            group_of.setdefault((is_constant, is_plain), {"params": [], **own, **plain})["params"].append(weights)
    groups = [group_of[kind] for kind in sorted(group_of)] or [{"params": []}]  # of a method that learns nothing
    classes = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD, "lars": LARS}
    options = {"momentum": momentum} if name in ("sgd", "lars") else {}
    made: torch.optim.Optimizer = classes[name](groups, lr=lr, weight_decay=weight_decay, **options)
    return made


def state_names(optimizer: torch.optim.Optimizer) -> set[str]:
    """Return the names of what an optimizer keeps of each of the weights."""
    if "momentum" not in optimizer.defaults:
        return {"step", "exp_avg", "exp_avg_sq"}
    return {"momentum_buffer"} if optimizer.defaults["momentum"] or isinstance(optimizer, LARS) else set()


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all groups but the constant ones."""
    for group in optimizer.param_groups:
        if not group.get("constant", False):
            group["lr"] = rate


def learning_rate(
    epoch: float, *, peak: float, epochs: int, warmup: int = 0, warmup_from: float | None = None, cosine: bool = False
) -> float:
    """Compute the rate at ``epoch`` (from 0): a linear rise over ``warmup`` epochs, then constant or a cosine to 0.

    The rise begins at ``warmup_from`` and ends after the warm-up; if that is not given, it begins one epoch in and ends
    with the last epoch of the warm-up.

    >>> [round(learning_rate(e, peak=1.0, epochs=6, warmup=2, cosine=True), 3) for e in range(6)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
    """
    if epoch < warmup:
        if warmup_from is None:
            return peak * min(1.0, (epoch + 1) / warmup)
        return warmup_from + (peak - warmup_from) * (epoch / warmup)
    if not cosine:
        return peak
    progress = (epoch - warmup) / max(1, epochs - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * progress))


class LARS(torch.optim.Optimizer):
    r"""Layer-wise adaptive rate scaling: SGD whose step suits the size of the weights.

    From `"Large Batch Training of Convolutional Networks" <https://arxiv.org/abs/1708.03888>`_ (You et al., 2017). For
    weights :math:`w`, gradient :math:`g`, rate :math:`\gamma`, momentum :math:`\mu` and weight decay :math:`\beta`,

    .. math::
        \lambda = \frac{\eta \lVert w \rVert}{\lVert g \rVert + \beta \lVert w \rVert + \epsilon}, \qquad
        v \leftarrow \mu v + \min(\lambda / \gamma, 1) (g + \beta w), \qquad
        w \leftarrow w - \gamma v.

    Without ``clip`` (the paper's form) :math:`\lambda` stands in place of the minimum. Where weights or gradients are
    zero, :math:`v \leftarrow \mu v + g`. A group of weights with ``adaptive=False`` is left to SGD with momentum.
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
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            for w in group["params"]:
                if w.grad is not None:
                    if not (state := self.state[w]):
                        state["momentum_buffer"] = torch.zeros_like(w)
                    v = state["momentum_buffer"].mul_(group["momentum"]).add_(_direction(w, w.grad, group))
                    w.add_(v, alpha=-group["lr"])
        return loss


def _direction(w: Tensor, g: Tensor, group: dict[str, Any]) -> Tensor:
    """Compute the addition to the momentum, relative to the learning rate, without leaving the device."""
    beta = group["weight_decay"]
    if not group["adaptive"]:
        return g.add(w, alpha=beta)
    w_norm, g_norm = torch.linalg.vector_norm(w), torch.linalg.vector_norm(g)
    rate = group["eta"] * w_norm / (g_norm + beta * w_norm + 1e-8)
    if group["clip"]:
        rate = (rate / group["lr"]).clamp(max=1)
    has_ratio = (w_norm > 0) & (g_norm > 0)
    return torch.where(has_ratio, rate * (g + beta * w), g)
