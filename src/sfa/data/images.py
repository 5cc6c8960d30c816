"""Build the one container of image sets, of arrays, tensors, lists of PIL images, and files of arrays."""

import os
import sys
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from sfa.data.arrays import check_keys, is_large, is_map, read_arrays, read_npy_header, tensor_over, to_numpy
from sfa.data.convert import check_task
from sfa.data.downloads import explain_damage
from sfa.data.labels import MASKS, check_ids, set_labels, set_masks
from sfa.data.readers.image_file import to_rgb
from sfa.data.readers.tables import read_labels
from sfa.errors import InputError
from sfa.folders import PathLike, existing

ALLOWED = (
    "an array or tensor [images, height, width] or [images, height, width, channels] in uint8, a list of PIL images or "
    "of such arrays of one image each, the name or path of an image set, or an image set"
)
# Of a `.npz` file: other names of arguments, the keys of images in two parts, all keys, and those that say the same.
ARGUMENTS = {"labels": "y", "ids": "image_ids", "classes": "class_names"}
PARTS = ("x_train", "x_test", "y_train", "y_test")
KEYS = {"x", "y", "class_names", *ARGUMENTS, *MASKS, *PARTS}
SAME = (
    *(("y", "labels"), ("classes", "class_names"), ("x", "x_train"), ("y", "y_train"), ("labels", "y_train")),
    *((mask, "x_train") for mask in MASKS),
)


def build_images(
    x: Any,
    *,
    y: Any = None,
    image_ids: Sequence[Any] | None = None,
    class_names: Sequence[str] | None = None,
    train_mask: Any = None,
    test_mask: Any = None,
    val_mask: Any = None,
    name: str = "images",
    mapped: bool = False,
) -> Data:
    """Build a checked set of images of one size; see `build_graph` for what is not said.

    Args:
        x: Images [n, height, width, channels], bytes (uint8), NumPy (a map of a file too) or torch; 1 channel (gray)
            or 3 (red, green, blue). Gray ones may come as [n, height, width].
        train_mask: The images [n], boolean, of the set's own part for training; no other is ever learned from.
        test_mask: Those of its own part for testing. A set has both parts or neither, and no image is in both.
        val_mask: Those of its own part to choose a classifier's settings on, if it has one beside the other two.

    Returns:
        Data with `x` uint8 [n, height, width, channels], contiguous, shared with what was given where possible;
        `image_ids`; `name`; and, only where there are any, `y` int64 (-1 unknown), `class_names` and the masks.
        `mapped_features` is there, and True, only if `x` lies on disk: read it by rows, and never write to it.
    """
    images, mapped = _check_images(x, mapped)
    count = len(images)
    data = Data(x=images, image_ids=check_ids(image_ids, count, "image"), name=str(name), task="image")
    if mapped:
        data.mapped_features = True
    set_labels(data, y, count, class_names, "image")
    given = {"train_mask": train_mask, "test_mask": test_mask, "val_mask": val_mask}
    masks = {key: to_numpy(mask) for key, mask in given.items() if mask is not None}
    missing = next((key for key in ("train_mask", "test_mask") if key not in masks), None)
    if masks and missing:
        raise InputError(f"There is no {missing}; an image set has both train_mask and test_mask, or no masks.")
    for key, mask in masks.items():
        if mask.shape != (count,) or not mask.any():
            raise InputError(
                f"{key} has shape {list(mask.shape)} and {np.count_nonzero(mask)} images in it, but with {count} "
                f"images it must be [{count}], with at least one in each part."
            )
    set_masks(data, masks, count, "image")
    return data


def as_images(X: Any, *, labels: bool = True, image_size: int | None = None, skip_corrupt: bool = False) -> Data:
    """Return the image set in `X`, checked; see `build_images` for its form.

    - NumPy arrays (maps of files too) and torch tensors: uint8, [n, height, width] or [n, height, width, channels].
    - A list of PIL images of any kind (see `to_rgb`), arrays or tensors, all of one size. If some are in color and some
      gray, these get three equal channels.
    - A text or path, as for `sfa.data.load`, with the options of folders, or an image set. Labels that are not asked
      for are left behind, whatever they are. The masks stay, for they say what is to be learned from.
    """
    if isinstance(X, (str, os.PathLike)):
        from sfa.data.load import load  # which builds images by this module

        data, given = load(X, image_size=image_size, skip_corrupt=skip_corrupt), os.fspath(X)
    elif isinstance(X, Data):
        data, given = X, "This"
    elif isinstance(X, (np.ndarray, torch.Tensor)) and X.dtype != object:
        return build_images(X)
    elif isinstance(X, (Sequence, np.ndarray)) and not isinstance(X, bytes):
        return build_images(_stack(X))
    else:
        raise InputError(f"A {type(X).__name__} is no set of images; allowed is {ALLOWED}.")
    check_task(data, "image", given)
    parts = {key: data.get(key) for key in ("image_ids", *MASKS, *(("y", "class_names") if labels else ()))}
    mapped = data.get("mapped_features") is True
    return build_images(data.x, **parts, name=data.get("name") or "images", mapped=mapped)


def _check_images(x: Any, mapped: bool) -> tuple[Tensor, bool]:
    """Return the images, and whether they lie on disk: a small map of a file is read, a large one stays a map."""
    is_mapped = mapped or (is_map(x) and is_large(x.nbytes))
    array = to_numpy(x)
    shape, hint = array.shape, ""
    if len(shape) == 3 and shape[2] in (1, 3, 4):
        hint = f", and this may be one image or gray ones {shape[2]} wide: give x[None] or x[..., None]"
    elif len(shape) == 4 and shape[3] not in (1, 3) and shape[1] in (1, 3):
        hint = ", channels last: give x.transpose(0, 2, 3, 1) of an array, or x.permute(0, 2, 3, 1) of a tensor"
    elif len(shape) == 4 and shape[3] == 4:
        hint = "; leave out alpha, the transparency, with x[..., :3]"
    if hint or len(shape) not in (3, 4) or 0 in shape or shape[3:] not in ((), (1,), (3,)):
        raise InputError(
            f"The images have shape {list(shape)}, but [images, height, width] or [images, height, width, channels] "
            f"with 1 or 3 channels is needed{hint}."
        )
    if array.dtype != np.uint8:
        scale = {"f": "(x * 255).round() if they go from 0 to 1, x.round() if they go from 0 to 255,", "b": "255 * x"}
        raise InputError(
            f"The images hold {array.dtype} values, but bytes (uint8, from 0 to 255) are needed: give "
            f"{scale.get(array.dtype.kind, 'x')} as uint8."
        )
    array = array[..., None] if array.ndim == 3 else array
    if is_mapped and not array.flags.c_contiguous:
        raise InputError("The images lie in a file in another order than one after the other: numpy.save them anew.")
    if is_map(x) and not is_mapped:
        array = np.array(array)
    return tensor_over(np.ascontiguousarray(array)), is_mapped


def _stack(images: Iterable[Any]) -> NDArray[Any]:
    """Return the images of a list one after the other [n, height, width, channels]; gray ones have one channel."""
    pil = sys.modules.get("PIL.Image")  # a PIL image can only exist once PIL is imported
    arrays = []
    for number, image in enumerate(images):
        if pil is not None and isinstance(image, pil.Image):
            is_gray = image.mode in ("1", "L") and not image.has_transparency_data
            try:  # one that was only opened is decoded here, and may be cut short
                array = np.asarray(image.convert("L") if is_gray else to_rgb(image))
            except (OSError, ValueError, SyntaxError) as error:
                raise InputError(f"Item {number} of the list cannot be read as an image: {error}.") from error
        else:
            array = to_numpy(image)
        if array.ndim not in (2, 3):
            raise InputError(
                f"Item {number} of the list is a {type(image).__name__} of shape {list(array.shape)}, which is not one "
                f"image; allowed is {ALLOWED}."
            )
        arrays.append(array[..., None] if array.ndim == 2 else array)
    shapes = dict.fromkeys(array.shape for array in arrays)
    if len({shape[:2] for shape in shapes}) != 1 or not (len(shapes) == 1 or {shape[2] for shape in shapes} == {1, 3}):
        sizes = " and ".join(" × ".join(map(str, shape)) for shape in list(shapes)[:2])
        raise InputError(
            f"The images of the list are of {len(shapes)} sizes (height × width × channels), {sizes or 'it is empty'}; "
            "give some, and make them one size first, for instance with PIL's Image.resize."
        )
    channels = max(shape[2] for shape in shapes)
    return np.stack([np.broadcast_to(array, (*array.shape[:2], channels)) for array in arrays])


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
                return len(read_npy_header(file)[0]) > 2
    except Exception:
        return False  # whoever reads it as a graph says what is wrong with it


def read_image_arrays(path: Path, *, labels: PathLike | None = None, name: str | None = None) -> Data:
    """Read the images of a `.npz` or `.npy`, which is mapped; `labels` is a table (id, label) for a file that has none.

    The keys of a `.npz` are the arguments of `build_images` (also called `labels`, `ids`, `classes`). It may have its
    two parts apart instead: `x_train` and `x_test`, with `y_train` and `y_test` if there are labels.
    """
    with explain_damage(path):
        is_npz = path.suffix.lower() != ".npy"
        arrays: dict[str, Any] = _read_npz(path) if is_npz else {"x": npy.open_memmap(path, mode="r")}
    if not is_npz and arrays["x"].ndim not in (3, 4):
        raise InputError(
            f"{path} has an array of shape {list(arrays['x'].shape)}, but images are [images, height, width, "
            "channels]; features of a graph are given beside its file, with features=FILE (--features FILE)."
        )
    if labels is not None:
        if "y" in arrays:
            raise InputError(f"Labels are given twice: {path} has its own, so leave out labels= (--labels).")
        ids = check_ids(arrays.get("image_ids"), len(arrays["x"]), "image")
        arrays["y"] = read_labels(existing(labels, "label"), ids, "image")
    return build_images(**arrays, name=name or path.stem)


def _read_npz(path: Path) -> dict[str, Any]:
    """Return the arguments of `build_images` that the file has."""
    arrays = read_arrays(path, KEYS)
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
