"""The commands and their options; each hands over to the module that does it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from sfa.cli.many_values import ManyValues

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
        envvar="SFA_DATA",
        help="Folder of data sets in PyTorch Geometric's or CIFAR's layout, or of image folders; else they are "
        "downloaded.",
    ),
]
Features = Annotated[Path | None, typer.Option(help="Node features of an edge list: .csv, .parquet or .npy.")]
Labels = Annotated[
    Path | None,
    typer.Option(
        help="Labels of an edge list's nodes, or of a folder's graphs or images: .csv with columns id, label."
    ),
]
NodeFeatures = Annotated[
    str | None,
    typer.Option(
        metavar="KIND[:WIDTH]",
        help="Features for a file that has none, made of `degree`, `random` numbers or `spectral` position.",
    ),
]
ImageSize = Annotated[
    int | None, typer.Option(min=4, max=2048, help="Pixels a side that the images of a folder are brought to.")
]
SkipCorrupt = Annotated[
    bool, typer.Option("--skip-corrupt", help="Leave out images of a folder that cannot be read, and say which.")
]
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
    """Spectral feature augmentation, and contrastive pre-training of graphs and images around it."""


@app.command(no_args_is_help=True)
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
            help="Method (`sfa list methods`). Default: grace for a graph, graphcl for graphs, simclr for images."
        ),
    ] = None,
    spectral: Annotated[str | None, typer.Option(help="Spectral map (`sfa list spectral`). Default: sfa.")] = None,
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
        typer.Option("--set", metavar="KEY=VALUE", help="Any other recipe key, e.g. `method.edge_drop=[0.2,0.4]`."),
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
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, …")] = "auto",
    threads: Threads = None,
    evaluate: Annotated[bool, typer.Option(help="Score the embeddings at the end, where there are labels.")] = True,
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
    * `sfa train edges.csv --features nodes.csv`
    * `sfa train edges.csv --node-features degree`: a graph that is nothing but its edges
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
        quiet=quiet,
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
    """Score a run's embeddings beside what needs no training: raw features or counts, and the untrained encoder.

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
def embed(
    run: Annotated[Path, typer.Argument(help="A run folder made by `sfa train`.")],
    out: Annotated[Path, typer.Option(help="File to write: .npz, .parquet, .csv or .pt.")],
    data: Annotated[
        str | None,
        typer.Option(help="Another graph, set of graphs or images, with the same features; else the run's own."),
    ] = None,
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
    * `sfa embed runs/mine --data new_graph.npz --out z.npz`: nodes not seen in training
    * `sfa embed runs/mutag-graphcl-sfa --data new_graphs/ --out z.csv`: graphs not seen in training
    * `sfa embed runs/photos-simclr-sfa --data new_photos/ --image-size 64 --out z.parquet`
    """
    from sfa.cli import embed as command
    from sfa.cli.run import Source

    given = skip_corrupt or any(option is not None for option in (data, features, labels, node_features, image_size))
    if given and data is None:
        from sfa.errors import InputError

        raise InputError(
            "--features, --labels, --node-features, --image-size and --skip-corrupt belong to other data: name them by "
            "--data."
        )
    source = Source(data, data_root, features, labels, node_features, image_size, skip_corrupt) if given else None
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


LedgerPath = Annotated[
    Path | None,
    typer.Option("--ledger", envvar="SFA_LEDGER", help="The ledger's file. Default: runs/ledger.sqlite."),
]


@app.command(cls=ManyValues, no_args_is_help=True)
def study(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A study's name (`sfa list studies`).")],
    datasets: Annotated[list[str], typer.Option(help="Data sets, by name or file.")],
    seeds: Annotated[list[int] | None, typer.Option(min=0, help="Seeds of training. Default: 0.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Training epochs. Default: the recipe's.")] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Method, or several where methods are compared. Default: the level's first, or all."),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(help="Recipe to start from, such as `paper`. Default: the method's own.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other key of the recipes that the study starts from."),
    ] = None,
    protocol: Annotated[
        list[str] | None, typer.Option(help="Protocols (`sfa list protocols`). Default: the study's.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the cells and what is there; run nothing.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run cells anew that failed before.")] = False,
    keep_runs: Annotated[bool, typer.Option("--keep-runs", help="Keep the run folders of finished cells.")] = False,
    ledger: LedgerPath = None,
    data_root: DataRoot = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, …")] = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Run a study of the paper: what the ledger lacks is measured, the table of all is printed.

    Stopped by whatever, the same command goes on where it was.

    **Examples**

    * `sfa study ablation --datasets cora citeseer --seeds 0 1 2`
    * `sfa study iterations --datasets cora --recipe paper --dry-run`: what would be run, and how long it takes
    * `sfa study methods --datasets cora --method grace bgrl --epochs 50`
    * `sfa study methods --datasets nci1 proteins dd --method graphcl --seeds 0 1 2 3 4`: graph classification
    * `sfa study methods --datasets cifar10-subset --method simclr swav --epochs 20`: image classification
    """
    from sfa.cli import study as command
    from sfa.cli.train import parse_assignments

    command.run(
        name,
        datasets=datasets,
        seeds=seeds or [0],
        methods=method or [],
        recipe=recipe,
        changes={**parse_assignments(set_ or []), **({} if epochs is None else {"training.epochs": epochs})},
        protocols=protocol or [],
        ledger=ledger,
        data_root=data_root,
        device=device,
        threads=threads,
        dry_run=dry_run,
        retry_failed=retry_failed,
        keep_runs=keep_runs,
        strict=bool(context.obj and context.obj["debug"]),
        quiet=quiet,
    )


class LedgerAction(str, Enum):
    """What can be done with a ledger."""

    show = "show"
    export = "export"
    remove = "remove"


@app.command()
def ledger(
    action: Annotated[LedgerAction, typer.Argument(help="What to do.")] = LedgerAction.show,
    ledger: LedgerPath = None,
    study: Annotated[str | None, typer.Option(help="Runs of this study alone.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Runs on this data set alone.")] = None,
    method: Annotated[str | None, typer.Option(help="Runs of this method alone.")] = None,
    key: Annotated[str | None, typer.Option(help="Runs whose key begins so.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Failed runs alone.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to export to: .csv, .json (with every split) or .md.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    quiet: Quiet = False,
) -> None:
    """Show the ledger of all studies, export it, or remove runs from it.

    **Examples**

    * `sfa ledger --study ablation`
    * `sfa ledger export --dataset cora --out results.csv`
    * `sfa ledger remove --failed`
    """
    from sfa.cli import ledger as command

    command.run(
        action.value,
        path=ledger,
        study=study,
        dataset=dataset,
        method=method,
        key=key,
        failed=failed,
        out=out,
        yes=yes,
        quiet=quiet,
    )


class Kind(str, Enum):
    """What can be listed."""

    methods = "methods"
    spectral = "spectral"
    datasets = "datasets"
    samplers = "samplers"
    protocols = "protocols"
    recipes = "recipes"
    figures = "figures"
    studies = "studies"


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
    """Train GRACE with and without SFA on the bundled Cora, and show what the layer does. Some 3 minutes.

    **Examples**

    * `sfa demo`
    * `sfa demo --epochs 20 --out runs/quick-look`
    """
    from sfa.cli import demo as command

    command.run(out=out, epochs=epochs, threads=threads, quiet=quiet)
