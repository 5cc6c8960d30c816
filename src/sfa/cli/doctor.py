"""``sfa doctor``: is everything there, and if not, how to get it."""

import os
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from sfa.cli.app import app
from sfa.cli.options import DataRoot


@app.command()
def doctor(data_root: DataRoot = None) -> None:
    """Check the installation: versions, threads, devices, data sets, what is missing and how to get it.

    **Example**

    * `sfa doctor --data-root ~/data`
    """
    import torch
    from rich.table import Table

    from sfa.cli.listing import find_rows
    from sfa.errors import InputError
    from sfa.folders import data_root as find_data_root
    from sfa.run.display import results_console
    from sfa.train import versions

    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, number in {**versions(), "pillow": _pillow()}.items():
        table.add_row(name, number)
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    table.add_row("CPU threads", f"{torch.get_num_threads()} of {os.cpu_count()} cores")
    table.add_row("devices", ", ".join(["cpu", *gpus]))
    try:
        root = find_data_root(data_root)
        table.add_row("data root", f"{root}{'' if root.is_dir() else ' (not there yet)'}")
        for name, *_, where in find_rows("datasets", data_root):
            table.add_row(f"  {name}", where)
        advices = _advice(root, bool(gpus))
    except InputError as error:  # what is wrong is what a doctor is asked for
        advices = [str(error)]
    console = results_console()
    console.print(table)
    for advice in advices:
        console.print(f"• {advice}", markup=False)


def _pillow() -> str:
    """Return the version of the extra `images`, or that it is not there."""
    try:
        return version("pillow")
    except PackageNotFoundError:
        return "not installed"


def _advice(root: Path, has_gpu: bool) -> list[str]:
    advice = []
    if "SFA_DATA" not in os.environ:
        advice.append(
            "Data sets that are not bundled are downloaded when used. With no network, copy them in PyTorch "
            "Geometric's layout, CIFAR's as its archive has it and ImageNet as a folder for each class, below one "
            f"folder (now {root}) and name it by SFA_DATA or --data-root."
        )
    if not has_gpu:
        advice.append("No GPU is visible to PyTorch: training runs on the CPU.")
    if find_spec("PIL") is None:
        advice.append("Folders of images need Pillow: pip install 'sfa[images]'.")
    if find_spec("pymetis") is None:
        advice.append("The sampler `clusters` needs METIS: pip install 'sfa[large]'.")
    return advice
