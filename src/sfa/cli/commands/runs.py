"""Commands that make a run and use it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import (
    PAIR,
    DataRoot,
    Device,
    Features,
    ImageSize,
    Labels,
    ManyValues,
    NodeFeatures,
    Quiet,
    SkipCorrupt,
    Threads,
)


@app.command(cls=ManyValues, no_args_is_help=True)
def train(
    data: Annotated[
        str | None,
        typer.Argument(
            help="A data set's name (`sfa list datasets`), a file of your own, or a folder of graphs or images."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Method (`sfa list methods`), or `module:Class` of your own. Default: grace for a graph, graphcl "
            "for graphs, simclr for images."
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="Encoder (`sfa list encoders`), or `module:Class` of your own. Default: the method's."),
    ] = None,
    augmentation: Annotated[
        str | None,
        typer.Option(help="What makes two views of the data (`sfa list augmentations`). Default: the method's."),
    ] = None,
    spectral: Annotated[
        str | None,
        typer.Option(
            help="Spectral map (`sfa list spectral`), or several in order: `noise,sfa`. Default: gentle for a graph, "
            "else sfa."
        ),
    ] = None,
    iterations: Annotated[int | None, typer.Option(help="Power iterations k of the spectral map.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Training epochs.")] = None,
    hidden: Annotated[
        int | None,
        typer.Option(help="Width of the embeddings; of graphs, of each layer; of images, of the first stage."),
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    tau: Annotated[float | None, typer.Option(help="Temperature of the loss.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all randomness.")] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            help="Nodes of a step, where a graph is too large for one; graphs (128) or images (256) of a step."
        ),
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(
            help="What batches are (`sfa list samplers`). Default: whole, with a batch size neighbours; graphs; images."
        ),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(help="A YAML file, or a shipped one such as `paper` (`sfa list recipes`).")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar=PAIR, help="Any other recipe key, e.g. `encoder.layers=3`; may be several."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: a new one below runs/.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    features: Features = None,
    labels: Labels = None,
    node_features: NodeFeatures = None,
    image_size: ImageSize = None,
    skip_corrupt: SkipCorrupt = False,
    precision: Annotated[
        str | None, typer.Option(help="32, bf16-mixed or, on a GPU, 16-mixed. Default: the recipe's.")
    ] = None,
    online_probe: Annotated[
        bool, typer.Option("--online-probe", help="Train a linear probe beside, to watch its accuracy. Of images.")
    ] = False,
    data_root: DataRoot = None,
    device: Device = "auto",
    threads: Threads = None,
    evaluate: Annotated[bool, typer.Option(help="Score the embeddings at the end, where there are labels.")] = True,
    log: Annotated[
        list[str] | None,
        typer.Option(help="Also log to `tensorboard` or `wandb` (offline), in the run folder. May be repeated."),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Write report.html into the run folder at the end (`sfa report`).")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Train embeddings of a graph's nodes, of many graphs or of images, without labels.

    **Examples**

    * `sfa train cora`: bundled data, GRACE + SFA, a minute
    * `sfa train cora --recipe paper --seed 1`: the paper's settings
    * `sfa train mutag --method graphcl`: bundled too, an embedding for each of 188 molecules
    * `sfa train my_graphs/ --labels labels.csv`: a folder with a file for each graph
    * `sfa train digits --method simclr`: bundled too, an embedding for each of 1797 images
    * `sfa train photos/ --image-size 64`: a folder of images, or of a folder for each class
    * `sfa train my_graph.npz --method g-bt --epochs 500 --out runs/mine`
    * `sfa train cora --encoder torch_geometric.nn:GAT --set encoder.hidden_channels=64 encoder.num_layers=2`
    * `sfa train edges.csv --features nodes.csv`
    * `sfa train edges.csv --node-features degree`: a graph that is nothing but its edges
    * `sfa train edges.csv --features x.npy --batch-size 1024`: a large graph, in batches
    * `torchrun --nproc-per-node 2 -m sfa train cora --batch-size 512`: two processes that act as one
    * `sfa train cora --log tensorboard --log wandb`: curves to watch, beside the metrics of the run folder
    * `sfa train cora --report`: with a page of curves, spectra, scores and a map of the embeddings
    * `sfa train --resume --out runs/mine`: go on after an interruption
    """
    from sfa.cli import train as command
    from sfa.run.source import Source

    shorthands = {
        "method.name": method,
        "encoder.name": encoder,
        "augmentation.name": augmentation,
        "spectral.name": spectral if "," not in (spectral or "") else None,
        "spectral": spectral.split(",") if spectral and "," in spectral else None,
        "spectral.iterations": iterations,
        "training.epochs": epochs,
        "method.hidden": hidden,
        "training.lr": lr,
        "method.tau": tau,
        "training.seed": seed,
        "sampler.name": sampler,
        "sampler.batch_size": batch_size,
        "training.precision": precision,
        "training.online_probe": online_probe or None,
    }
    command.run(
        source=Source(data, data_root, features, labels, node_features, image_size, skip_corrupt),
        recipe=recipe,
        changes={
            **command.parse_assignments(set_ or []),
            **{key: value for key, value in shorthands.items() if value is not None},
        },
        out=out,
        resume=resume,
        device=device,
        threads=threads,
        evaluate=evaluate,
        report=report,
        quiet=quiet,
        log=log or [],
    )


@app.command(no_args_is_help=True)
def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder made by `sfa train`.")],
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
    json: Annotated[bool, typer.Option("--json", help="Print JSON with the value of every split.")] = False,
    data_root: DataRoot = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Score a run's embeddings beside what needs no training: features, raw or propagated, counts, untrained encoder.

    **Examples**

    * `sfa evaluate runs/cora-grace-sfa`
    * `sfa evaluate runs/cora-grace-sfa --json > scores.json`
    * `sfa evaluate runs/cora-grace-sfa --protocol clustering --protocol knn`
    * `sfa evaluate runs/cora-grace-sfa --protocol all --supervised`: one table of all
    """
    from sfa.cli import evaluate as command

    command.run(
        run,
        protocols=protocol or [],
        supervised=supervised,
        as_json=json,
        data_root=data_root,
        threads=threads,
        quiet=quiet,
    )


@app.command(no_args_is_help=True)
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders on the same data: a baseline, then others.")],
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Protocol (`sfa list protocols`). Default: honest-10-10-80 for nodes, tu-svm-10fold for graphs, "
            "image-linear for images."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON with the value of every split.")] = False,
    data_root: DataRoot = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Compare runs with the first of them, split by split: mean difference, 95 % interval, Wilcoxon's p.

    Scores kept in the run folders are used again where they fit.

    **Examples**

    * `sfa compare runs/cora-grace-none runs/cora-grace-sfa`
    * `sfa compare runs/a runs/b runs/c --protocol clustering`
    """
    from sfa.cli import compare as command

    command.run(runs, protocol=protocol, as_json=json, data_root=data_root, threads=threads, quiet=quiet)


@app.command(no_args_is_help=True)
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders on the same data; the first is the baseline.")],
    out: Annotated[
        Path | None, typer.Option(help="The page to write. Default: report.html in the first run folder.")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Protocol (`sfa list protocols`). Default: honest-10-10-80 for nodes, tu-svm-10fold for graphs, "
            "image-linear for images."
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
    data_root: DataRoot = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Write one page that shows runs: curves, spectra, scores beside baselines, a map of the embeddings, confusion.

    The page needs no network and no other file. Scores kept in the run folders are used again where they fit.

    **Examples**

    * `sfa report runs/cora-grace-sfa`
    * `sfa report runs/cora-grace-none runs/cora-grace-sfa --out report.html`: side by side, with paired differences
    * `sfa report runs/cora-grace-sfa --protocol knn --open`
    """
    from sfa.cli import report as command

    command.run(runs, out=out, protocol=protocol, data_root=data_root, threads=threads, show=open_, quiet=quiet)


class Layout(str, Enum):
    """Where a table has its embeddings."""

    columns = "columns"
    list = "list"


@app.command(no_args_is_help=True)
def embed(
    run: Annotated[Path, typer.Argument(help="A run folder made by `sfa train`.")],
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

    * `sfa embed runs/cora-grace-sfa --out z.parquet`
    * `sfa embed runs/cora-grace-sfa --out z.csv --layout list`: for Neo4j's import
    * `sfa embed runs/cora-grace-sfa --out z.h5ad --with-labels`: for scanpy
    * `sfa embed runs/mine --data new_graph.npz --out z.npz`: nodes not seen in training
    * `sfa embed runs/mutag-graphcl-sfa --data new_graphs/ --out z.csv`: graphs not seen in training
    * `sfa embed runs/photos-simclr-sfa --data new_photos/ --image-size 64 --out z.parquet`
    """
    from sfa.cli import embed as command
    from sfa.run.source import Source

    given = skip_corrupt or any(option is not None for option in (data, features, labels, node_features, image_size))
    if given and data is None:
        from sfa.errors import InputError

        raise InputError(
            "--features, --labels, --node-features, --image-size and --skip-corrupt belong to other data: name them by "
            "--data."
        )
    source = Source(data, data_root, features, labels, node_features, image_size, skip_corrupt) if given else None
    command.run(
        run,
        out=out,
        source=source,
        data_root=data_root,
        threads=threads,
        quiet=quiet,
        layout=layout.value,
        with_labels=with_labels,
    )
