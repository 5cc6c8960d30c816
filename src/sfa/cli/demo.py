"""``sfa demo``: what the layer does on the bundled Cora, as a page, a table and two pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfa.cli.app import app
from sfa.cli.options import OUTPUT, TRAINING, OpenPage, Quiet, Threads, option

if TYPE_CHECKING:
    from sfa.evaluate import Score
    from sfa.run import Run
    from sfa.run.display import Display

RECIPES = {"no graph augmentation": "demo/without-augmentation", "graph augmentation": "demo/with-augmentation"}
LAYERS = {"none": "GRACE", "sfa": "GRACE + SFA", "sfa (64 passes)": "GRACE + gentle SFA"}


@app.command()
def demo(
    out: Annotated[Path | None, option(OUTPUT, "Folder for runs, page and pictures.", metavar="FOLDER")] = None,
    epochs: Annotated[int | None, option(TRAINING, "Fewer epochs, for a quick look.", metavar="N")] = None,
    open_: OpenPage = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Train GRACE with and without SFA on the bundled Cora, and show what the layer does. Some 3 minutes.

    Without graph augmentation it is the paper's Algorithm 1, with graph augmentation its gentle form.

    **Examples**

    * `sfa demo`
    * `sfa demo --open`: and see the page that it ends with, report.html
    * `sfa demo --epochs 20 --out runs/quick-look`
    """
    from sfa.plots import draw_maps, draw_spectra, save_figure
    from sfa.registry import resolve
    from sfa.run.display import Display, open_page
    from sfa.run.report import REPORT, make_report
    from sfa.run.run import set_threads
    from sfa.run.score_cache import score_together
    from sfa.run.train import free_path
    from sfa.train import RunFolder

    display = Display(quiet)
    set_threads(threads)
    out = free_path(Path("runs/demo")) if out is None else out
    RunFolder.check_creatable(out)
    runs = _train(out, epochs, display)
    protocol, data = resolve("protocol", "honest-10-10-80"), next(iter(runs.values())).data
    scores = score_together(list(runs.values()), protocol, display)

    display.say("drawing")
    embeddings = {name: run.method.embed(run.data) for name, run in runs.items()}
    plain, spectral = list(embeddings)[::2], list(embeddings)[1::2]
    spectra = {
        f"Cora, {setting}": (embeddings[without], embeddings[layer])
        for setting, without, layer in zip(RECIPES, plain, spectral, strict=True)
    }
    save_figure(draw_spectra(spectra), out / "spectrum.png")
    maps = {name: embeddings[name].numpy() for name in (plain[0], spectral[0])}
    save_figure(draw_maps(maps, data.y.numpy(), class_names=data.class_names), out / "embeddings.png")
    make_report(list(runs.values()), out / REPORT, protocol=protocol, display=display)
    table = {score.name: score for score in scores[0][:-1]}
    _report({**table, **{name: own[-1] for name, own in zip(runs, scores, strict=True)}}, plain, spectral, out)
    if open_:
        open_page(out / REPORT, display)


def _train(out: Path, epochs: int | None, display: Display) -> dict[str, Run]:
    """Train each recipe without and with the layer."""
    from sfa.run.recipe import load_recipe
    from sfa.run.source import Source
    from sfa.run.train import folder_name
    from sfa.run.train_recipe import start_run

    source, runs = Source("cora"), {}
    data = source.load()
    for setting, name in RECIPES.items():
        recipe = load_recipe(name)
        if epochs is not None:
            recipe = recipe.updated({"training.epochs": epochs})
        for one in (recipe.updated({"spectral.name": "none"}), recipe):
            path = out / folder_name(name.split("/")[1], one.spectral_label)
            run = start_run(path, one, data, source, device="cpu", display=display)
            runs[f"{LAYERS[one.spectral_label]}, {setting}"] = run
    return runs


def _report(scores: dict[str, Score], plain: list[str], spectral: list[str], out: Path) -> None:
    """Print the table and keep it, with the value of every split."""
    from rich.table import Table

    from sfa.atomic import write_text
    from sfa.evaluate import paired_difference
    from sfa.run.display import results_console
    from sfa.run.report import REPORT

    table = Table(title="Cora: accuracy over 20 random splits 10/10/80, one training seed", title_justify="left")
    table.add_column("embedding")
    table.add_column("accuracy", justify="right")
    lines = ["| embedding | accuracy |", "| --- | --- |"]
    for name, score in scores.items():
        table.add_row(name, str(score))
        lines.append(f"| {name} | {score} |")
    differences = {
        setting: paired_difference(scores[layer], scores[without])
        for setting, without, layer in zip(RECIPES, plain, spectral, strict=True)
    }
    sentences = [
        f"With {setting}, SFA changes accuracy by {difference} points (mean and 95 % interval over the same splits)."
        for setting, difference in differences.items()
    ]
    write_text(out / "table.md", "\n".join([*lines, "", *sentences]) + "\n")
    result = {
        "scores": [{**score.as_dict(), "name": name} for name, score in scores.items()],
        "differences": {setting: difference.as_dict() for setting, difference in differences.items()},
    }
    write_text(out / "scores.json", json.dumps(result, indent=2) + "\n")
    console = results_console()
    console.print(table)
    for sentence in (
        *sentences,
        f"Open {out / REPORT} in a browser: the four runs on one page.",
        f"Also in {out}: table.md, scores.json, spectrum.png, embeddings.png and the run folders.",
    ):
        console.print(sentence, markup=False)
