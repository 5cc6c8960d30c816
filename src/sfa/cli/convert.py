"""``sfa convert``: make a graph store, which need not fit in memory."""

from pathlib import Path
from typing import Annotated

import typer

from sfa.cli import options as shared
from sfa.cli.app import app
from sfa.cli.options import DATA, OUTPUT, ManyValues, Text, flag, option


@app.command(cls=ManyValues, no_args_is_help=True)
def convert(
    data: Annotated[list[str], typer.Argument(help="Tables of edges, or a graph: its name or file.")],
    out: Annotated[Path, option(OUTPUT, "Folder of the store, a new one.", metavar="FOLDER")],
    features: Annotated[
        list[str] | None, option(DATA, "Node features: .csv, .parquet or .npy, one or many.", metavar="FILE")
    ] = None,
    labels: shared.Labels = None,
    node_features: shared.NodeFeatures = None,
    source: shared.SourceColumn = None,
    target: shared.TargetColumn = None,
    weight: shared.WeightColumn = None,
    bipartite: shared.Bipartite = False,
    data_root: shared.DataRoot = None,
    name: Annotated[Text, option(OUTPUT, "What the graph is called. Default: as its file.")] = None,
    float16: Annotated[bool, flag(OUTPUT, "Store features in half the room.", "--float16")] = False,
    memory: Annotated[str, option(OUTPUT, "What DuckDB may use for tables.", metavar="SIZE")] = "2GB",
    quiet: shared.Quiet = False,
) -> None:
    """Convert a graph to a store: a folder that other commands read without holding it in memory.

    Tables of edges with tables of features are converted in bounded memory; several files and patterns are allowed.

    **Examples**

    * `sfa convert edges.csv --features nodes.csv --out store/`, then `sfa train store/`
    * `sfa convert "edges-*.parquet" --features "nodes-*.parquet" --memory 4GB --out store/`
    * `sfa convert cora --out store/`
    """
    options = {**locals()}  # every option is a keyword argument of the same name
    from sfa.data import convert_to_store
    from sfa.run.display import Display, results_console

    display = Display(options.pop("quiet"))
    options["data"] = data[0] if len(data) == 1 else data
    graph = convert_to_store(**options, counting=display.counting)
    if "edges_read" in graph:
        display.say(graph.edges_read)
    results_console().print(f"{graph.name}: {graph.about}")
