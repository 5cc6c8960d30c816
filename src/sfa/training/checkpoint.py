"""Checkpoints: weights, optimiser state and progress in one safetensors file, replaced in one step."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from sfa.atomic import atomic_path
from sfa.errors import InputError
from sfa.training.progress import Progress


def save_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Write everything that is needed to go on from here."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in state.items()}
    save_tensors(path, tensors, asdict(progress))


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> Progress:
    """Restore a model (and its optimiser) in place; says which file is broken or does not fit."""
    tensors, meta = load_tensors(path)
    weights = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
    try:
        model.load_state_dict(weights)
        progress = Progress(**meta)
    except (RuntimeError, TypeError) as error:
        raise InputError(f"The checkpoint {path} does not fit this recipe and data: {_first_line(error)}") from error
    if optimizer is not None:
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            if name.startswith("optimizer."):
                _, index, key = name.split(".")
                state.setdefault(int(index), {})[key] = value
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
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


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
