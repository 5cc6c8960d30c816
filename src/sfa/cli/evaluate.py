"""``sfa evaluate``: scores of a run beside those of what needs no training."""

from __future__ import annotations

from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import DataRoot, Json, Quiet, RunPath, Threads, print_result


@app.command(no_args_is_help=True)
def evaluate(
    run: RunPath,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            help="Protocol (`sfa list protocols`), may be repeated; `all`: every one that these data allow. "
            "Default: honest-10-10-80 for nodes, tu-svm-10fold for graphs, image-linear for images."
        ),
    ] = None,
    supervised: Annotated[
        bool, typer.Option("--supervised", help="Add an MLP and a GCN that learn from the labels of each split.")
    ] = False,
    json: Json = False,
    data_root: DataRoot = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Score a run's embeddings beside what needs no training: features, raw or propagated, counts, untrained encoder.

    **Examples**

    * `sfa evaluate runs/cora-grace-sfa-64-passes`
    * `sfa evaluate runs/cora-grace-sfa-64-passes --json > scores.json`
    * `sfa evaluate runs/cora-grace-sfa-64-passes --protocol clustering --protocol knn`
    * `sfa evaluate runs/cora-grace-sfa-64-passes --protocol all --supervised`: one table of all
    """
    from sfa.run.display import Display
    from sfa.run.evaluate import evaluate_run

    scores = evaluate_run(
        run,
        protocol=protocol,
        supervised=supervised,
        data_root=data_root,
        threads=threads,
        progress=Display(quiet),
    )
    print_result(scores, json)
