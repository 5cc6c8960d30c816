"""Files and folders of images -> the one container of image sets. The door, as `read_graph` is for graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch_geometric.data import Data

from sfa.data.readers.graph_file import SUFFIXES as GRAPH_SUFFIXES
from sfa.data.readers.graph_file import PathLike, existing
from sfa.data.readers.image_arrays import holds_image_arrays, read_image_arrays
from sfa.data.readers.image_file import OTHER_SUFFIXES, SUFFIXES
from sfa.data.readers.image_folder import LABELS, is_image_folder, read_image_folder
from sfa.data.readers.image_paths import first_image
from sfa.data.readers.image_pixels import OnImage
from sfa.errors import InputError


def holds_images(path: PathLike) -> bool:
    """Whether there is a folder of images, or a file of arrays that are images."""
    full = Path(path).expanduser()
    try:
        return is_image_folder(full) if full.is_dir() else full.is_file() and holds_image_arrays(full)
    except OSError:
        return False  # whoever reads it as a graph says what is wrong with it


def read_images(
    path: PathLike,
    *,
    labels: PathLike | None = None,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    on_image: OnImage | None = None,
) -> Data:
    """The images of a folder (see `sfa.data.readers.image_folder`), or of a `.npz` or `.npy` (see `image_arrays`).

    Args:
        path: the folder or file.
        labels: a table (id, label); it replaces the class folders of a folder, and an array file has no labels then.
        image_size: how many pixels high and wide the images of a folder are to be.
        skip_corrupt: whether files of a folder that cannot be decoded are left out.
        on_image: see `read_image_folder`.
    """
    full = existing(path, "image", or_folder=True)
    if full.is_dir():
        return read_image_folder(
            full, image_size=image_size, skip_corrupt=skip_corrupt, labels=labels, on_image=on_image
        )
    refuse_lone_images(full)
    refuse_folder_options(full, image_size, skip_corrupt)
    return read_image_arrays(full, labels=labels)


def refuse_lone_images(path: Path) -> None:
    """Raises if there are images which make no set: one file alone, or a folder of kinds that are not read."""
    allowed = f"allowed are {', '.join(SUFFIXES)}"
    suffix = path.suffix.lower()
    if path.is_dir():
        seen = None if _has_graphs(path) else first_image(path, OTHER_SUFFIXES)
        if seen is not None:
            raise InputError(
                f"The folder {path} has no images in it that can be read: {allowed}, and {seen.name} is none of these."
            )
    elif suffix in SUFFIXES:
        raise InputError(f"{path} is one image, and one image is no set: give its folder, {path.parent}.")
    elif suffix in OTHER_SUFFIXES:
        raise InputError(f"{path} is an image of a kind that is not read: {allowed}, in a folder.")


def refuse_folder_options(data: object, image_size: int | None, skip_corrupt: bool) -> None:
    """Raises if something is said that only a folder of images has use for."""
    given = {"image_size": image_size is not None, "skip_corrupt": skip_corrupt}
    if any(given.values()):
        raise InputError(f"{data} is no folder of images, so leave out {options(given)}.")


def options(given: Mapping[str, bool]) -> str:
    """Those options that were given, as they are called in Python and on the command line.

    >>> options({"image_size": True, "skip_corrupt": False})
    'image_size= (--image-size)'
    """
    names = [name for name, is_given in given.items() if is_given]
    in_python = " and ".join(f"{name}=" for name in names)
    return f"{in_python} ({', '.join('--' + name.replace('_', '-') for name in names)})"


def _has_graphs(folder: Path) -> bool:
    try:
        return any(one.suffix.lower() in GRAPH_SUFFIXES and one.name != LABELS for one in folder.iterdir())
    except OSError:
        return True  # whoever reads it as graphs says what is wrong with it
