"""``sfa train``: data and recipe in, a run folder out."""

from __future__ import annotations

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

    * `sfa train cora`: bundled data, GRACE + SFA in many gentle passes, a minute
    * `sfa train cora --spectral sfa`: the paper's Algorithm 1
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
    options = {**locals()}  # every option is a keyword argument of the same name
    from sfa.run.display import Display, results_console
    from sfa.run.recipe_choice import parse_assignments
    from sfa.run.train import train_run

    changes = parse_assignments(options.pop("set_") or [])
    options |= {"log": log or [], "online_probe": online_probe or None, "progress": Display(options.pop("quiet"))}
    run = train_run(**options, set=changes)
    if run.scores is not None:
        results_console().print(run.scores)
