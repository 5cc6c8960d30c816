"""``sfa train``, ``evaluate``, ``compare``, ``report`` and ``embed``: each calls its function of :mod:`sfa.run`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sfa.cli import early
from sfa.cli import options as shared
from sfa.cli.app import app
from sfa.cli.options import DATA, METHOD, OUTPUT, PAIR, TRAINING, Integer, ManyValues, Text, flag, option, print_result

Layout = Literal["columns", "list"]
Encode = Literal["auto", "none"]


@app.command(cls=ManyValues, no_args_is_help=True)
def train(
    data: Annotated[Text, typer.Argument(help="A name (`sfa list datasets`), a file, or a folder.")] = None,
    features: shared.Features = None,
    encode: Annotated[Encode | None, option(DATA, "Features that are no numbers: auto or none.")] = None,
    labels: shared.Labels = None,
    node_features: shared.NodeFeatures = None,
    source: shared.SourceColumn = None,
    target: shared.TargetColumn = None,
    weight: shared.WeightColumn = None,
    bipartite: shared.Bipartite = False,
    image_size: shared.ImageSize = None,
    skip_corrupt: shared.SkipCorrupt = False,
    data_root: shared.DataRoot = None,
    method: Annotated[Text, option(METHOD, "Method, by name or as module:Class.")] = None,
    spectral: Annotated[Text, option(METHOD, "Spectral map: gentle, sfa, none, …")] = None,
    encoder: Annotated[Text, option(METHOD, "Encoder, by name or as module:Class.")] = None,
    augmentation: Annotated[Text, option(METHOD, "Augmentation that makes two views.")] = None,
    feature_norm: shared.FeatureNorm = None,
    hidden: Annotated[Integer, option(METHOD, "Width of the embeddings.", metavar="N")] = None,
    tau: Annotated[float | None, option(METHOD, "Temperature of the loss.", metavar="X")] = None,
    iterations: Annotated[Integer, option(METHOD, "Power iterations k of SFA.", metavar="K")] = None,
    recipe: Annotated[Text, option(METHOD, "YAML file, or one of `sfa list recipes`.")] = None,
    set_: Annotated[
        list[str] | None, option(METHOD, "Any other key, as encoder.layers=3.", "--set", metavar=PAIR)
    ] = None,
    epochs: Annotated[Integer, option(TRAINING, "Training epochs.", metavar="N")] = None,
    lr: Annotated[float | None, option(TRAINING, "Learning rate.", metavar="X")] = None,
    batch_size: Annotated[Integer, option(TRAINING, "Nodes, graphs or images in a step.", metavar="N")] = None,
    sampler: Annotated[Text, option(TRAINING, "How batches are drawn.")] = None,
    seed: Annotated[Integer, option(TRAINING, "Seed of all randomness.", metavar="N")] = None,
    precision: Annotated[Text, option(TRAINING, "32, bf16-mixed or, on a GPU, 16-mixed.")] = None,
    device: shared.Device = "auto",
    threads: shared.Threads = None,
    memory: shared.Memory = None,
    online_probe: Annotated[bool, flag(TRAINING, "Watch a linear probe. For images.", "--online-probe")] = False,
    out: Annotated[Path | None, option(OUTPUT, "Run folder. Default: a new one in runs/.", metavar="FOLDER")] = None,
    resume: Annotated[bool, flag(OUTPUT, "Continue the run in --out.", "--resume")] = False,
    embed: Annotated[Text, option(OUTPUT, "Embeddings, or none. Default: in the folder.", metavar="FILE")] = None,
    evaluate: Annotated[bool, flag(OUTPUT, "Score at the end, if there are labels.")] = True,
    report: Annotated[bool, flag(OUTPUT, "Write report.html into the run folder.", "--report")] = False,
    log: Annotated[list[str] | None, option(OUTPUT, "Log to tensorboard or wandb too.")] = None,
    quiet: shared.Quiet = False,
) -> None:
    """Train embeddings of a graph's nodes, of many graphs or of images, without labels.

    `sfa list methods` shows what can be chosen; likewise encoders, augmentations, spectral, samplers, recipes.

    **Examples**

    * `sfa train cora`: a bundled graph, a minute
    * `sfa train edges.csv --features nodes.csv`: your own graph
    * `sfa train photos/ --image-size 64`: a folder of images; of graphs likewise
    * `sfa train cora --method bgrl --spectral sfa --epochs 500 --out runs/mine`
    * `sfa train --resume --out runs/mine`: continue after an interruption
    """
    options = {**locals()}  # every option is a keyword argument of the same name
    from sfa.run.shipped import parse_assignments

    options |= {"set": parse_assignments(options.pop("set_") or []), "progress": not options.pop("quiet")}
    task = early.check_data(data, features, labels)
    early.check_names("method", method, task=task)
    early.check_names("spectral", *(spectral or "").split(","))
    early.check_names("logger", *(log or []))
    for kind, name in (("encoder", encoder), ("augmentation", augmentation), ("sampler", sampler)):
        early.check_names(kind, name)
    early.check_recipe(recipe, data)
    if resume and out is not None:
        early.check_runs([out])
    from sfa.run import train_run

    run = train_run(**options | {"log": log or [], "online_probe": online_probe or None})
    if run.scores is not None:
        print_result(run.scores)


@app.command(no_args_is_help=True)
def evaluate(
    run: shared.RunPath,
    protocol: Annotated[
        list[str] | None, option(OUTPUT, "Protocol (`sfa list protocols`), or `all`. May be repeated.")
    ] = None,
    supervised: Annotated[bool, flag(OUTPUT, "Add an MLP and a GCN trained on the labels.", "--supervised")] = False,
    json: shared.Json = False,
    data: shared.MovedData = None,
    features: shared.Features = None,
    labels: shared.Labels = None,
    data_root: shared.DataRoot = None,
    threads: shared.Threads = None,
    quiet: shared.Quiet = False,
) -> None:
    """Score a run's embeddings beside what needs no training: features, raw or propagated, counts, untrained encoder.

    **Examples**

    * `sfa evaluate runs/cora-grace-sfa-64-passes`
    * `sfa evaluate runs/cora-grace-sfa-64-passes --json > scores.json`
    * `sfa evaluate runs/cora-grace-sfa-64-passes --protocol clustering --protocol knn`
    * `sfa evaluate runs/cora-grace-sfa-64-passes --protocol all --supervised`: one table of all
    * `sfa evaluate runs/mine --labels labels.csv`: labels that came after training
    """
    options = {**locals()}  # every option is a keyword argument of the same name
    early.check_runs([run], *(protocol or []), data=data, features=features, labels=labels)
    from sfa.run import evaluate_run

    as_json, options["progress"] = options.pop("json"), not options.pop("quiet")
    print_result(evaluate_run(**options), as_json)


@app.command(no_args_is_help=True)
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders on the same data: a baseline, then others.")],
    protocol: shared.ProtocolName = None,
    json: shared.Json = False,
    data: shared.MovedData = None,
    features: shared.Features = None,
    labels: shared.Labels = None,
    data_root: shared.DataRoot = None,
    threads: shared.Threads = None,
    quiet: shared.Quiet = False,
) -> None:
    """Compare runs with the first of them, split by split: mean difference, 95 % interval, Wilcoxon's p.

    Scores kept in the run folders are used again where they fit.

    **Examples**

    * `sfa compare runs/cora-grace-none runs/cora-grace-sfa-64-passes`
    * `sfa compare runs/a runs/b runs/c --protocol clustering`
    """
    options = {**locals()}
    early.check_runs(runs, protocol, data=data, features=features, labels=labels)
    from sfa.run import compare_runs

    runs, as_json, options["progress"] = options.pop("runs"), options.pop("json"), not options.pop("quiet")
    print_result(compare_runs(*runs, **options), as_json)


@app.command(no_args_is_help=True)
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders on the same data; the first is the baseline.")],
    out: Annotated[
        Path | None, option(OUTPUT, "Page to write. Default: report.html in the first run.", metavar="FILE")
    ] = None,
    protocol: shared.ProtocolName = None,
    open_: shared.OpenPage = False,
    data: shared.MovedData = None,
    features: shared.Features = None,
    labels: shared.Labels = None,
    data_root: shared.DataRoot = None,
    threads: shared.Threads = None,
    quiet: shared.Quiet = False,
) -> None:
    """Write one page that shows runs: curves, spectra, scores beside baselines, a map of the embeddings, confusion.

    The page needs no network and no other file. Scores kept in the run folders are used again where they fit.

    **Examples**

    * `sfa report runs/cora-grace-sfa-64-passes`
    * `sfa report runs/cora-grace-none runs/cora-grace-sfa --out report.html`: side by side, with paired differences
    * `sfa report runs/cora-grace-sfa-64-passes --protocol knn --open`
    """
    options = {**locals()}
    early.check_runs(runs, protocol, data=data, features=features, labels=labels)
    from sfa.run import report_run

    runs, options["show"], options["progress"] = options.pop("runs"), options.pop("open_"), not options.pop("quiet")
    report_run(*runs, **options)


@app.command(no_args_is_help=True)
def embed(
    run: shared.RunPath,
    out: Annotated[
        Path, option(OUTPUT, "File: .parquet, .npy, .npz, .csv, .tsv, .pt, .h5ad; or folder/.", metavar="FILE")
    ],
    data: Annotated[str | None, option(DATA, "Other data, with the same features.", metavar="DATA")] = None,
    layout: Annotated[Layout, option(OUTPUT, "In tables: columns, or one of lists.")] = "columns",
    with_labels: Annotated[bool, flag(OUTPUT, "Add labels, given and predicted.", "--with-labels")] = False,
    features: shared.Features = None,
    labels: shared.Labels = None,
    node_features: shared.NodeFeatures = None,
    source: shared.SourceColumn = None,
    target: shared.TargetColumn = None,
    weight: shared.WeightColumn = None,
    bipartite: shared.Bipartite = False,
    image_size: shared.ImageSize = None,
    skip_corrupt: shared.SkipCorrupt = False,
    data_root: shared.DataRoot = None,
    threads: shared.Threads = None,
    memory: shared.Memory = None,
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
    early.check_runs([run], data=data, features=features, labels=labels)
    from sfa.run import embed_run

    options["progress"] = not options.pop("quiet")
    embed_run(**options)
