"""What ``sfa figure --run`` does: the runs that a figure of the paper is of, trained where they are not there yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.figures import NeededRun
from sfa.run import Recipe, load_recipe
from sfa.run.display import Display, counted
from sfa.run.run import describe
from sfa.run.source import Source, require_same_data
from sfa.run.train_recipe import start_run, train_in
from sfa.studies import duration
from sfa.studies.timing import seconds_per_epoch
from sfa.train import Interrupted, RunFolder, load_tensors

FOLDER = Path("runs/figures")
"""Where they are trained; figures that are of the same runs share them."""

TRIED = 2
"""Epochs that are timed to tell how long all will take."""


def train_needed(needed: Sequence[NeededRun], *, data_root: Path | None, device: str, display: Display) -> list[Path]:
    """The folders of the runs, complete; those on data that cannot be had are left out, and it is said why."""
    sources = {run.dataset: Source(run.dataset, data_root) for run in needed}
    graphs = available(sources, display)
    jobs = [_job(run, graphs[run.dataset], sources[run.dataset]) for run in needed if run.dataset in graphs]
    left = [job for job in jobs if job.epochs_left]
    if left:
        names = ", ".join(f"{describe(job.recipe)} on {job.source.data}" for job in left)
        seconds = sum(job.seconds(device) for job in left)
        display.say(f"{counted(len(left), 'run')} to train in {FOLDER}, about {duration(seconds)}: {names}.")
    for job in left:
        job.train(device, display)
    return [job.path for job in jobs]


def available(sources: dict[str, Source], display: Display) -> dict[str, Data]:
    """The data that can be had; raises if none can."""
    graphs, reasons = {}, {}
    for name, source in sources.items():
        try:
            graphs[name] = source.load(display)
        except InputError as error:
            reasons[name] = error
    if not graphs:
        raise next(iter(reasons.values()))
    for name, reason in reasons.items():
        display.say(f"Without {name}: {reason}")
    return graphs


@dataclass(frozen=True)
class _Job:
    path: Path
    recipe: Recipe
    graph: Data
    source: Source
    epochs_done: int
    """``-1``: there is no folder yet."""
    finished: bool

    @property
    def epochs_left(self) -> int:
        return 0 if self.finished else self.recipe.training.epochs - max(0, self.epochs_done)

    def seconds(self, device: str) -> float:
        """What is left will take, by a few epochs."""
        method, graph = self.recipe.build_for(self.graph), self.recipe.prepare(self.graph)
        epochs = min(TRIED, self.epochs_left)
        return self.epochs_left * seconds_per_epoch(method, graph, self.recipe, epochs=epochs, device=device)

    def train(self, device: str, display: Display) -> None:
        try:
            if self.epochs_done < 0:
                start_run(self.path, self.recipe, self.graph, self.source, device=device, display=display)
            else:
                folder = RunFolder.open(self.path)
                train_in(folder, self.recipe, self.graph, device=device, resume=True, display=display)
        except Interrupted as error:
            raise Interrupted(f"{str(error).partition(';')[0]}; the same command goes on from there.") from error


def _job(run: NeededRun, graph: Data, source: Source) -> _Job:
    """What is there of a run, and what it is to be."""
    path, recipe = FOLDER / run.name, load_recipe(run.recipe).updated({"spectral.name": run.spectral})
    if not path.exists():
        return _Job(path, recipe, graph, source, -1, False)
    folder = RunFolder.open(path)
    if load_recipe(folder.recipe_file) != recipe:
        raise InputError(
            f"{path} holds another run than {run.recipe} with {run.spectral}: move it away, and try again."
        )
    require_same_data(folder, graph)
    meta = load_tensors(folder.checkpoint)[1] if folder.checkpoint.exists() else {}
    return _Job(path, recipe, graph, source, int(meta.get("epoch", 0)), bool(meta.get("finished")))
