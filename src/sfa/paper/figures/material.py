"""The runs and run times that the paper's figures are drawn from: trained, or read from stored results."""

from collections.abc import Iterable
from pathlib import Path

from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.paper import own_entries
from sfa.paper.entry import Entry
from sfa.paper.estimate import duration
from sfa.paper.figures.run_time import timings
from sfa.paper.measure import seconds_per_epoch
from sfa.paper.tables.definition import load
from sfa.paper.tables.make import shipped_entries
from sfa.run import Recipe, load_recipe
from sfa.run.display import Display, counted
from sfa.run.run import describe
from sfa.run.source import Source, require_same_data
from sfa.run.train_recipe import start_run, train_in
from sfa.train import Interrupted, RunFolder, load_tensors

FOLDER = Path("runs/figures")  # where the paper's runs are trained; figures of the same runs share them
MAPS = ("none", "sfa")  # spectral maps of the paper's runs on each data set: without and with SFA
TIMED = 2  # the paper's table whose data sets run times are measured on, and whose values are shown with them
TRIED = 2  # epochs that are timed to estimate how long all will take


def run_path(dataset: str, spectral: str) -> Path:
    """Return where a run of the paper is trained, the same for every figure."""
    return FOLDER / f"{dataset}-grace-{spectral}"


def published_ratios() -> dict[str, float]:
    """Return by data set how many times longer an epoch with SFA takes, as the paper's table has it."""
    values = {row.key: [float(cell.published) for cell in row.cells if cell.published] for row in load(TIMED).rows}
    return {dataset: with_sfa / without for dataset, (without, with_sfa) in values.items()}


def find_times(path: Path, *, required: bool) -> list[Entry] | None:
    """Return entries with run times: the user's, or those that came with sfa; ``None`` if there are none.

    A ledger that is ``required`` must exist.
    """
    own = own_entries(path, asked=required)
    return next((list(entries) for entries in (own, shipped_entries()) if timings(entries)), None)


def available(datasets: Iterable[str], data_root: Path | None, display: Display) -> dict[str, tuple[Source, Data]]:
    """Load the data sets that can be had, and say why others cannot; raise if none can."""
    found, reasons = dict[str, tuple[Source, Data]](), dict[str, InputError]()
    for name in datasets:
        source = Source(name, data_root)
        try:
            found[name] = source, source.load(display)
        except InputError as error:
            reasons[name] = error
    if not found:
        raise next(iter(reasons.values()))
    for name, reason in reasons.items():
        display.say(f"Without {name}: {reason}")
    return found


def train_runs(datasets: Iterable[str], *, data_root: Path | None, device: str, display: Display) -> list[Path]:
    """Train the runs of a figure that are not there yet, on data that can be had, and return the folders of all."""
    runs = [
        (run_path(name, spectral), load_recipe(f"grace/{name}").updated({"spectral.name": spectral}), source, data)
        for name, (source, data) in available(datasets, data_root, display).items()
        for spectral in MAPS
    ]
    left = [(_epochs_left(path, recipe, data), path, recipe, source, data) for path, recipe, source, data in runs]
    left = [run for run in left if run[0]]
    if left:
        seconds = 0.0
        for epochs, _, recipe, _, data in left:
            method, prepared, timed = recipe.build_for(data), recipe.prepare(data), min(TRIED, epochs)
            seconds += epochs * seconds_per_epoch(method, prepared, recipe, epochs=timed, device=device)
        names = ", ".join(f"{describe(recipe)} on {source.data}" for _, _, recipe, source, _ in left)
        display.say(f"{counted(len(left), 'run')} to train in {FOLDER}, about {duration(seconds)}: {names}.")
    for _, path, recipe, source, data in left:
        try:
            if path.exists():
                train_in(RunFolder.open(path), recipe, data, device=device, resume=True, display=display)
            else:
                start_run(path, recipe, data, source, device=device, display=display)
        except Interrupted as error:
            raise Interrupted(f"{str(error).partition(';')[0]}; the same command goes on from there.") from error
    return [path for path, *_ in runs]


def _epochs_left(path: Path, recipe: Recipe, data: Data) -> int:
    """Return how many epochs of a run are still to be trained; raise if its folder holds another run."""
    if not path.exists():
        return recipe.training.epochs
    folder = RunFolder.open(path)
    if load_recipe(folder.recipe_file) != recipe:
        wanted = f"grace/{path.name.partition('-grace-')[0]} with {recipe.spectral_name}"
        raise InputError(f"{path} holds another run than {wanted}: move it away, and try again.")
    require_same_data(folder, data)
    meta = load_tensors(folder.checkpoint)[1] if folder.checkpoint.exists() else {}
    return 0 if meta.get("finished") else recipe.training.epochs - int(meta.get("epoch", 0))
