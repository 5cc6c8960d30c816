"""``sfa train``: data and recipe in, a run folder out."""

from pathlib import Path
from typing import Annotated

import typer

from sfa.cli import options as shared
from sfa.cli.app import app
from sfa.cli.options import METHOD, OUTPUT, PAIR, TRAINING, ManyValues, flag, option

Text = str | None
Integer = int | None


@app.command(cls=ManyValues, no_args_is_help=True)
def train(
    data: Annotated[Text, typer.Argument(help="A name (`sfa list datasets`), a file, or a folder.")] = None,
    features: shared.Features = None,
    labels: shared.Labels = None,
    node_features: shared.NodeFeatures = None,
    image_size: shared.ImageSize = None,
    skip_corrupt: shared.SkipCorrupt = False,
    data_root: shared.DataRoot = None,
    method: Annotated[Text, option(METHOD, "Method, by name or as module:Class.")] = None,
    spectral: Annotated[Text, option(METHOD, "Spectral map: gentle, sfa, none, …")] = None,
    encoder: Annotated[Text, option(METHOD, "Encoder, by name or as module:Class.")] = None,
    augmentation: Annotated[Text, option(METHOD, "Augmentation that makes two views.")] = None,
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
    online_probe: Annotated[bool, flag(TRAINING, "Watch a linear probe. For images.", "--online-probe")] = False,
    out: Annotated[Path | None, option(OUTPUT, "Run folder. Default: a new one in runs/.", metavar="FOLDER")] = None,
    resume: Annotated[bool, flag(OUTPUT, "Continue the run in --out.", "--resume")] = False,
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
    from sfa.run.display import Display, results_console
    from sfa.run.recipe_choice import parse_assignments
    from sfa.run.train import train_run

    changes = parse_assignments(options.pop("set_") or [])
    options |= {"log": log or [], "online_probe": online_probe or None, "progress": Display(options.pop("quiet"))}
    run = train_run(**options, set=changes)
    if run.scores is not None:
        results_console().print(run.scores)
