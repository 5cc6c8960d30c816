"""``sfa evaluate``: scores of a run beside those of what needs no training."""

from typing import Annotated

from sfa.cli.app import app
from sfa.cli.options import OUTPUT, DataRoot, Json, Quiet, RunPath, Threads, flag, option, print_result


@app.command(no_args_is_help=True)
def evaluate(
    run: RunPath,
    protocol: Annotated[
        list[str] | None, option(OUTPUT, "Protocol (`sfa list protocols`), or `all`. May be repeated.")
    ] = None,
    supervised: Annotated[bool, flag(OUTPUT, "Add an MLP and a GCN trained on the labels.", "--supervised")] = False,
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
        run, protocol=protocol, supervised=supervised, data_root=data_root, threads=threads, progress=Display(quiet)
    )
    print_result(scores, json)
