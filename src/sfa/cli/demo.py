"""``sfa demo``: what the layer does on the bundled Cora, as a table and two pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sfa.atomic import write_text
from sfa.cli.console import Display
from sfa.cli.run import Run, Source, set_threads
from sfa.cli.train import free_path, start_run
from sfa.data import load
from sfa.evaluation import Score, paired_difference
from sfa.evaluation import resolve as resolve_protocol
from sfa.figures import draw_maps, draw_spectra
from sfa.recipes import load_recipe

SETTINGS = {"no graph augmentation": "demo/without-augmentation", "graph augmentation": "demo/with-augmentation"}


def run(*, out: Path | None, epochs: int | None, threads: int | None, quiet: bool) -> None:
    """Train four times, score six embeddings, draw two pictures."""
    display = Display(quiet)
    set_threads(threads)
    out = free_path(Path("runs/demo")) if out is None else out
    graph = load("cora")
    protocol = resolve_protocol("honest-10-10-80")

    pairs: dict[str, tuple[Run, Run]] = {}
    for setting, name in SETTINGS.items():
        recipe = load_recipe(name)
        if epochs is not None:
            recipe = recipe.updated({"training.epochs": epochs})
        plain, spectral = (
            start_run(
                out / f"{name.split('/')[1]}-{spectral}",
                recipe.updated({"spectral.name": spectral}),
                graph,
                Source("cora"),
                device="cpu",
                display=display,
            )
            for spectral in ("none", "sfa")
        )
        pairs[setting] = plain, spectral

    first = next(iter(pairs.values()))[0]
    embeddings = {"raw features": first.graph.x, "untrained encoder": first.untrained().embed(first.graph)}
    for setting, pair in pairs.items():
        embeddings |= {f"{run.name}, {setting}": run.method.embed(run.graph) for run in pair}
    with display.progress("scoring", len(embeddings) * protocol.splits) as tracker:
        scores = {
            name: protocol.evaluate(z, graph.y, name=name, on_split=tracker.step) for name, z in embeddings.items()
        }

    display.say("drawing")
    by_pair = {setting: tuple(embeddings[f"{run.name}, {setting}"] for run in pair) for setting, pair in pairs.items()}
    draw_spectra(
        {f"Cora, {setting}": (plain, spectral) for setting, (plain, spectral) in by_pair.items()}, out / "spectrum.png"
    )
    setting, (plain, spectral) = next(iter(by_pair.items()))
    draw_maps(
        {f"GRACE, {setting}": plain.numpy(), f"GRACE + SFA, {setting}": spectral.numpy()},
        graph.y.numpy(),
        out / "embeddings.png",
        class_names=getattr(graph, "class_names", None),
    )
    _report(scores, pairs, out)


def _report(scores: Mapping[str, Score], pairs: Mapping[str, tuple[Run, Run]], out: Path) -> None:
    """Print the table and keep it, with the value of every split."""
    table = Table(title="Cora, accuracy over 20 random splits 10/10/80, one training seed", title_justify="left")
    table.add_column("embedding")
    table.add_column("accuracy", justify="right")
    lines = ["| embedding | accuracy |", "| --- | --- |"]
    for score in scores.values():
        table.add_row(score.name, str(score))
        lines.append(f"| {score.name} | {score} |")
    console = Console()
    console.print(table)
    differences = {}
    for setting, (plain, spectral) in pairs.items():
        difference = paired_difference(scores[f"{spectral.name}, {setting}"], scores[f"{plain.name}, {setting}"])
        differences[setting] = difference.as_dict()
        sentence = f"SFA changes accuracy by {difference} points with {setting}."
        console.print(sentence, highlight=False)
        lines.append(f"\n{sentence}")
    write_text(out / "table.md", "\n".join(lines) + "\n")
    result = {"scores": [score.as_dict() for score in scores.values()], "differences": differences}
    write_text(out / "scores.json", json.dumps(result, indent=2) + "\n")
    console.print(f"Table, scores and pictures (spectrum.png, embeddings.png): {out}", highlight=False, soft_wrap=True)
