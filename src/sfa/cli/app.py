"""The commands and their options; each hands over to the module that does it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

DataRoot = Annotated[
    Path | None,
    typer.Option(
        envvar="SFA_DATA", help="Folder of data sets in PyTorch Geometric's layout; else they are downloaded."
    ),
]
Features = Annotated[Path | None, typer.Option(help="Node features of an edge list: .csv, .parquet or .npy.")]
Labels = Annotated[Path | None, typer.Option(help="Node labels of an edge list: .csv with columns id, label.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but results and errors.")]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="CPU threads; PyTorch's choice if not given.")]


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(version("sfa"))
        raise typer.Exit


@app.callback()
def root(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error (anywhere on the line).")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Spectral feature augmentation, and contrastive pre-training of graphs around it."""


@app.command(no_args_is_help=True)
def train(
    data: Annotated[
        str | None, typer.Argument(help="A data set's name (`sfa list datasets`) or a file of your own.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="Method (`sfa list methods`). Default: grace.")] = None,
    spectral: Annotated[str | None, typer.Option(help="Spectral map (`sfa list spectral`). Default: sfa.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Power iterations k of the spectral map.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Training epochs.")] = None,
    hidden: Annotated[int | None, typer.Option(help="Width of the embeddings.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    tau: Annotated[float | None, typer.Option(help="Temperature of the loss.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all randomness.")] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Train on sampled batches of so many nodes, for graphs too large for one step.")
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(help="What batches are (`sfa list samplers`). Default: whole; with a batch size, neighbours."),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(help="A YAML file, or a shipped one such as `paper` (`sfa list recipes`).")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other recipe key, e.g. `method.edge_drop=[0.2,0.4]`."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: a new one below runs/.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    features: Features = None,
    labels: Labels = None,
    data_root: DataRoot = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, …")] = "auto",
    threads: Threads = None,
    evaluate: Annotated[bool, typer.Option(help="Score the embeddings at the end, where there are labels.")] = True,
    quiet: Quiet = False,
) -> None:
    """Train embeddings of a graph, without labels.

    **Examples**

    * `sfa train cora`: bundled data, GRACE + SFA, a minute
    * `sfa train cora --recipe paper --seed 1`: the paper's settings
    * `sfa train my_graph.npz --method g-bt --epochs 500 --out runs/mine`
    * `sfa train edges.csv --features nodes.csv`
    * `sfa train edges.csv --features x.npy --batch-size 1024`: a large graph, in batches
    * `torchrun --nproc-per-node 2 -m sfa train cora --batch-size 512`: two processes that act as one
    * `sfa train --resume --out runs/mine`: go on after an interruption
    """
    from sfa.cli import train as command
    from sfa.cli.run import Source

    shorthands = {
        "method.name": method,
        "spectral.name": spectral,
        "spectral.iterations": iterations,
        "training.epochs": epochs,
        "method.hidden": hidden,
        "training.lr": lr,
        "method.tau": tau,
        "training.seed": seed,
        "sampler.name": sampler,
        "sampler.batch_size": batch_size,
    }
    command.run(
        source=Source(data, data_root, features, labels),
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
        quiet=quiet,
    )


@app.command(no_args_is_help=True)
def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder made by `sfa train`.")],
    protocol: Annotated[str, typer.Option(help="Protocol (`sfa list protocols`).")] = "honest-10-10-80",
    json: Annotated[bool, typer.Option("--json", help="Print JSON with the value of every split.")] = False,
    data_root: DataRoot = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Score a run's embeddings beside raw features and the untrained encoder.

    **Examples**

    * `sfa evaluate runs/cora-grace-sfa`
    * `sfa evaluate runs/cora-grace-sfa --json > scores.json`
    """
    from sfa.cli import evaluate as command

    command.run(run, protocol=protocol, as_json=json, data_root=data_root, threads=threads, quiet=quiet)


@app.command(no_args_is_help=True)
def embed(
    run: Annotated[Path, typer.Argument(help="A run folder made by `sfa train`.")],
    out: Annotated[Path, typer.Option(help="File to write: .npz, .parquet, .csv or .pt.")],
    data: Annotated[str | None, typer.Option(help="Another graph with the same features; else the run's own.")] = None,
    features: Features = None,
    labels: Labels = None,
    data_root: DataRoot = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Write the embeddings of all nodes, with their ids.

    **Examples**

    * `sfa embed runs/cora-grace-sfa --out z.parquet`
    * `sfa embed runs/mine --data new_graph.npz --out z.npz`: nodes not seen in training
    """
    from sfa.cli import embed as command
    from sfa.cli.run import Source

    source = None if data is None and features is None and labels is None else Source(data, data_root, features, labels)
    command.run(run, out=out, source=source, data_root=data_root, threads=threads, quiet=quiet)


@app.command(no_args_is_help=True)
def figure(
    name: Annotated[str, typer.Argument(help="A figure's name (`sfa list figures`).")],
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders, for a figure that is drawn from them.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: .png, .svg or .pdf; without a suffix both .png and .svg. Default: NAME."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw a figure of the paper, from runs or from theory.

    **Examples**

    * `sfa figure push-forward`: push-forward.png and push-forward.svg, from theory alone
    * `sfa figure spectrum runs/cora-grace-sfa --out spectrum.svg`
    * `sfa figure alignment runs/cora-grace-none runs/cora-grace-sfa --out alignment.pdf`
    """
    from sfa.cli import figure as command

    command.run(name, runs or [], out=out, quiet=quiet)


class Kind(str, Enum):
    """What can be listed."""

    methods = "methods"
    spectral = "spectral"
    datasets = "datasets"
    samplers = "samplers"
    protocols = "protocols"
    recipes = "recipes"
    figures = "figures"


@app.command("list", no_args_is_help=True)
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")], data_root: DataRoot = None) -> None:
    """List what can be chosen by name.

    **Examples**

    * `sfa list methods`
    * `sfa list datasets --data-root ~/data`
    """
    from sfa.cli import listing

    listing.run(kind.value, data_root)


@app.command()
def doctor(data_root: DataRoot = None) -> None:
    """Check the installation: versions, threads, devices, data sets, what is missing and how to get it.

    **Example**

    * `sfa doctor --data-root ~/data`
    """
    from sfa.cli import doctor as command

    command.run(data_root)


@app.command()
def demo(
    out: Annotated[Path | None, typer.Option(help="Folder for runs, table and pictures. Default: a new one.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Fewer epochs, for a quicker look.")] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Train GRACE with and without SFA on the bundled Cora, and show what the layer does. About 5 minutes.

    **Examples**

    * `sfa demo`
    * `sfa demo --epochs 20 --out runs/quick-look`
    """
    from sfa.cli import demo as command

    command.run(out=out, epochs=epochs, threads=threads, quiet=quiet)
