"""The device, precision and processes of training."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Literal

from torch import cuda
from torch.distributed import is_available, is_torchelastic_launched

from sfa.errors import InputError

if TYPE_CHECKING:
    from lightning_fabric import Fabric

PrecisionName = Literal["32", "bf16-mixed", "16-mixed"]


def make_fabric(device: str | Fabric = "auto", precision: PrecisionName = "32") -> Fabric:
    """Make Lightning Fabric on one device: ``cpu``, ``cuda``, ``cuda:1``, or ``auto``, a GPU if there is one.

    A process that ``torchrun`` started joins the others: one device a process, gloo on CPUs and NCCL on GPUs.
    """
    from lightning_fabric import Fabric  # slow to import, and embedding needs none

    if isinstance(device, Fabric):
        return device
    name, _, index = device.partition(":")
    if name == "mps":
        raise InputError("The device 'mps' cannot be used: PyTorch has no sparse matrices on it. Use cpu.")
    if name == "auto":
        name = "cuda" if cuda.is_available() else "cpu"
    if name == "cpu" and precision == "16-mixed":
        raise InputError("The precision 16-mixed needs a GPU, and training is on the CPU: take bf16-mixed, or 32.")
    by_torchrun = is_available() and is_torchelastic_launched()
    total, here = (int(os.environ[key]) for key in ("WORLD_SIZE", "LOCAL_WORLD_SIZE")) if by_torchrun else (1, 1)
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it tells standard error of each thing it is asked
    try:
        if total == 1:
            devices = [int(index)] if index and name != "cpu" else 1
            return Fabric(accelerator=name, devices=devices, precision=precision)
        fabric = Fabric(accelerator=name, devices=here, num_nodes=total // here, strategy="ddp", precision=precision)
        fabric.launch()
        return fabric
    except (ValueError, RuntimeError, ImportError) as error:
        raise InputError(f"The device {device!r} cannot be used here (see `sfa doctor`): {error}") from error
