"""``sfa evaluate``: scores of a run beside those that cost nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table
from torch import Tensor

from sfa.atomic import write_text
from sfa.cli.console import Display, results_console
from sfa.cli.run import Run, open_run, set_threads, tell_if_unfinished
from sfa.evaluation import Protocol, Score, resolve


def run(path: Path, *, protocol: str, as_json: bool, data_root: Path | None, threads: int | None, quiet: bool) -> None:
    """Score a run, print the table and keep the values of every split in the run folder."""
    set_threads(threads)
    chosen = resolve(protocol)
    display = Display(quiet)
    opened = open_run(path, data_root=data_root)
    tell_if_unfinished(opened, display)
    scores = evaluate_run(opened, chosen, display)
    if as_json:
        print(json.dumps(_as_dict(scores, chosen), indent=2))
    else:
        print_scores(scores, chosen)


def evaluate_run(run: Run, protocol: Protocol, display: Display) -> list[Score]:
    """Raw features, the untrained encoder and the run itself, on the same splits; kept in the run folder."""
    protocol.draw(run.graph.y, getattr(run.graph, "class_names", None))
    embeddings = {
        "raw features": run.graph.x,
        "untrained encoder": run.untrained().embed(run.graph),
        run.name: run.method.embed(run.graph),
    }
    scores = score_all(embeddings, run.graph.y, protocol, display)
    text = json.dumps(_as_dict(scores, protocol), indent=2)
    try:
        write_text(run.folder.path / f"scores-{protocol.name}.json", text + "\n")
    except OSError as error:  # a full or read-only disk does not take the result with it
        display.say(f"The scores could not be kept in {run.folder.path}: {error.strerror or error}.")
    return scores


def score_all(embeddings: Mapping[str, Tensor], y: Tensor, protocol: Protocol, display: Display) -> list[Score]:
    """Score several embeddings on the same splits, showing progress."""
    with display.progress("scoring", len(embeddings) * protocol.splits) as tracker:
        return [protocol.evaluate(z, y, name=name, on_split=tracker.step) for name, z in embeddings.items()]


def print_scores(scores: Sequence[Score], protocol: Protocol) -> None:
    """The table, on standard output."""
    table = Table(caption=f"{protocol.name}: {protocol.description}", caption_justify="left")
    table.add_column("embedding")
    table.add_column("accuracy", justify="right")
    for score in scores:
        table.add_row(score.name, str(score))
    results_console().print(table)


def _as_dict(scores: Sequence[Score], protocol: Protocol) -> dict[str, object]:
    return {"protocol": protocol.name, "scores": [score.as_dict() for score in scores]}
