"""Read a folder of image files, or a file of image arrays, as an image set."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.downloads import PathLike
from sfa.data.images import build_images
from sfa.data.readers.graph import LABELS
from sfa.data.readers.graph import SUFFIXES as GRAPH_SUFFIXES
from sfa.data.readers.image_arrays import holds_image_arrays
from sfa.data.readers.image_file import OTHER_SUFFIXES, SUFFIXES, check_image_size
from sfa.data.readers.image_paths import TEST, ImagePaths, find_images, first_image
from sfa.data.readers.image_pixels import OnImage, decode
from sfa.data.readers.tables import existing, read_labels, reading
from sfa.errors import InputError

ONLY_GRAPHS = (".npz", ".pt", ".gml", ".graphml")
SHOWN = 5


def holds_images(path: PathLike) -> bool:
    """Tell whether there is a folder of images, or a file of arrays that are images."""
    full = Path(path).expanduser()
    try:
        return is_image_folder(full) if full.is_dir() else full.is_file() and holds_image_arrays(full)
    except OSError:
        return False  # whoever reads it as a graph says what is wrong with it


def is_image_folder(path: Path) -> bool:
    """Tell whether a path is a folder with images in or below it, and no folder of graphs with some pictures beside."""
    if not path.is_dir():
        return False
    is_of_graphs = any(one.suffix.lower() in ONLY_GRAPHS or ".features." in one.name for one in path.iterdir())
    return not is_of_graphs and first_image(path) is not None


def read_image_folder(
    folder: Path,
    *,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    labels: PathLike | None = None,
    classes: Mapping[str, str] | None = None,
    test: Sequence[str] = TEST,
    on_image: OnImage | None = None,
) -> Data:
    """Read the images of a folder, in color, in the order of their paths; an image is called by its path in the folder.

        by class            in parts                 flat
        my_images/          my_images/               my_images/
            cat/                train/                   0.png
                0.png               cat/0.png            1.png
                more/1.png          dog/1.jpg            labels.csv
            dog/                test/
                0.jpg               cat/2.png

    - Files with a suffix in `SUFFIXES` (.png, .jpg, …) are images. Others, and whatever is hidden, are left alone.
    - A class is a folder; how images lie in folders below it makes no difference. `labels.csv` beside flat images is a
      table (id, label) of them, `0.png,cat` (or `0,cat`, if no other image is called 0); one that it does not list is
      unlabeled. A file given as `labels` counts instead of either.
    - The part to test on is called `test`, `val`, `validation` or `valid`. Where there is `test` and one of the others,
      that other is the part to validate on. Images may lie flat in parts too.

    Args:
        folder: where the images are.
        image_size: the shorter side of every image is brought to so many pixels and the center square is kept; if not
            given, all images must have one size.
        skip_corrupt: images that cannot be read are left out (`left_out_remark`), where they are an error otherwise.
        labels: a table (id, label), ids as `train/cat/0.png`.
        classes: the class folders to read, and what the classes are called; all, by their folders' names, if not given.
        test: what the part to test on may be called.
        on_image: called after each image that is decoded with how many are done and how many there are.

    Returns:
        The image set, with `left_out`, the ids of images that could not be read, if there are such.
    """
    check_image_size(image_size)
    paths = find_images(folder, test=test, classes=classes)
    y, class_names = _find_labels(paths, labels, classes)
    x, left_out, mapped = decode(paths, image_size=image_size, skip_corrupt=skip_corrupt, on_image=on_image)
    kept = np.array([one not in left_out for one in paths.ids])
    data = build_images(
        x,
        y=None if y is None else y[kept],
        image_ids=[one for one in paths.ids if one not in left_out],
        class_names=class_names,
        name=folder.resolve().name or "images",
        mapped=mapped,
        **{name: mask[kept] for name, mask in paths.masks.items()},
    )
    if left_out:
        data.left_out = list(left_out)
    return data


def left_out_remark(data: Data) -> str | None:
    """Say which images could not be read; None if there are none.

    As in "2 of 120 images could not be read and were left out: a/x.png, b/y.png".
    """
    left_out: list[str] = data.get("left_out") or []
    if not left_out:
        return None
    total = len(data.image_ids) + len(left_out)
    names = ", ".join(left_out[:SHOWN]) + (", …" if len(left_out) > SHOWN else "")
    were = "was" if len(left_out) == 1 else "were"
    return f"{len(left_out)} of {total} images could not be read and {were} left out: {names}"


def refuse_lone_images(path: Path) -> None:
    """Raise if there are images which make no set: one file alone, or a folder of kinds that are not read."""
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


def refuse_options(because: str, hint: str = "", **given: object) -> None:
    """Raise if options are given for which there is no use.

    >>> refuse_options("This is no folder of images", image_size=8, skip_corrupt=False)
    Traceback (most recent call last):
    sfa.errors.InputError: This is no folder of images, so leave out image_size= (--image-size).
    """
    names = [name for name, value in given.items() if value is not None and value is not False]
    if names:
        in_python = " and ".join(f"{name}=" for name in names)
        options = ", ".join("--" + name.replace("_", "-") for name in names)
        raise InputError(f"{because}, so leave out {in_python} ({options}){hint}.")


def _find_labels(
    paths: ImagePaths, given: PathLike | None, classes: Mapping[str, str] | None
) -> tuple[NDArray[Any] | None, list[str] | None]:
    """Return the label of each image and the names of the classes: of the table if there is one, or of the folders."""
    table = None if given is None else existing(given, "label")
    own = paths.folder / LABELS
    if table is None and paths.labels is not None and paths.classes is not None:
        if own.is_file():
            raise InputError(
                f"The folder {paths.folder} has class folders and a {LABELS} in it, and either would give the labels: "
                "remove one, or give --labels FILE (labels=FILE), which replaces the folders."
            )
        return paths.labels, paths.classes if classes is None else [classes[name] for name in paths.classes]
    if table is None and not own.is_file():
        return None, None
    return reading(table or own, functools.partial(read_labels, ids=paths.ids, item="image")), None


def _has_graphs(folder: Path) -> bool:
    try:
        return any(one.suffix.lower() in GRAPH_SUFFIXES and one.name != LABELS for one in folder.iterdir())
    except OSError:
        return True  # whoever reads it as graphs says what is wrong with it
