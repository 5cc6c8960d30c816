"""Checkpoints: weights, optimizer state and progress in one safetensors file, replaced in one step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from sfa.atomic import atomic_path
from sfa.errors import InputError
from sfa.train.callbacks import Callback
from sfa.train.state import Progress


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    callbacks: Sequence[Callback] = (),
) -> None:
    """Write everything that is needed to go on from here; names of a callback's tensors begin with its state_key."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in state.items()}
    for callback in callbacks:
        tensors |= {f"{callback.state_key}.{name}": value for name, value in callback.state_dict().items()}
    save_tensors(path, tensors, asdict(progress))


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    callbacks: Sequence[Callback] = (),
) -> Progress:
    """Restore a model, its optimizer, and those callbacks that the checkpoint has a state of, in place."""
    tensors, meta = load_tensors(path)
    try:
        model.load_state_dict(_beginning_with("model", tensors))
        progress = Progress(**meta)
        for callback in callbacks:
            if state := _beginning_with(callback.state_key, tensors):
                callback.load_state_dict(state)
    except (RuntimeError, TypeError, KeyError) as error:
        raise InputError(f"The checkpoint {path} does not fit this recipe and data: {_first_line(error)}") from error
    if optimizer is not None:
        _restore(optimizer, _beginning_with("optimizer", tensors))
    return progress


def save_tensors(path: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Replace a safetensors file, with JSON metadata, in one step."""
    contiguous = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with atomic_path(path) as temporary:
        # Written by Python, so that a full disk is the OSError that it is.
        temporary.write_bytes(save(contiguous, metadata={"sfa": json.dumps(meta)}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a file of :func:`save_tensors`; nothing in it is executed."""
    if not path.is_file():
        raise InputError(f"There is no checkpoint at {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            meta = json.loads((file.metadata() or {})["sfa"])
            if not isinstance(meta, dict):
                raise ValueError("its metadata are no mapping")
            return {name: file.get_tensor(name) for name in file.keys()}, meta  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise InputError(f"The checkpoint {path} is truncated or is not one of sfa's: {_first_line(error)}") from error


def _beginning_with(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}


def _restore(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, key = name.split(".")
        state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    # A file has no strides: in others than those of the weights, another loop with other rounding would be taken.
    for weights, kept in optimizer.state.items():
        for key, value in kept.items():
            if value.shape == weights.shape:
                kept[key] = torch.empty_like(weights, dtype=value.dtype).copy_(value)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
