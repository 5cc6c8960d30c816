"""Measure one run: train it where it needs training, and score it; or time several runs in turns."""

import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.evaluate import Classification, Protocol, Score
from sfa.evaluate.baselines import BASELINES, SupervisedModel, supervised_score
from sfa.paper.plans import RUN_TIME, Cell
from sfa.run import Recipe
from sfa.run.train_recipe import open_or_create_folder, train_recipe
from sfa.train import Callback, LambdaCallback, train

TURNS = 10  # number of turns of each recipe that is timed
CLEAR, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")

Measured = dict[str, Any]  # fields of an :class:`~sfa.paper.results_files.Entry`


def measure(
    cell: Cell,
    data: Data,
    protocols: Sequence[Protocol],
    *,
    path: Path,
    device: str,
    callbacks: Sequence[Callback] = (),
) -> Measured:
    """Train a run in the folder ``path``, or resume it, and score it; return its costs and scores."""
    recipe, kind, cost = cell.variant.recipe, cell.variant.kind, Measured()
    z: Tensor | None = None  # supervised classifiers have no embeddings
    if kind == "trained":
        by = clear_peak_memory()
        folder = open_or_create_folder(path, recipe, data, cell.dataset.source)
        run = train_recipe(recipe, data, folder, device=device, resume=True, callbacks=callbacks)
        epochs, seconds = run.progress.epoch, float(run.folder.read_metrics()[-1]["seconds"])
        cost = {"epochs": epochs, "train_seconds": seconds, "seconds_per_epoch": seconds / epochs}
        cost |= {"peak_memory": peak_memory(by), "peak_memory_by": by}
        data, z = run.data, run.method.embed(run.data)
    else:
        data = recipe.prepare(data)
        if kind == "untrained encoder":
            z = recipe.build_for(data).embed(data)
        elif kind in BASELINES[cell.dataset.task]:
            z = BASELINES[cell.dataset.task][kind](data)
    started = time.perf_counter()
    scores = tuple(_score(cell, z, data, protocol) for protocol in protocols)
    return {**cost, "scores": scores, "evaluate_seconds": time.perf_counter() - started}


def _score(cell: Cell, z: Tensor | None, data: Data, protocol: Protocol) -> Score:
    if z is not None:
        return protocol.evaluate(z, data, name=cell.variant.name)
    assert isinstance(protocol, Classification)
    model: SupervisedModel = "gcn" if cell.variant.kind == "supervised gcn" else "mlp"
    return supervised_score(data, protocol, model, name=cell.variant.name, seed=cell.variant.seed)


def measure_times(
    recipes: Sequence[Recipe], data: Data, *, device: str, on_turn: Callable[[float], None] = lambda epochs: None
) -> list[Measured]:
    """Time recipes in turns of a tenth of their epochs, forwards and backwards, so that other load slows all alike.

    After each turn ``on_turn`` is called with the mean number of epochs that a recipe has done.
    """
    built = [(recipe.build_for(data), recipe.prepare(data), recipe) for recipe in recipes]
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


def seconds_per_epoch(method: nn.Module, data: Data, recipe: Recipe, *, epochs: int, device: str) -> float:
    """Return the mean over epochs, after a first one that is not counted; ``data`` are prepared for the recipe."""
    ends: list[float] = []
    settings = {**recipe.training.arguments, "epochs": epochs + 1, "patience": None, "diagnose_every": 0}
    clock = LambdaCallback(on_epoch_end=lambda state: ends.append(time.perf_counter()))
    train(method, data, **settings, device=device, sampler=recipe.make_sampler(), callbacks=[clock])
    return (ends[-1] - ends[0]) / epochs


def clear_peak_memory() -> str:
    """Reset the peak memory of this process, where Linux can; return the counter that :func:`peak_memory` reads then.

    ``VmHWM`` is the peak from here on, ``ru_maxrss`` the peak since the process started.
    """
    try:
        CLEAR.write_text("5")
        return "ru_maxrss" if _high_water_mark() is None else "VmHWM"
    except OSError:
        return "ru_maxrss"


def peak_memory(by: str) -> int | None:
    """Return the peak memory of this process in bytes; ``None`` where the system does not tell."""
    mark = _high_water_mark() if by == "VmHWM" else None
    if mark is not None or sys.platform == "win32":
        return mark
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _high_water_mark() -> int | None:
    found = re.search(r"^VmHWM:\s*(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    return None if found is None else 1024 * int(found[1])
