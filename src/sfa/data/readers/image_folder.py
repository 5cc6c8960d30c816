"""A folder of images -> an image set."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.images import build_images
from sfa.data.readers.graph_file import PathLike, existing, reading
from sfa.data.readers.image_file import check_image_size
from sfa.data.readers.image_paths import TEST, ImagePaths, find_images, has_images
from sfa.data.readers.image_pixels import OnImage, decode
from sfa.data.readers.join import read_labels
from sfa.errors import InputError

LABELS = "labels.csv"
GRAPHS = (".npz", ".pt", ".gml", ".graphml")
SHOWN = 5


def is_image_folder(path: Path) -> bool:
    """Whether a path is a folder with images in it or below it, and no folder of graphs with some pictures beside."""
    if not path.is_dir():
        return False
    is_of_graphs = any(one.suffix.lower() in GRAPHS or ".features." in one.name for one in path.iterdir())
    return not is_of_graphs and has_images(path)


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
    """The images of a folder, in colour, in the order of their paths; an image is called by its path in the folder.

        by class            in parts                 flat
        my_images/          my_images/               my_images/
            cat/                train/                   0.png
                0.png               cat/0.png            1.png
                more/1.png          dog/1.jpg            labels.csv
            dog/                test/
                0.jpg               cat/2.png

    - Files ending in .png, .jpg, .jpeg, .bmp, .webp, .gif, .tif, .tiff, .ppm or .pgm are images. Others, and whatever
      is hidden, are left alone. The folders are never written to.
    - A class is a folder; how images lie in folders below it makes no difference. `labels.csv` beside flat images is a
      table (id, label) of them, `0.png,cat` (or `0,cat`, if no other image is called 0); one that it does not list is
      unlabelled. A file given as `labels` counts instead of either.
    - The part to test on is called `test`, `val`, `validation` or `valid`. Where there is `test` and one of the others,
      that other is the part to validate on. Images may lie flat in parts too.
    - All images have one size, or are brought to one: see `image_size`.

    Args:
        folder: where the images are.
        image_size: the shorter side is brought to so many pixels and the centre square is kept, of every image.
        skip_corrupt: images that cannot be read are left out (`left_out_remark`), where they are an error otherwise.
        labels: a table (id, label), ids as `train/cat/0.png`.
        classes: the class folders to read, and what the classes are to be called. All, by their folders' names, if not
            given.
        test: what the part to test on may be called.
        on_image: called after each image that is decoded with how many are done and how many there are.

    Returns:
        The image set, with `left_out`, the ids of images that could not be read, if there are such.
    """
    check_image_size(image_size)
    paths = find_images(folder, test=test, classes=classes)
    y, class_names = _labels(paths, labels, classes)
    decoded = decode(paths, image_size=image_size, skip_corrupt=skip_corrupt, on_image=on_image)
    kept = np.array([one not in decoded.left_out for one in paths.ids])
    data = build_images(
        decoded.x,
        y=None if y is None else y[kept],
        image_ids=[one for one in paths.ids if one not in decoded.left_out],
        class_names=class_names,
        train_mask=None if paths.train is None else paths.train[kept],
        test_mask=None if paths.test is None else paths.test[kept],
        val_mask=None if paths.validation is None else paths.validation[kept],
        name=folder.resolve().name or "images",
        mapped=decoded.mapped,
    )
    if decoded.left_out:
        data.left_out = list(decoded.left_out)
    return data


def left_out_remark(data: Data) -> str | None:
    """What is to be said aloud of images that could not be read; None if there are none.

    As in "2 of 120 images could not be read and were left out: a/x.png, b/y.png".
    """
    left_out: list[str] = data.get("left_out") or []
    if not left_out:
        return None
    total = len(data.image_ids) + len(left_out)
    names = ", ".join(left_out[:SHOWN]) + (", …" if len(left_out) > SHOWN else "")
    were = "was" if len(left_out) == 1 else "were"
    return f"{len(left_out)} of {total} images could not be read and {were} left out: {names}"


def _labels(
    paths: ImagePaths, given: PathLike | None, classes: Mapping[str, str] | None
) -> tuple[NDArray[Any] | None, list[str] | None]:
    """The label of each image and the names of the classes: of the table if there is one, else of the folders."""
    table = None if given is None else existing(given, "label")
    own = paths.folder / LABELS
    if table is None and paths.labels is not None and paths.classes is not None:
        if own.is_file():
            raise InputError(
                f"The folder {paths.folder} has class folders and a {LABELS} in it, and either would give the labels: "
                "remove one, or give --labels FILE (labels=FILE), which replaces the folders."
            )
        names = paths.classes if classes is None else [classes[name] for name in paths.classes]
        return paths.labels, names
    if table is None and own.is_file():
        table = own
    if table is None:
        return None, None
    return reading(table, functools.partial(read_labels, ids=paths.ids, item="image")), None
