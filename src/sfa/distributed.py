"""Several processes that act as one: the rows of all of them are one batch, in the order of the ranks.

A function with ``across_processes=True`` returns on every process what it would return for its rows if one process had
the rows of all. Processes may hold different numbers of rows, but must all call it.

**Every process backpropagates its own copy of the loss of the whole batch.** Backward sums gradients over processes, so
each of ``p`` processes finds ``p`` times its share of the true gradient, and the average that
``DistributedDataParallel`` takes is the gradient of one process on the whole batch.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.modules.batchnorm import _BatchNorm

from sfa.errors import InputError, SfaError, TrainingError

T = TypeVar("T")
# Variables that hold the number of processes, that of this one, and both on this machine. Kubernetes sets those of
# torchrun. In an allocation of Slurm, mpirun starts its daemons by srun, whose variables then mean these.
LAUNCHERS = {
    "torchrun": ("WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE", "LOCAL_RANK"),
    "mpirun": tuple(f"OMPI_COMM_WORLD_{name}" for name in ("SIZE", "RANK", "LOCAL_SIZE", "LOCAL_RANK")),
    "mpiexec": ("PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"),
    "srun": ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_NTASKS_PER_NODE", "SLURM_LOCALID"),
}
_LOST = re.compile(r"gloo|nccl|connection|peer|socket|timed? ?out", re.IGNORECASE)


def world_size() -> int:
    """Return the number of processes; 1 outside ``torch.distributed``."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process, from 0; 0 outside ``torch.distributed``."""
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


class _AllReduceSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        half = x.dtype in (torch.float16, torch.bfloat16)
        total = x.to(torch.float32 if half else x.dtype, copy=True, memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total.to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return all_reduce_sum(grads[0])


def all_reduce_sum(x: Tensor, across_processes: bool = True) -> Tensor:
    """Sum a tensor that has one shape on all processes, in float32 if it has half precision.

    Backward sums the gradients of all processes, which must all run it, and can itself be differentiated.
    """
    return _AllReduceSum.apply(x) if across_processes and world_size() > 1 else x  # type: ignore[no-untyped-call]


def count_rows(x: Tensor, across_processes: bool = True) -> int:
    """Count the rows, ``x.shape[0]``, of all processes together."""
    return int(all_reduce_sum(torch.tensor(x.shape[0], device=x.device))) if across_processes else x.shape[0]


@torch.no_grad()
def gather_rows(x: Tensor) -> tuple[Tensor, int]:
    """Gather the rows ``(nᵢ, ...)`` of all processes, ``(Σ nᵢ, ...)``, without gradient; also return the first own."""
    if world_size() == 1:
        return x.detach(), 0
    counts = torch.zeros(world_size(), dtype=torch.int64, device=x.device)
    counts[rank()] = len(x)
    sizes = all_reduce_sum(counts).tolist()
    padded = x.new_zeros(max(sizes), *x.shape[1:])  # The collectives of NCCL and gloo take one shape from all.
    padded[: len(x)] = x
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded)
    return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)]), sum(sizes[: rank()])


@torch.no_grad()
def broadcast(x: Tensor) -> Tensor:
    """Return rank 0's tensor on every process; all give one of the same shape. No gradient."""
    if world_size() == 1:
        return x.detach()
    received = x.detach().clone(memory_format=torch.contiguous_format)
    dist.broadcast(received, src=0)
    return received


def broadcast_object(value: T) -> T:
    """Return rank 0's value of some small object on every process."""
    values = [value]
    if world_size() > 1:
        dist.broadcast_object_list(values, src=0)
    return values[0]


def any_of(flag: bool) -> bool:
    """Tell all processes whether the flag is set on any of them."""
    if world_size() == 1:
        return flag
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    return bool(all_reduce_sum(torch.tensor(int(flag), device=device)) > 0)


def barrier_and_destroy(keep: bool = False) -> None:
    """Wait for the other processes, then leave the group; threads of the network could abort one that just ends."""
    if world_size() > 1:
        dist.barrier()
        if not keep:
            dist.destroy_process_group()


@contextmanager
def translate_connection_errors() -> Iterator[None]:
    """Turn the error of the network library about the end of another process into a sentence."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, SfaError) or world_size() == 1 or not _LOST.search(str(error)):
            raise
        reason = " ".join(str(error).split())[:120]
        lost = f"Another process of this run has ended or cannot be reached ({reason})"
        raise TrainingError(f"{lost}: start all with --resume.") from error


def train_alone() -> None:
    """Let each process that srun or mpirun started train for itself, as those of a search do."""
    for total, *_ in LAUNCHERS.values():
        os.environ.pop(total, None)


def enable_cross_rank(module: nn.Module) -> None:
    """Set ``across_processes`` of all parts of a module; raise if one needs all rows in one process."""
    for part in module.modules():
        name = type(part).__name__
        if not getattr(part, "spans_processes", True):
            other = "train with one process, or choose a method and a spectral map that span several"
            raise InputError(f"{name} needs all rows of a feature map in one process: {other}.")
        if isinstance(part, _BatchNorm) and not hasattr(part, "across_processes"):
            raise InputError(f"{name} normalizes each process alone: use sfa.nn.BatchNorm instead.")
    for part in module.modules():
        if hasattr(part, "across_processes"):
            part.across_processes = True  # type: ignore[assignment]
