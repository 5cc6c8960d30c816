"""``sfa embed``: the embeddings of a run's data, or of others, in a file."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import (
    DataRoot,
    Features,
    ImageSize,
    Labels,
    NodeFeatures,
    Quiet,
    RunPath,
    SkipCorrupt,
    Threads,
)


class Layout(str, Enum):
    """Where a table has its embeddings."""

    columns = "columns"
    list = "list"


@app.command(no_args_is_help=True)
def embed(
    run: RunPath,
    out: Annotated[Path, typer.Option(help="File to write: .npz, .parquet, .csv, .pt or .h5ad (AnnData).")],
    data: Annotated[
        str | None,
        typer.Option(help="Another graph, set of graphs or images, with the same features; else the run's own."),
    ] = None,
    layout: Annotated[
        Layout, typer.Option(help="Of .parquet and .csv: a column a feature, or one column of lists (for Neo4j).")
    ] = Layout.columns,
    with_labels: Annotated[
        bool, typer.Option("--with-labels", help="Add each one's label, and the label that a probe gives it.")
    ] = False,
    features: Features = None,
    labels: Labels = None,
    node_features: NodeFeatures = None,
    image_size: ImageSize = None,
    skip_corrupt: SkipCorrupt = False,
    data_root: DataRoot = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Write the embeddings of all nodes, graphs or images, with their ids.

    **Examples**

    * `sfa embed runs/cora-grace-sfa-64-passes --out z.parquet`
    * `sfa embed runs/cora-grace-sfa-64-passes --out z.csv --layout list`: for Neo4j's import
    * `sfa embed runs/cora-grace-sfa-64-passes --out z.h5ad --with-labels`: for scanpy
    * `sfa embed runs/mine --data new_graph.npz --out z.npz`: nodes not seen in training
    * `sfa embed runs/mutag-graphcl-sfa --data new_graphs/ --out z.csv`: graphs not seen in training
    * `sfa embed runs/photos-simclr-sfa --data new_photos/ --image-size 64 --out z.parquet`
    """
    options = {**locals(), "layout": layout.value}  # every option is a keyword argument of the same name
    from sfa.run.display import Display
    from sfa.run.embed import embed_run

    options["progress"] = Display(options.pop("quiet"))
    embed_run(**options)
