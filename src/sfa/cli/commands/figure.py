"""``sfa figure``: draw a figure of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import DataRoot, Device, LedgerPath, Quiet, Threads


@app.command(no_args_is_help=True)
def figure(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A figure's number in the paper or name (`sfa list figures`), or `all`.")],
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders, for a figure that is drawn from them.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write: .png, .svg or .pdf; without a suffix both .png and .svg. Default: `figure-N` or the "
            "name. A folder for `all`."
        ),
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Train the runs, or measure the times, that the paper's figure is of.")
    ] = False,
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
    from sfa.cli import figure as command
    from sfa.cli.study import study
    from sfa.run.display import Display
    from sfa.run.run import set_threads

    def measure(name: str, datasets: list[str]) -> None:
        study(context, name, datasets, ledger=ledger, data_root=data_root, device=device, quiet=quiet)

    set_threads(threads)
    if name == "all":
        command.draw_all(runs or [], out, run, Display(quiet))
        return
    command.run(
        name,
        runs or [],
        out=out,
        measure=run,
        ledger=ledger,
        data_root=data_root,
        device=device,
        study=measure,
        display=Display(quiet),
    )
