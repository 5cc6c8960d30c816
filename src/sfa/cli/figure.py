"""``sfa figure``: draw a figure of the paper."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sfa.cli import early
from sfa.cli.app import app
from sfa.cli.options import OUTPUT, TRAINING, DataRoot, Device, LedgerPath, Quiet, Threads, flag, option


@app.command(no_args_is_help=True)
def figure(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A number in the paper, a name (`sfa list figures`), or `all`.")],
    runs: Annotated[list[Path] | None, typer.Argument(help="Run folders, for a figure of runs.")] = None,
    run: Annotated[bool, flag(TRAINING, "Train or measure what the figure is of.", "--run")] = False,
    out: Annotated[Path | None, option(OUTPUT, "File: .png, .svg or .pdf. A folder for `all`.", metavar="FILE")] = None,
    ledger: LedgerPath = None,
    data_root: DataRoot = None,
    device: Device = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Draw a figure of the paper, from runs, run times or theory, and say what it shows.

    With --run the paper's own runs are trained in runs/figures; stopped by whatever, the same command goes on.

    **Examples**

    * `sfa figure 3`: figure-3.png and figure-3.svg, from theory alone
    * `sfa figure 6 --run`: GRACE on Cora without and with SFA, trained if they are not there, and their alignment
    * `sfa figure spectrum runs/cora-grace-sfa --out spectrum.svg`
    * `sfa figure alignment runs/cora-grace-none runs/cora-grace-sfa --out alignment.pdf`
    * `sfa figure all --out figures`: all that need no run
    """
    if name != "all" and not name[:1].isdigit():
        early.check_names("figure", name)
    early.check_runs(runs or [])
    from sfa.cli.study import study
    from sfa.paper.figures.show import draw_all, draw_figure
    from sfa.run.display import Display
    from sfa.run.run import set_threads

    def measure(name: str, datasets: list[str]) -> None:
        study(context, name, datasets, ledger=ledger, data_root=data_root, device=device, quiet=quiet)

    set_threads(threads)
    display = Display(quiet)
    if name == "all":
        draw_all(runs or [], out, run, display)
        return
    where: dict[str, Any] = {"ledger": ledger, "data_root": data_root, "device": device}
    draw_figure(name, runs or [], out=out, measure=run, study=measure, display=display, **where)
