"""Real processes for tests, in workers that stay from one call to the next: importing torch takes them seconds."""

from __future__ import annotations

import atexit
import faulthandler
import itertools
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO, Any, NamedTuple


def run_in_processes(function: Callable[..., Any], world: int, *args: Any, seconds: float = 120) -> list[Any]:
    """``function(*args)`` on each of ``world`` processes of one gloo group; what they return, in the order of ranks.

    The function stands at the top level of its file, which each worker imports once; it has one thread, and warnings
    are errors. Arguments and results are pickled.

    Raises:
        AssertionError: It failed somewhere; the first process that failed and its traceback are in the message.
        TimeoutError: Some processes were not done in time; where they stood is in the message.
    """
    while len(_workers) < world:
        _workers.append(_Worker.start())
    workers = _workers[:world]
    payload = pickle.dumps((function, args))
    rendezvous = f"file://{_rendezvous.name}/{next(_calls)}"
    for rank, worker in enumerate(workers):
        worker.send((rank, world, rendezvous, seconds, payload))
    return _collect(workers, seconds)


class _Worker(NamedTuple):
    process: subprocess.Popen[bytes]
    pipe: Connection
    stderr: IO[bytes]

    @classmethod
    def start(cls) -> _Worker:
        ours, theirs = Pipe()
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the worker)
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()], stderr=stderr
        )
        theirs.close()
        return cls(process, ours, stderr)

    # Not Pipe's own pickling: torch extends it to share tensors by file descriptor.
    def send(self, message: Any) -> None:
        self.pipe.send_bytes(pickle.dumps(message))

    def written(self) -> str:
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace")


_workers: list[_Worker] = []
_calls = itertools.count()
_rendezvous = tempfile.TemporaryDirectory()


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        _workers.remove(worker)
        worker.process.kill()
        worker.process.wait()
        worker.pipe.close()
        worker.stderr.close()


@atexit.register
def _stop_all() -> None:
    _stop(list(_workers))


def _collect(workers: list[_Worker], seconds: float) -> list[Any]:
    results: dict[int, Any] = {}
    deadline = time.monotonic() + seconds
    while len(results) < len(workers):
        for rank, worker in enumerate(workers):
            if rank in results or not worker.pipe.poll(0.001):
                continue
            try:
                succeeded, value = pickle.loads(worker.pipe.recv_bytes())
            except EOFError:
                succeeded, value = False, f"It ended with {worker.process.wait()}.\n{worker.written()}"
            if not succeeded:
                _stop(workers)  # The others may wait for this one for ever.
                raise AssertionError(f"Process {rank} of {len(workers)} failed.\n{value}")
            results[rank] = value
        if time.monotonic() > deadline:
            late = [rank for rank in range(len(workers)) if rank not in results]
            stood = "\n".join(f"Process {rank}:\n{_where(workers[rank])}" for rank in late)
            _stop(workers)
            raise TimeoutError(f"Processes {late} of {len(workers)} were not done after {seconds} s.\n{stood}")
    return [results[rank] for rank in range(len(workers))]


def _where(worker: _Worker) -> str:
    worker.process.send_signal(signal.SIGUSR1)
    time.sleep(0.5)
    return worker.written()


def _work(pipe: Connection) -> None:
    """The life of a worker: one call after another, until the parent closes the pipe."""
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            message = pickle.loads(pipe.recv_bytes())
        except EOFError:
            return
        pipe.send_bytes(_answer(*message))


def _answer(rank: int, world: int, rendezvous: str, seconds: float, payload: bytes) -> bytes:
    from torch import distributed

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function, args = pickle.loads(payload)
        # The group of the call before is left only now that all are done with it: some may have been much faster.
        if distributed.is_initialized():
            distributed.destroy_process_group()
        limit = timedelta(seconds=seconds + 10)  # It ends even if the parent is gone.
        distributed.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=world, timeout=limit)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = function(*args)
        return pickle.dumps((True, result))
    except BaseException:
        return pickle.dumps((False, traceback.format_exc()))


if __name__ == "__main__":
    sys.path[0] = os.fspath(Path(__file__).parent.parent)  # Under pytest, too, a test's module is ``tests.…``.
    _work(Connection(int(sys.argv[1])))
