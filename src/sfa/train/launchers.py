"""The processes that train together, which torchrun, srun, mpirun, Kubernetes, Ray or the caller started."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.plugins.environments.slurm import SLURMEnvironment
from torch import cuda
from torch import distributed as dist

from sfa import distributed
from sfa.errors import InputError, quoted, shortened

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class OneDeviceEach(LightningEnvironment):
    """The processes as Fabric sees them: each has one device, as if it were alone on its machine."""

    creates_processes_externally = True

    def node_rank(self) -> int:
        return dist.get_rank() if dist.is_initialized() else int(os.environ["RANK"])

    def local_rank(self) -> int:
        return 0


def count_processes() -> int:
    """Return how many processes train: those of the process group if there is one, else those that were started.

    The variables of torchrun are set to what others say, so that PyTorch can make a group of these processes.
    """
    if not dist.is_available():
        return 1
    if dist.is_initialized():
        return dist.get_world_size()
    for launcher, names in distributed.LAUNCHERS.items():
        total, rank, here, local = (os.environ.get(name, "") for name in names)
        if total.isdecimal() and rank.isdecimal():
            if int(total) > 1:
                _settle_meeting_point(launcher, total)
                found = (total, rank, here or "1", local or "0")
                os.environ.update(zip(distributed.LAUNCHERS["torchrun"], found, strict=True))
            return int(total)
    return 1


def _settle_meeting_point(launcher: str, total: str) -> None:
    """Set the address and port of the first process, which Slurm knows and MPI does not tell."""
    if "MASTER_ADDR" not in os.environ:
        nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_NODELIST")
        if not nodes or os.environ.get("SLURM_STEP_NUM_TASKS") != total:
            started = f"{launcher} started {total} processes that shall train together"
            raise InputError(f"{started}: set MASTER_ADDR to the host of the first, where they meet, for all of them.")
        os.environ["MASTER_ADDR"] = SLURMEnvironment.resolve_root_node_address(nodes)
    job = os.environ.get("SLURM_JOB_ID", "")  # jobs that share a machine need a port each
    os.environ.setdefault("MASTER_PORT", str(15000 + int(job[-4:])) if job.isdecimal() else "29500")


def own_gpu() -> int:
    """Return the number of the GPU of this process: that of who made the process group, or one after the other."""
    if dist.is_initialized():
        return cuda.current_device()
    return int(os.environ["LOCAL_RANK"]) % max(1, cuda.device_count())


def join(fabric: Fabric) -> None:
    """Meet the other processes; raise if they cannot."""
    silence = os.environ.get("SFA_SILENCE", "30")
    if not silence.isdecimal() or not 2 <= int(silence) <= 3600:
        raise InputError(
            f"SFA_SILENCE is a number of seconds from 2 to 3600, not {quoted(silence)}: set it, or unset it."
        )
    is_new, before = not dist.is_initialized(), _open_sockets()
    try:
        _join_again(fabric)
        fabric.launch()
    except RuntimeError as error:
        where = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')} ({shortened(str(error), 120)})"
        raise InputError(f"The {fabric.world_size} processes cannot meet at {where}.") from error
    if is_new and dist.get_backend() == "gloo":
        _end_dead_connections([file for name, file in _open_sockets().items() if name not in before], int(silence))


def _join_again(fabric: Fabric) -> None:
    """Make the group of processes that torchrun has started again on one machine.

    Its store still has the addresses of the processes before, which PyTorch would take for those of the new ones.
    """
    given, attempt = os.environ.get, os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    is_shared = (given("TORCHELASTIC_USE_AGENT_STORE"), given("GROUP_WORLD_SIZE")) == ("True", "1")
    if attempt != "0" and is_shared and not dist.is_initialized():
        store: Any = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))  # type: ignore[attr-defined]
        backend, rank = "nccl" if fabric.device.type == "cuda" else "gloo", int(os.environ["RANK"])
        store = dist.PrefixStore(f"attempt {attempt}", store)  # type: ignore[attr-defined]
        dist.init_process_group(backend, store=store, rank=rank, world_size=fabric.world_size)


def _open_sockets() -> dict[str, int]:
    """Return the open sockets by a name that is used only once."""
    files = os.listdir("/proc/self/fd") if sys.platform == "linux" else []
    found = {os.path.realpath(f"/proc/self/fd/{file}"): int(file) for file in files}
    return {name: file for name, file in found.items() if "socket:" in name}


def _end_dead_connections(files: Iterable[int], seconds: int) -> None:
    """Let the kernel end connections to a machine that has not answered for so many seconds, which no message does.

    The kernel of a machine that lives answers while its process computes, so steps may take any time. The other limit,
    the timeout of the group, is half an hour.
    """
    for file in files:
        with suppress(OSError), socket.socket(fileno=os.dup(file)) as connection:  # some are not of TCP
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, seconds // 2)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, seconds // 6))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, seconds * 1000)  # of either
