"""Files and folders of images -> the one container of image sets. The door, as `read_graph` is for graphs."""

from __future__ import annotations

from pathlib import Path

from torch_geometric.data import Data

from sfa.data.files.graph_file import PathLike, existing
from sfa.data.files.image_arrays import holds_image_arrays, read_image_arrays
from sfa.data.files.image_folder import is_image_folder, read_image_folder
from sfa.data.files.image_pixels import OnImage
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
    """The images of a folder (see `sfa.data.files.image_folder`), or of a `.npz` or `.npy` (see `image_arrays`).

    Args:
        path: the folder or file.
        labels: a table (id, label), where there are no labels yet.
        image_size: how many pixels high and wide the images of a folder are to be.
        skip_corrupt: whether files of a folder that cannot be decoded are left out.
        on_image: see `read_image_folder`.
    """
    full = existing(path, "image", or_folder=True)
    if full.is_dir():
        return read_image_folder(
            full, image_size=image_size, skip_corrupt=skip_corrupt, labels=labels, on_image=on_image
        )
    refuse_folder_options(full, image_size, skip_corrupt)
    return read_image_arrays(full, labels=labels)


def refuse_folder_options(data: object, image_size: int | None, skip_corrupt: bool) -> None:
    """Raises if something is said that only a folder of images has use for."""
    if image_size is not None or skip_corrupt:
        raise InputError(
            f"{data} is no folder of images, so leave out image_size= and skip_corrupt= (--image-size, --skip-corrupt)."
        )
