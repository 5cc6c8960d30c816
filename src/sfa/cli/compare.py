"""``sfa compare``: runs against the first of them, over the same splits."""

from pathlib import Path
from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import DataRoot, Json, ProtocolName, Quiet, Threads, print_result


@app.command(no_args_is_help=True)
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders on the same data: a baseline, then others.")],
    protocol: ProtocolName = None,
    json: Json = False,
    data_root: DataRoot = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Compare runs with the first of them, split by split: mean difference, 95 % interval, Wilcoxon's p.

    Scores kept in the run folders are used again where they fit.

    **Examples**

    * `sfa compare runs/cora-grace-none runs/cora-grace-sfa-64-passes`
    * `sfa compare runs/a runs/b runs/c --protocol clustering`
    """
    from sfa.run.compare import compare_runs
    from sfa.run.display import Display

    found = compare_runs(*runs, protocol=protocol, data_root=data_root, threads=threads, progress=Display(quiet))
    print_result(found, json)
