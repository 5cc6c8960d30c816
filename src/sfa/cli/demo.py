"""``sfa demo``: embeddings of the bundled Cora with and without the layer, as a page, a table and two pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfa.cli.app import app
from sfa.cli.options import OUTPUT, TRAINING, OpenPage, Quiet, Threads, option

if TYPE_CHECKING:
    from sfa.evaluate import Score

RECIPES = {"no graph augmentation": "demo/without-augmentation", "graph augmentation": "demo/with-augmentation"}
LAYERS = {"none": "GRACE", "sfa": "GRACE + SFA", "sfa (64 passes)": "GRACE + gentle SFA"}
OTHERS = {"propagate, nothing trained": "propagate", "neighbor contrast, the default": "neighbor-contrast"}


@app.command()
def demo(
    out: Annotated[Path | None, option(OUTPUT, "Folder for runs, page and pictures.", metavar="FOLDER")] = None,
    epochs: Annotated[int | None, option(TRAINING, "Fewer epochs, for a quick look.", metavar="N")] = None,
    open_: OpenPage = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Embed the bundled Cora by GRACE with and without SFA and by the default method. Some 3 minutes.

    Without graph augmentation SFA is the paper's Algorithm 1, with graph augmentation its gentle form.

    **Examples**

    * `sfa demo`
    * `sfa demo --open`: and see the page that it ends with, report.html
    * `sfa demo --epochs 20 --out runs/quick-look`
    """
    from sfa.plots import draw_maps, draw_spectra, save_figure
    from sfa.registry import resolve
    from sfa.run.display import Display, open_page
    from sfa.run.recipe import load_recipe
    from sfa.run.report import REPORT, make_report
    from sfa.run.run import set_threads
    from sfa.run.score_cache import score_together
    from sfa.run.source import Source
    from sfa.run.train import folder_name, free_path
    from sfa.run.train_recipe import start_run
    from sfa.train import RunFolder

    display = Display(quiet)
    set_threads(threads)
    out = free_path(Path("runs/demo")) if out is None else out
    RunFolder.check_creatable(out)
    source, runs = Source("cora"), {}
    data = source.load()
    for setting, name in RECIPES.items():
        recipe = load_recipe(name).updated({} if epochs is None else {"training.epochs": epochs})
        for one in (recipe.updated({"spectral.name": "none"}), recipe):
            path = out / folder_name(name.split("/")[1], one.spectral_label)
            run = start_run(path, one, data, source, device="cpu", display=display)
            runs[f"{LAYERS[one.spectral_label]}, {setting}"] = run
    names, protocol = list(runs), resolve("protocol", "honest-10-10-80")
    for title, name in OTHERS.items():
        recipe = load_recipe({"method": name}).updated({} if epochs is None else {"training.epochs": epochs})
        runs[title] = start_run(out / name, recipe, data, source, device="cpu", display=display)
    pairs = dict(zip(RECIPES, zip(names[::2], names[1::2], strict=True), strict=True))  # without and with the layer
    scores = score_together(list(runs.values()), protocol, display)

    display.say("drawing")
    embeddings = {name: run.method.embed(run.data) for name, run in runs.items()}
    spectra = {f"Cora, {setting}": (embeddings[one], embeddings[other]) for setting, (one, other) in pairs.items()}
    save_figure(draw_spectra(spectra), out / "spectrum.png")
    maps = {name: embeddings[name].numpy() for name in names[:2]}
    save_figure(draw_maps(maps, data.y.numpy(), class_names=data.class_names), out / "embeddings.png")
    make_report(list(runs.values()), out / REPORT, protocol=protocol, display=display)
    table = {score.name: score for score in scores[0][:-1]}
    _print_table({**table, **{name: own[-1] for name, own in zip(runs, scores, strict=True)}}, pairs, out)
    if open_:
        open_page(out / REPORT, display)


def _print_table(scores: Mapping[str, Score], pairs: Mapping[str, tuple[str, str]], out: Path) -> None:
    """Print the scores and keep them, with the value of every split."""
    from sfa.atomic import write_text
    from sfa.evaluate import paired_difference
    from sfa.run.display import make_table, results_console
    from sfa.run.report import REPORT

    rows = [(name, str(score)) for name, score in scores.items()]
    title = "Cora: accuracy over 20 random splits 10/10/80, one training seed"
    table = make_table(["embedding", "accuracy"], rows, title=title, title_justify="left")
    differences = {setting: paired_difference(scores[b], scores[a]) for setting, (a, b) in pairs.items()}
    sentences = [
        f"With {setting}, SFA changes accuracy by {difference} points (mean and 95 % interval over the same splits)."
        for setting, difference in differences.items()
    ]
    lines = ["| embedding | accuracy |", "| --- | --- |", *(f"| {name} | {score} |" for name, score in rows)]
    write_text(out / "table.md", "\n".join([*lines, "", *sentences]) + "\n")
    result = {
        "scores": [{**score.as_dict(), "name": name} for name, score in scores.items()],
        "differences": {setting: difference.as_dict() for setting, difference in differences.items()},
    }
    write_text(out / "scores.json", json.dumps(result, indent=2) + "\n")
    sentences.append(f"Open {out / REPORT} in a browser: all runs on one page.")
    sentences.append(f"Also in {out}: table.md, scores.json, spectrum.png, embeddings.png and the run folders.")
    results_console().print(table, *sentences, sep="\n")
