"""``sfa report``: one page of a run, or of several side by side."""

from pathlib import Path
from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import OUTPUT, DataRoot, OpenPage, ProtocolName, Quiet, Threads, option


@app.command(no_args_is_help=True)
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders on the same data; the first is the baseline.")],
    out: Annotated[
        Path | None, option(OUTPUT, "Page to write. Default: report.html in the first run.", metavar="FILE")
    ] = None,
    protocol: ProtocolName = None,
    open_: OpenPage = False,
    data_root: DataRoot = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Write one page that shows runs: curves, spectra, scores beside baselines, a map of the embeddings, confusion.

    The page needs no network and no other file. Scores kept in the run folders are used again where they fit.

    **Examples**

    * `sfa report runs/cora-grace-sfa-64-passes`
    * `sfa report runs/cora-grace-none runs/cora-grace-sfa --out report.html`: side by side, with paired differences
    * `sfa report runs/cora-grace-sfa-64-passes --protocol knn --open`
    """
    from sfa.run.display import Display
    from sfa.run.report import report_run

    report_run(
        *runs, out=out, protocol=protocol, show=open_, data_root=data_root, threads=threads, progress=Display(quiet)
    )
