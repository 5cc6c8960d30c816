"""``sfa demo``: what the layer does on the bundled Cora, as a page, a table and two pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import OpenPage, Quiet, Threads

if TYPE_CHECKING:
    from torch import Tensor

    from sfa.evaluate import Score
    from sfa.run import Run
    from sfa.run.display import Display

RECIPES = {"no graph augmentation": "demo/without-augmentation", "graph augmentation": "demo/with-augmentation"}


@dataclass(frozen=True)
class Pair:
    """The same recipe without and with SFA."""

    setting: str
    plain: Run
    spectral: Run

    @property
    def runs(self) -> tuple[Run, Run]:
        return self.plain, self.spectral

    @property
    def names(self) -> tuple[str, str]:
        layer = "gentle SFA" if "passes" in self.spectral.recipe.spectral_label else "SFA"
        return f"GRACE, {self.setting}", f"GRACE + {layer}, {self.setting}"

    @property
    def embeddings(self) -> tuple[Tensor, Tensor]:
        return self.plain.method.embed(self.plain.data), self.spectral.method.embed(self.spectral.data)


@app.command()
def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder for runs, page, table and pictures. Default: a new one.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Fewer epochs, for a quicker look.")] = None,
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
    from sfa.figures import draw_maps, draw_spectra, save_figure
    from sfa.registry import resolve
    from sfa.run.display import Display, open_page
    from sfa.run.report import REPORT, make_report
    from sfa.run.run import set_threads
    from sfa.run.scoring import score_together
    from sfa.run.train import free_path
    from sfa.train import RunFolder

    display = Display(quiet)
    set_threads(threads)
    out = free_path(Path("runs/demo")) if out is None else out
    RunFolder.check_creatable(out)
    pairs = [_train_pair(setting, recipe, out, epochs, display) for setting, recipe in RECIPES.items()]
    runs = [run for pair in pairs for run in pair.runs]
    protocol, data = resolve("protocol", "honest-10-10-80"), runs[0].data
    scores = score_together(runs, protocol, display)

    display.say("drawing")
    save_figure(draw_spectra({f"Cora, {pair.setting}": pair.embeddings for pair in pairs}), out / "spectrum.png")
    maps = {name: z.numpy() for name, z in zip(pairs[0].names, pairs[0].embeddings, strict=True)}
    save_figure(draw_maps(maps, data.y.numpy(), class_names=data.class_names), out / "embeddings.png")
    make_report(runs, out / REPORT, protocol=protocol, display=display)
    names = [name for pair in pairs for name in pair.names]
    own = [replace(of[-1], name=name) for of, name in zip(scores, names, strict=True)]
    _report({score.name: score for score in (*scores[0][:-1], *own)}, pairs, out)
    if open_:
        open_page(out / REPORT, display)


def _train_pair(setting: str, recipe_name: str, out: Path, epochs: int | None, display: Display) -> Pair:
    from sfa.run.recipe import Recipe, load_recipe
    from sfa.run.source import Source
    from sfa.run.train import folder_name, start_run

    recipe, source = load_recipe(recipe_name), Source("cora")
    if epochs is not None:
        recipe = recipe.updated({"training.epochs": epochs})
    data = source.load()

    def train(recipe: Recipe) -> Run:
        path = out / folder_name(recipe_name.split("/")[1], recipe.spectral_label)
        return start_run(path, recipe, data, source, device="cpu", display=display)

    return Pair(setting, train(recipe.updated({"spectral.name": "none"})), train(recipe))


def _report(scores: Mapping[str, Score], pairs: Sequence[Pair], out: Path) -> None:
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
    for score in scores.values():
        table.add_row(score.name, str(score))
        lines.append(f"| {score.name} | {score} |")
    differences = {pair.setting: paired_difference(scores[pair.names[1]], scores[pair.names[0]]) for pair in pairs}
    lines.append("")
    lines += [
        f"With {setting}, SFA changes accuracy by {difference} points (mean and 95 % interval over the same splits)."
        for setting, difference in differences.items()
    ]
    write_text(out / "table.md", "\n".join(lines) + "\n")
    result = {
        "scores": [score.as_dict() for score in scores.values()],
        "differences": {setting: difference.as_dict() for setting, difference in differences.items()},
    }
    write_text(out / "scores.json", json.dumps(result, indent=2) + "\n")

    console = results_console()
    console.print(table)
    for sentence in lines[-len(pairs) :]:
        console.print(sentence, markup=False)
    console.print(f"Open {out / REPORT} in a browser: the four runs on one page.", markup=False)
    console.print(
        f"Also in {out}: table.md, scores.json, spectrum.png, embeddings.png and the run folders.", markup=False
    )
