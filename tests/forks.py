"""Processes to be killed in tests: forks of one that has imported the package, which takes seconds."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any


def start_forked(function: Callable[..., None], *args: Any) -> BaseProcess:
    """A process that calls ``function(*args)``, which stands at the top level of its file, in one thread."""
    process = _server().Process(target=_in_one_thread, args=(function, *args))
    process.start()
    return process


def run_forked(function: Callable[..., None], *args: Any, seconds: float = 120) -> int:
    """How such a process ends: 0, 1 if it raised, or minus the signal that killed it."""
    process = start_forked(function, *args)
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise TimeoutError(f"{function.__name__} was not done after {seconds} s.")
    return process.exitcode


@cache
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sfa.paper.studies", "sfa.train"])
    return context


def _in_one_thread(function: Callable[..., None], *args: Any) -> None:
    import torch

    torch.set_num_threads(1)
    function(*args)
