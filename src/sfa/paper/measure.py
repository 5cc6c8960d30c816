"""One run measured: trained where it needs training, and scored; or several timed by turns."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.evaluate import Classification, Protocol, Score
from sfa.evaluate.baselines import BASELINES
from sfa.evaluate.supervised import SupervisedModel, supervised_score
from sfa.paper.cells import RUN_TIME, Cell
from sfa.run import Recipe
from sfa.run.train_recipe import open_or_create_folder, train_recipe
from sfa.train import Callback, LambdaCallback, train

TURNS = 10
"""How often each recipe that is timed has its turn."""
CLEAR, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
"""Where Linux forgets the peak of a process's memory, and tells it."""

Measured = dict[str, Any]
"""Fields of a stored result."""


def measure(
    cell: Cell,
    graph: Data,
    protocols: Sequence[Protocol],
    *,
    path: Path,
    device: str,
    callbacks: Sequence[Callback] = (),
) -> Measured:
    """Train a run in the folder ``path``, or train on if it is there, and score it; return what it took and gave."""
    recipe, kind, cost = cell.variant.recipe, cell.variant.kind, Measured()
    z: Tensor | None = None  # of a classifier that is trained with the labels there are no embeddings
    if kind == "trained":
        by = clear_peak_memory()
        folder = open_or_create_folder(path, recipe, graph, cell.dataset.source)
        run = train_recipe(recipe, graph, folder, device=device, resume=True, callbacks=callbacks)
        epochs, seconds = run.progress.epoch, float(run.folder.read_metrics()[-1]["seconds"])
        cost = {"epochs": epochs, "train_seconds": seconds, "seconds_per_epoch": seconds / epochs}
        cost |= {"peak_memory": peak_memory(by), "peak_memory_by": by}
        graph, z = run.data, run.method.embed(run.data)
    else:
        graph = recipe.prepare(graph)
        if kind == "untrained encoder":
            z = recipe.build_for(graph).embed(graph)
        elif kind in BASELINES[cell.dataset.task]:
            z = BASELINES[cell.dataset.task][kind](graph)
    started = time.perf_counter()
    scores = tuple(_score(cell, z, graph, protocol) for protocol in protocols)
    return {**cost, "scores": scores, "evaluate_seconds": time.perf_counter() - started}


def _score(cell: Cell, z: Tensor | None, graph: Data, protocol: Protocol) -> Score:
    if z is not None:
        return protocol.evaluate(z, graph, name=cell.variant.name)
    assert isinstance(protocol, Classification)
    model: SupervisedModel = "gcn" if cell.variant.kind == "supervised gcn" else "mlp"
    return supervised_score(graph, protocol, model, name=cell.variant.name, seed=cell.variant.seed)


def measure_times(
    recipes: Sequence[Recipe], graph: Data, *, device: str, on_turn: Callable[[float], None] = lambda epochs: None
) -> list[Measured]:
    """Time recipes by turns of a tenth of their epochs; return what each took.

    What else the machine does slows all of them alike. Every other round goes through the recipes backwards, so that a
    machine which slows down steadily favors none. After each turn ``on_turn`` is called with the epochs that each
    recipe has done, on average.
    """
    built = [(recipe.build_for(graph), recipe.prepare(graph), recipe) for recipe in recipes]
    epochs = [max(1, recipe.training.epochs // TURNS) for recipe in recipes]
    seconds: list[list[float]] = [[] for _ in recipes]
    for turn in range(TURNS):
        for place in list(range(len(recipes)))[:: 1 if turn % 2 == 0 else -1]:
            seconds[place].append(seconds_per_epoch(*built[place], epochs=epochs[place], device=device))
            on_turn(sum(len(turns) * each for turns, each in zip(seconds, epochs, strict=True)) / len(recipes))
    measured = []
    for turns, each in zip(seconds, epochs, strict=True):
        total, mean = TURNS * each, sum(turns) / TURNS
        scores = (Score("epochs", RUN_TIME, {"seconds per epoch": tuple(turns)}),)
        measured.append({"epochs": total, "train_seconds": mean * total, "seconds_per_epoch": mean, "scores": scores})
    return measured


def seconds_per_epoch(method: nn.Module, graph: Data, recipe: Recipe, *, epochs: int, device: str) -> float:
    """Return the mean over so many epochs, after one more that is not counted: it sets things up.

    ``graph`` is prepared as the recipe says.
    """
    ends: list[float] = []
    settings = {**recipe.training.arguments, "epochs": epochs + 1, "patience": None, "diagnose_every": 0}
    clock = LambdaCallback(on_epoch_end=lambda state: ends.append(time.perf_counter()))
    train(method, graph, **settings, device=device, sampler=recipe.make_sampler(), callbacks=[clock])
    return (ends[-1] - ends[0]) / epochs


def clear_peak_memory() -> str:
    """Forget the peak of this process's memory, where Linux can; return by what :func:`peak_memory` is to be read.

    ``VmHWM`` is the peak from here on, ``ru_maxrss`` that since the process began.
    """
    try:
        CLEAR.write_text("5")
        return "ru_maxrss" if _high_water_mark() is None else "VmHWM"
    except OSError:
        return "ru_maxrss"


def peak_memory(by: str) -> int | None:
    """Return the bytes that this process held at most; ``None`` where the system does not tell."""
    mark = _high_water_mark() if by == "VmHWM" else None
    if mark is not None or sys.platform == "win32":
        return mark
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _high_water_mark() -> int | None:
    found = re.search(r"^VmHWM:\s*(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    return None if found is None else 1024 * int(found[1])
