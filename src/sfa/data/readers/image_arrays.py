"""Read files of arrays that hold images: `.npz`, and `.npy`, which is mapped if it is large.

images     `x` [n, height, width] or [n, height, width, channels], uint8
optional   `y` or `labels` [n], `classes` or `class_names` [C], `ids` [n], `train_mask` and `test_mask` [n],
           and beside these `val_mask` [n]

A `.npz` may also have its two parts apart: `x_train` and `x_test`, with `y_train` and `y_test` if there are labels. The
images of the training part then come first. A `.npy` has the images alone.
"""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data

from sfa.data.downloads import existing, explain_damage
from sfa.data.images import build_images
from sfa.data.labels import MASKS, check_ids
from sfa.data.readers.graph_formats import check_keys, read_arrays
from sfa.data.readers.tables import read_labels
from sfa.errors import InputError
from sfa.folders import PathLike

ARGUMENTS = {"labels": "y", "ids": "image_ids", "classes": "class_names"}
PARTS = ("x_train", "x_test", "y_train", "y_test")
KEYS = {"x", "y", "class_names", *ARGUMENTS, *MASKS, *PARTS}
SAME = (
    *(("y", "labels"), ("classes", "class_names"), ("x", "x_train"), ("y", "y_train"), ("labels", "y_train")),
    *((mask, "x_train") for mask in MASKS),
)


def holds_image_arrays(path: Path) -> bool:
    """Tell whether the file is a `.npy`, or a `.npz` of images and not of a graph; of that, no array is read."""
    if path.suffix.lower() != ".npz":
        return path.suffix.lower() == ".npy"
    try:
        with zipfile.ZipFile(path) as archive:
            keys = {name.removesuffix(".npy") for name in archive.namelist()}
            if not keys.isdisjoint(("edge_index", "adj_data", "ptr")):
                return False
            if "x" not in keys:
                return "x_train" in keys
            with archive.open("x.npy") as file:
                version = np.lib.format.read_magic(file)
                header = (
                    np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                )
                return len(header(file)[0]) > 2
    except Exception:
        return False  # whoever reads it as a graph says what is wrong with it


def read_image_arrays(path: Path, *, labels: PathLike | None = None, name: str | None = None) -> Data:
    """Read the images of a `.npz` or `.npy`; `labels` is a table (id, label) for a file that has none."""
    with explain_damage(path):
        arrays = _read_npy(path) if path.suffix.lower() == ".npy" else _read_npz(path)
    if labels is not None:
        if "y" in arrays:
            raise InputError(f"Labels are given twice: {path} has its own, so leave out labels= (--labels).")
        ids = check_ids(arrays.get("image_ids"), len(arrays["x"]), "image")
        arrays["y"] = read_labels(existing(labels, "label"), ids, "image")
    return build_images(**arrays, name=name or path.stem)


def _read_npy(path: Path) -> dict[str, Any]:
    """Return a map of the file, which `build_images` reads if it is small."""
    mapped = np.lib.format.open_memmap(path, mode="r")
    if mapped.ndim not in (3, 4):
        raise InputError(
            f"{path} has an array of shape {list(mapped.shape)}, but images are [images, height, width, channels]; "
            "features of a graph are given beside its file, with features=FILE (--features FILE)."
        )
    return {"x": mapped}


def _read_npz(path: Path) -> dict[str, Any]:
    """Return the arguments of `build_images` that the file has."""
    arrays = read_arrays(path)
    check_keys(arrays, path, KEYS, SAME)
    given = {ARGUMENTS.get(key, key): array for key, array in arrays.items() if key in KEYS and key not in PARTS}
    if "x_train" not in arrays:
        return given
    has_labels = "y_train" in arrays or "y_test" in arrays
    missing = next((key for key in PARTS[: 4 if has_labels else 2] if key not in arrays), None)
    if missing is not None:
        raise InputError(
            f"{path} has x_train and no {missing}; images in two parts are x_train and x_test, and their labels "
            "y_train and y_test."
        )
    train, test = arrays.pop("x_train"), arrays.pop("x_test")
    if train.shape[1:] != test.shape[1:] or train.dtype != test.dtype:
        raise InputError(
            f"{path} has x_train of shape {list(train.shape)} ({train.dtype}) and x_test of shape {list(test.shape)} "
            f"({test.dtype}), which must be alike but for the number of images."
        )
    in_training = np.arange(len(train) + len(test)) < len(train)
    if has_labels:
        for key, part in (("y_train", train), ("y_test", test)):
            if len(arrays[key]) != len(part):
                raise InputError(f"{path} has {len(arrays[key])} labels in {key} for {len(part)} images.")
        given["y"] = np.concatenate([arrays["y_train"].ravel(), arrays["y_test"].ravel()])
    return given | {"x": np.concatenate([train, test]), "train_mask": in_training, "test_mask": ~in_training}
