"""Callbacks of tests that look at one thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfa.train import LambdaCallback


def on_epoch(function: Callable[[dict[str, Any]], Any]) -> LambdaCallback:
    """Call ``function(metrics)`` after each epoch."""
    return LambdaCallback(on_epoch_end=lambda state: function(state.metrics))


def on_step(function: Callable[[int, int, int, float], Any]) -> LambdaCallback:
    """Call ``function(epoch, step, num_steps, loss)`` after each step."""
    return LambdaCallback(on_step_end=lambda state: function(state.epoch, state.step, state.num_steps, state.loss))
