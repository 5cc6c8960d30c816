"""``sfa demo``: embeddings of the bundled Cora with and without the layer, as a page, a table and two pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfa.cli.app import app
from sfa.cli.options import OUTPUT, TRAINING, OpenPage, Quiet, Threads, option

if TYPE_CHECKING:
    from sfa.evaluate import Score

RUNS: dict[str, tuple[str, Any, str | None]] = {  # by title: folder, recipe, another spectral map
    "GRACE, no graph augmentation": ("without-augmentation-none", "demo/without-augmentation", "none"),
    "GRACE + SFA, no graph augmentation": ("without-augmentation-sfa", "demo/without-augmentation", None),
    "GRACE, graph augmentation": ("with-augmentation-none", "demo/with-augmentation", "none"),
    "GRACE + gentle SFA, graph augmentation": ("with-augmentation-sfa-64-passes", "demo/with-augmentation", None),
    "propagate, nothing trained": ("propagate", {"method": "propagate"}, None),
    "neighbor contrast, the default": ("neighbor-contrast", {"method": "neighbor-contrast"}, None),
}
PAIRS = {  # titles without and with the layer, by setting
    "no graph augmentation": ("GRACE, no graph augmentation", "GRACE + SFA, no graph augmentation"),
    "graph augmentation": ("GRACE, graph augmentation", "GRACE + gentle SFA, graph augmentation"),
}


@app.command()
def demo(
    out: Annotated[Path | None, option(OUTPUT, "Folder for runs, page and pictures.", metavar="FOLDER")] = None,
    epochs: Annotated[int | None, option(TRAINING, "Fewer epochs, for a quick look.", metavar="N")] = None,
    open_: OpenPage = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Embed the bundled Cora by GRACE with and without SFA and by the default method. Some 3 to 6 minutes.

    Without graph augmentation SFA is the paper's Algorithm 1, with graph augmentation its gentle form.

    **Examples**

    * `sfa demo`
    * `sfa demo --open`: and see the page that it ends with, report.html
    * `sfa demo --epochs 20 --out runs/quick-look`
    """
    from sfa.plots import draw_maps, draw_spectra, save_figure
    from sfa.registry import resolve
    from sfa.run import report_run, train_run
    from sfa.run.display import Display
    from sfa.run.score_cache import score_together
    from sfa.run.train import free_path
    from sfa.train import RunFolder

    display, protocol = Display(quiet), resolve("protocol", "honest-10-10-80")
    out = free_path(Path("runs/demo")) if out is None else out
    RunFolder.check_creatable(out)
    options: Any = {"epochs": epochs, "device": "cpu", "threads": threads, "evaluate": False, "progress": display}
    runs = {
        title: train_run("cora", recipe=recipe, spectral=spectral, out=out / folder, **options)
        for title, (folder, recipe, spectral) in RUNS.items()
    }
    scores = score_together(list(runs.values()), protocol, display)

    display.say("drawing")
    embeddings = {name: run.method.embed(run.data) for name, run in runs.items()}
    spectra = {f"Cora, {setting}": (embeddings[one], embeddings[other]) for setting, (one, other) in PAIRS.items()}
    save_figure(draw_spectra(spectra), out / "spectrum.png")
    maps = {title: embeddings[title].numpy() for title in PAIRS["no graph augmentation"]}
    data = next(iter(runs.values())).data
    save_figure(draw_maps(maps, data.y.numpy(), class_names=data.class_names), out / "embeddings.png")
    report_run(*runs.values(), out=out / "report.html", protocol=protocol.name, show=open_, progress=display)
    table = {score.name: score for score in scores[0][:-1]}
    _print_table({**table, **{name: own[-1] for name, own in zip(runs, scores, strict=True)}}, out)


def _print_table(scores: Mapping[str, Score], out: Path) -> None:
    """Print the scores and keep them, with the value of every split."""
    from sfa.atomic import write_text
    from sfa.evaluate import paired_difference
    from sfa.run.display import make_table, results_console

    rows = [(name, str(score)) for name, score in scores.items()]
    title = "Cora: accuracy over 20 random splits 10/10/80, one training seed"
    table = make_table(["embedding", "accuracy"], rows, title=title, title_justify="left")
    differences = {setting: paired_difference(scores[b], scores[a]) for setting, (a, b) in PAIRS.items()}
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
    sentences.append(f"Open {out / 'report.html'} in a browser: all runs on one page.")
    sentences.append(f"Also in {out}: table.md, scores.json, spectrum.png, embeddings.png and the run folders.")
    results_console().print(table, *sentences, sep="\n")
