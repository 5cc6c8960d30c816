"""``sfa neighbors``, ``suggest-links`` and ``cluster``: what the embeddings of a run say."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sfa.cli import early
from sfa.cli import options as shared
from sfa.cli.app import app
from sfa.cli.options import OUTPUT, Integer, flag, option, print_result

Out = Annotated[Path | None, option(OUTPUT, "Also write a table: .csv, .tsv or .parquet.", metavar="FILE")]


def _show(kind: str, run: Path, out: Path | None, places: dict[str, Any], *words: Any, **options: Any) -> None:
    """Call a method of a run, print what it finds, and write it."""
    early.check_runs([run], data=places["data"], features=places["features"])
    from sfa.export import check_table, write_table
    from sfa.run import open_run

    if out is not None:
        check_table(out)
    found = getattr(open_run(run, **places), kind)(*words, **options)
    print_result(found)
    if out is not None:
        write_table(out, found.frame)


@app.command(no_args_is_help=True)
def neighbors(
    run: shared.RunPath,
    node: Annotated[str, typer.Argument(help="Id of a node, graph or image.")],
    k: Annotated[int, option(OUTPUT, "How many.", "-k", metavar="N", min=1)] = 10,
    out: Out = None,
    data: shared.MovedData = None,
    features: shared.Features = None,
    data_root: shared.DataRoot = None,
) -> None:
    """List the nodes, graphs or images whose embeddings are most similar to that of one.

    **Example**

    * `sfa neighbors runs/novel Gavroche -k 5`
    """
    _show("neighbors", run, out, {"data": data, "features": features, "data_root": data_root}, node, k)


@app.command(no_args_is_help=True)
def suggest_links(
    run: shared.RunPath,
    k: Annotated[int, option(OUTPUT, "How many.", "-k", metavar="N", min=1)] = 20,
    approximate: Annotated[bool, flag(OUTPUT, "Search by faiss, of large graphs.", "--approximate")] = False,
    out: Out = None,
    data: shared.MovedData = None,
    features: shared.Features = None,
    data_root: shared.DataRoot = None,
    quiet: shared.Quiet = False,
) -> None:
    """List the pairs of nodes with the most similar embeddings that have no edge.

    **Example**

    * `sfa suggest-links runs/novel -k 100 --out links.csv`
    """
    places = {"data": data, "features": features, "data_root": data_root}
    _show("suggest_links", run, out, places, k, approximate=approximate, progress=not quiet)


@app.command(no_args_is_help=True)
def cluster(
    run: shared.RunPath,
    k: Annotated[Integer, option(OUTPUT, "How many. Default: chosen.", "-k", metavar="K", min=2)] = None,
    out: Out = None,
    data: shared.MovedData = None,
    features: shared.Features = None,
    data_root: shared.DataRoot = None,
) -> None:
    """Cluster the nodes, graphs or images of a run by k-means.

    **Example**

    * `sfa cluster runs/novel --out clusters.csv`
    """
    _show("cluster", run, out, {"data": data, "features": features, "data_root": data_root}, k)
