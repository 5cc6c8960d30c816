"""``sfa list`` and ``sfa doctor``: what can be chosen by name, and what is missing.

``python -m sfa.cli.listing`` writes ``lists.json`` anew, after a part was added or described in other words.
"""

import inspect
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import distributions, requires
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from sfa import registry
from sfa.cli.app import app
from sfa.cli.early import FILE, are_stored, stored_lists
from sfa.cli.options import DataRoot
from sfa.folders import find_place

Part = Literal["methods", "encoders", "augmentations", "spectral", "postprocess", "datasets", "samplers", "protocols"]
Kind = Literal[Part, "recipes", "tables", "figures", "studies", "loggers", "ranges"]
QUICK = ("recipes", "tables")  # lists that are made at once


@app.command("list", no_args_is_help=True)
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")], data_root: DataRoot = None) -> None:
    """List what can be chosen by name.

    **Examples**

    * `sfa list methods`
    * `sfa list datasets --data-root ~/data`
    """
    print_rows(find_rows(kind, data_root))


@app.command()
def doctor(
    store: Annotated[Path | None, typer.Argument(help="Check this graph store instead.")] = None,
    data_root: DataRoot = None,
) -> None:
    """Check the installation: versions, threads, devices, data sets, what is missing and how to get it.

    **Examples**

    * `sfa doctor --data-root ~/data`
    * `sfa doctor store/`: compare the files of a graph store with their checksums
    """
    if store is not None:
        from sfa.data import open_store

        print(f"{store} is whole: {open_store(store, verify=True).about}.")
        return
    import torch

    from sfa.errors import InputError
    from sfa.folders import data_root as find_data_root
    from sfa.train import versions

    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    rows = [*versions().items(), *_extras()]
    rows.append(("CPU threads", f"{torch.get_num_threads()} of {os.cpu_count()} cores"))
    rows.append(("devices", ", ".join(["cpu", *gpus])))
    try:
        root = find_data_root(data_root)
        rows.append(("data root", f"{root}{'' if root.is_dir() else ' (not there yet)'}"))
        rows += [(f"  {name}", where) for name, *_, where in find_rows("datasets", data_root)]
        advice = {
            "Data sets that are not bundled are downloaded when used. With no network, copy them in PyTorch "
            "Geometric's layout, CIFAR's as its archive has it and ImageNet as a folder for each class, below one "
            f"folder (now {root}) and name it by SFA_DATA or --data-root.": "SFA_DATA" not in os.environ,
            "No GPU is visible to PyTorch: training runs on the CPU.": not gpus,
        }
    except InputError as error:  # what is wrong is what a doctor is asked for
        advice = {str(error): True}
    print_rows(rows, [f"• {sentence}" for sentence, applies in advice.items() if applies])


def _extras() -> Iterator[tuple[str, str]]:
    """Return each package of an extra with its version, or with the command that installs it."""
    for required in requires("sfa") or ():
        package, extra = re.findall(r"^[\w.-]+|(?<=extra == .)[\w-]+", required + "extra == 'dev'")[:2]
        if extra not in ("dev", "docs"):
            found = next(iter(distributions(name=package)), None)
            yield package, f"not installed: pip install 'sfa[{extra}]'" if found is None else found.version


def print_rows(rows: Iterable[Sequence[str]], sentences: Iterable[str] = ()) -> None:
    """Print rows as a table, and sentences below it."""
    from rich.table import Table

    from sfa.run.display import results_console

    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
    results_console().print(table, *sentences, sep="\n")


def find_rows(kind: str, data_root: Path | None) -> Iterable[Sequence[str]]:
    """Return the rows of a list; from a file if nothing was added to the parts, because PyTorch takes seconds."""
    if kind in QUICK or not are_stored(_singular(kind)):
        return make_rows(kind, data_root)
    rows = stored_lists()[kind]
    if kind == "datasets":
        return [(*row, availability(facts, data_root)) for *row, facts in rows]
    return rows


def make_rows(kind: str, data_root: Path | None = None, *, stored: bool = False) -> Iterator[tuple[Any, ...]]:
    """Make the rows of a list from the parts themselves; those to be stored do not depend on the machine."""
    if kind == "recipes":
        from sfa.run.shipped import shipped_recipes

        yield from ((name, recipe["about"]) for name, recipe in shipped_recipes().items())
    elif kind == "tables":
        from sfa.paper.tables.definition import NUMBERS, read

        for table in map(read, NUMBERS):
            yield str(table["number"]), table["title"], table.get("filled_by") or f"sfa study {table['study']}"
    elif kind == "ranges":
        from sfa.sweep import shipped_ranges

        yield from ((method, ", ".join(map(str, ranges))) for method, ranges in shipped_ranges().items())
    elif kind == "datasets":
        from sfa.data import names

        for dataset in names():
            task = "–" if dataset.task is None else f"{dataset.task}s"
            facts = (dataset.loader, dataset.bundled, dataset.downloaded, list(dataset.places))
            yield dataset.name, task, dataset.description, facts if stored else availability(facts, data_root)
    elif kind == "methods":
        from sfa.methods import available_methods

        yield from ((name, f"{part.task}s", _summary(part)) for name, part in available_methods().items())
    elif kind == "spectral":
        from sfa.run.parsing import GENTLE

        gentle = ", ".join(f"{key}={value}" for key, value in GENTLE.items() if key != "name")
        yield "none", "The plain method: no spectral map."
        yield "gentle", "Short for sfa in many gentle passes, the default for the nodes of a graph.", gentle
        parts = registry.registered(kind).items()
        yield from ((name, _summary(part), _defaults(part)) for name, part in parts if name != "none")
    elif kind == "figures":
        for name, part in registry.registered("figure").items():
            yield name, part.number or "–", part.description, part.takes
    else:
        for name, part in registry.registered(_singular(kind)).items():
            yield name, part.description if kind in ("protocols", "studies") else _summary(part)


def _singular(kind: str) -> str:
    return {"studies": "study", "spectral": kind, "postprocess": kind}.get(kind, kind[:-1])


def availability(facts: Sequence[Any], data_root: Path | None) -> str:
    """Return where a data set will come from, given its loader, whether it is bundled or downloaded, and its places."""
    loader, bundled, downloaded, places = facts
    if loader is not None:
        return f"loaded by {loader}"
    if bundled:
        return "bundled"
    found = find_place(data_root, *places)
    if found is not None:
        return str(found)
    return "to be downloaded" if downloaded else "not here, and not to be downloaded"


def _defaults(spectral: Any) -> str:
    """Return the options of a spectral map with their defaults; nothing of one that cannot be made without options."""
    try:
        return str(spectral().extra_repr())
    except (TypeError, AttributeError):
        return ""


def _summary(described: Any) -> str:
    first, *_ = (inspect.getdoc(described) or "").splitlines() or [""]
    return re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"\1", first).replace("`", "")


if __name__ == "__main__":
    stored = {kind: list(make_rows(kind, stored=True)) for kind in get_args(Kind) if kind not in QUICK}
    Path(str(files("sfa.cli").joinpath(FILE))).write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
