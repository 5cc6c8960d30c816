"""``sfa embed``: the embeddings of a run's data, or of others, in a file."""

from pathlib import Path
from typing import Annotated, Literal

from sfa.cli import options as shared
from sfa.cli.app import app
from sfa.cli.options import DATA, OUTPUT, flag, option

Layout = Literal["columns", "list"]


@app.command(no_args_is_help=True)
def embed(
    run: shared.RunPath,
    out: Annotated[Path, option(OUTPUT, "File: .npz, .parquet, .csv, .pt or .h5ad.", metavar="FILE")],
    data: Annotated[str | None, option(DATA, "Other data, with the same features.", metavar="DATA")] = None,
    layout: Annotated[Layout, option(OUTPUT, "In .parquet and .csv: columns, or one of lists.")] = "columns",
    with_labels: Annotated[bool, flag(OUTPUT, "Add labels, given and predicted.", "--with-labels")] = False,
    features: shared.Features = None,
    labels: shared.Labels = None,
    node_features: shared.NodeFeatures = None,
    image_size: shared.ImageSize = None,
    skip_corrupt: shared.SkipCorrupt = False,
    data_root: shared.DataRoot = None,
    threads: shared.Threads = None,
    quiet: shared.Quiet = False,
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
    options = {**locals()}  # every option is a keyword argument of the same name
    from sfa.run.display import Display
    from sfa.run.embed import embed_run

    options["progress"] = Display(options.pop("quiet"))
    embed_run(**options)
