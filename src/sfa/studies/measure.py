"""One cell of a study measured: trained where it needs training, and scored."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import Classification, Protocol, Score
from sfa.evaluate.supervised import Yardstick, supervised_score
from sfa.evaluate.untrained import UNTRAINED
from sfa.run.run import Run
from sfa.run.train_recipe import record_of, train_recipe
from sfa.studies.peak_memory import PeakMemory
from sfa.studies.plan import Cell
from sfa.train import Callback, RunFolder

SUPERVISED: dict[str, Yardstick] = {"supervised mlp": "mlp", "supervised gcn": "gcn"}

Measured = dict[str, Any]
"""Fields of a ledger's entry."""


def measure(
    cell: Cell,
    graph: Data,
    protocols: Sequence[Protocol],
    *,
    path: Path,
    device: str,
    callbacks: Sequence[Callback] = (),
) -> Measured:
    """What a cell took and what came out.

    Args:
        cell: Which.
        graph: Its data set's.
        protocols: To score under.
        path: The run folder in which it is trained, or trained on if it is there.
        device: Where it is trained.
        callbacks: As in :func:`sfa.train.train`.
    """
    variant, cost = cell.variant, Measured()
    z: Tensor | None
    if variant.kind == "trained":
        peak = PeakMemory()
        run = train_recipe(
            variant.recipe, graph, _folder(cell, graph, path), device=device, resume=True, callbacks=callbacks
        )
        cost = {**_cost(run), "peak_memory": peak.bytes(), "peak_memory_by": peak.by}
        graph, z = run.data, run.method.embed(run.data)
    else:
        graph = variant.recipe.prepare(graph)
        z = _yardstick(cell, graph)
    started = time.perf_counter()
    scores = [_score(cell, z, graph, protocol) for protocol in protocols]
    return {**cost, "scores": tuple(scores), "evaluate_seconds": time.perf_counter() - started}


def _folder(cell: Cell, graph: Data, path: Path) -> RunFolder:
    """The cell's run folder, made if it is not there.

    What a process killed while it made or removed one has left goes, and what another version of sfa began.
    """
    with suppress(InputError):
        return RunFolder.open(path)
    for torn in (path, *path.parent.glob(f".{path.name}.*")):
        shutil.rmtree(torn, ignore_errors=True)
    recipe = cell.variant.recipe
    return RunFolder.create(path, recipe.as_dict(), record_of(recipe, graph, cell.dataset.source))


def _cost(run: Run) -> Measured:
    epochs, seconds = run.progress.epoch, float(run.folder.read_metrics()[-1]["seconds"])
    return {"epochs": epochs, "train_seconds": seconds, "seconds_per_epoch": seconds / epochs}


def _yardstick(cell: Cell, graph: Data) -> Tensor | None:
    """Embeddings that cost no training; none for a classifier that is trained with the labels."""
    if cell.variant.kind == "untrained encoder":
        return cell.variant.recipe.build_for(graph).embed(graph)
    untrained = UNTRAINED[cell.dataset.level].get(cell.variant.kind)
    return None if untrained is None else untrained(graph)


def _score(cell: Cell, z: Tensor | None, graph: Data, protocol: Protocol) -> Score:
    if z is not None:
        return protocol.evaluate(z, graph, name=cell.variant.name)
    assert isinstance(protocol, Classification)
    model, seed = SUPERVISED[cell.variant.kind], cell.variant.seed
    return supervised_score(graph, protocol, model, name=cell.variant.name, seed=seed)
