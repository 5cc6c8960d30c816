"""A search that is run in no time, made in whichever process."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from sfa.data import fingerprint, load
from sfa.evaluate import Protocol, Score, default_protocol
from sfa.run import Recipe
from sfa.sweep import Record, Search, SearchCallback, Settings, parse_range
from sfa.tasks import task_of

TINY: dict[str, dict[str, Any]] = {
    "node": {"method": {"name": "grace", "hidden": 8, "projection": 8}, "training": {"epochs": 3}},
    "graph": {"method": {"name": "graphcl", "hidden": 4, "layers": 1}, "training": {"epochs": 1}},
    "image": {
        "method": {"name": "simclr", "hidden": 4, "head_hidden": 8, "head_width": 8},
        "training": {"epochs": 1},
    },
}
RANGES = ("training.lr=1e-3..1e-1:log", "method.tau=0.2..1", "spectral.name=none,sfa", "spectral.iterations=0..3")


def tiny_search(
    graph: Data, folder: Path, *, ranges: tuple[str, ...] = RANGES, ablate: str | None = None, **options: Any
) -> Search:
    recipe = options.pop("recipe", None) or Recipe.parse(TINY[task_of(graph)])
    settings = Settings(
        source={"data": "here"},
        fingerprint=fingerprint(graph),
        protocol=options.pop("protocol", default_protocol(task_of(graph))),
        recipe=recipe,
        ranges=tuple(map(parse_range, ranges)),
        ablate=None if ablate is None else parse_range(ablate),
        **options,
    )
    return Search(settings, graph, folder)


def pretended(
    self: Search, recipe: Recipe, data: Data, protocols: Sequence[Protocol], *_: Any, **__: Any
) -> list[Score]:
    """In place of ``Search.train_and_score``: accuracies that follow from recipe and seed, with no training."""
    base = 80 - 5 * recipe.method["tau"] + recipe.training.seed + (recipe.spectral["name"] == "sfa")
    return [
        Score(
            "pretended",
            one.name,
            {"accuracy": tuple(base + i / 10 for i in range(one.count(data)))},
            splits=one.digest(data),
        )
        for one in protocols
    ]


def told(records: list[Record]) -> list[tuple[Any, ...]]:
    """All of trials but for the time they took."""
    return [(r.arm, r.number, r.state, r.value, r.values, dict(r.params), r.failure) for r in records]


def search_until_killed(data: Path, folder: Path, at: int) -> None:
    """Search and be killed (kill -9) in the second epoch of a trial."""

    class Killer(SearchCallback):
        def on_run_begin(self, arm: str, number: int, recipe: Recipe) -> None:
            self.number = number

        def on_step_end(self, epochs: float, loss: float) -> None:
            if self.number == at and epochs == 2:
                os.kill(os.getpid(), signal.SIGKILL)

    tiny_search(load(data), folder).run(trials=5, device="cpu", callback=Killer())


def search_a_share(data: Path, folder: Path, trials: int) -> None:
    """Take part in a search."""
    tiny_search(load(data), folder).run(trials=trials, device="cpu")
