"""Hooks of a method that the training loop calls."""

from __future__ import annotations

from typing import cast

from torch import nn

from sfa.methods.base import Method


class _NoHooks:
    """Defaults of :class:`Method`'s hooks, which do nothing."""

    constant_rate = Method.constant_rate
    before_step = Method.before_step
    after_backward = Method.after_backward
    after_step = Method.after_step
    after_epoch = Method.after_epoch


def hooks_of(method: nn.Module) -> Method:
    """Return a method itself, or hooks that do nothing for a plain module, which only gives the loss of a step."""
    return method if isinstance(method, Method) else cast("Method", _NoHooks())
