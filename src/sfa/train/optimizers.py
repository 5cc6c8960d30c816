"""The optimizer of a method, with the weights that it treats apart in groups of their own."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import nn

from sfa.train.hooks import hooks_of
from sfa.train.lars import LARS

OptimizerName = Literal["adam", "adamw", "sgd", "lars"]


def make_optimizer(
    name: OptimizerName, method: nn.Module, *, lr: float, weight_decay: float, momentum: float
) -> torch.optim.Optimizer:
    """Make the optimizer of a method's trained weights, all in one group unless some are treated apart.

    Weights whose rate is to stay at its peak (:meth:`~sfa.methods.Method.constant_rate`) are in groups marked
    ``constant``, after the others. Under LARS those of at most one dimension (biases, and the weights of batch
    normalization) have neither its adaptive rate nor weight decay.

    Args:
        name: ``adam``, ``adamw``, ``sgd`` or ``lars``.
        method: What is trained.
        lr: Peak learning rate.
        weight_decay: L2 penalty of Adam, SGD and LARS, or decay of AdamW.
        momentum: Of SGD and LARS.
    """
    constant = set(hooks_of(method).constant_rate())
    trained = [weights for weights in method.parameters() if weights.requires_grad]
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for weights in trained:
        groups.setdefault((weights in constant, name == "lars" and weights.ndim <= 1), []).append(weights)
    parts = [_group(*kind, groups[kind]) for kind in sorted(groups)]
    if name == "adam":
        return torch.optim.Adam(parts, lr=lr, weight_decay=weight_decay)
    if name == "adamw":
        return torch.optim.AdamW(parts, lr=lr, weight_decay=weight_decay)
    if name == "sgd":
        return torch.optim.SGD(parts, lr=lr, weight_decay=weight_decay, momentum=momentum)
    return LARS(parts, lr, weight_decay=weight_decay, momentum=momentum)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all groups but the constant ones."""
    for group in optimizer.param_groups:
        if not group.get("constant", False):
            group["lr"] = rate


def _group(is_constant: bool, is_plain: bool, weights: list[nn.Parameter]) -> dict[str, Any]:
    constant = {"constant": True} if is_constant else {}
    return {"params": weights, **constant, **({"adaptive": False, "weight_decay": 0.0} if is_plain else {})}
