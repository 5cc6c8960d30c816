"""Images in memory (arrays, tensors, lists of PIL images), or the name or path of some -> an image set."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.datasets import load
from sfa.data.files.image_file import in_colour
from sfa.data.image_set import build_images, check_bytes
from sfa.errors import InputError
from sfa.levels import level_of

ALLOWED = (
    "an array or tensor [images, height, width] or [images, height, width, channels] in uint8, a list of PIL images or "
    "of such arrays of one image each, the name or path of an image set, or an image set"
)


def as_images(X: Any, *, labels: bool = True) -> Data:
    """The image set in `X`, checked; see `build_images` for its form.

    - NumPy arrays (maps of files too) and torch tensors: uint8, [n, height, width] or [n, height, width, channels].
    - A list of PIL images, arrays or tensors, all of one size. If some are in colour and some grey, these get three
      equal channels. Of PIL images, any kind is taken: those with transparency are laid on white.
    - A text or path: what `sfa.data.load` makes of it.
    - An image set, which comes back as it is.

    Labels that are not asked for are left behind: these may then be anything. The parts of a set (`train_mask`,
    `test_mask`, `val_mask`) stay, for they say what is to be learnt from.
    """
    if isinstance(X, (str, os.PathLike)):
        return _from_set(load(X), labels, f"{os.fspath(X)} is")
    if isinstance(X, Data):
        return _from_set(X, labels, "This is")
    if isinstance(X, (np.ndarray, torch.Tensor)) and X.dtype != object:
        return build_images(X)
    if isinstance(X, (Sequence, np.ndarray)) and not isinstance(X, bytes):
        return build_images(_stacked(list(X)))
    if _is_pil(X):
        raise InputError("This is one PIL image, and a set of them is needed: give a list, [image].")
    raise InputError(f"A {type(X).__name__} is no set of images; allowed is {ALLOWED}.")


def _from_set(data: Data, labels: bool, given: str) -> Data:
    level = level_of(data)
    if level != "image":
        what, embedder = ("a set of graphs", "Graph") if level == "graph" else ("one graph", "Node")
        raise InputError(f"{given} {what}, and images are needed; {embedder}Embedder embeds it.")
    return build_images(
        data.x,
        y=data.y if labels else None,
        image_ids=data.get("image_ids"),
        class_names=data.get("class_names") if labels else None,
        train_mask=data.get("train_mask"),
        test_mask=data.get("test_mask"),
        val_mask=data.get("val_mask"),
        name=data.get("name") or "images",
        mapped=data.get("mapped_features") is True,
    )


def _stacked(images: list[Any]) -> NDArray[Any]:
    """The images of a list one after the other [n, height, width, channels]."""
    if not images:
        raise InputError("There is no image in the list; at least one is needed.")
    arrays = [_one_image(number, image) for number, image in enumerate(images)]
    shapes = dict.fromkeys(array.shape for array in arrays)
    if len({shape[:2] for shape in shapes}) > 1 or not (len(shapes) == 1 or {shape[2] for shape in shapes} == {1, 3}):
        sizes = " and ".join(" × ".join(map(str, shape)) for shape in list(shapes)[:2])
        raise InputError(
            f"The images of the list are of {len(shapes)} sizes (height × width × channels), among them {sizes}; make "
            "them one size first, for instance with PIL's Image.resize."
        )
    channels = max(shape[2] for shape in shapes)
    return np.stack([np.broadcast_to(array, (*array.shape[:2], channels)) for array in arrays])


def _one_image(number: int, image: Any) -> NDArray[Any]:
    """One image [height, width, channels], a grey one as such with one channel."""
    array = _pil_pixels(number, image) if _is_pil(image) else to_numpy(image)
    if array.ndim not in (2, 3):
        raise InputError(
            f"Item {number} of the list is a {type(image).__name__} of shape {list(array.shape)}, which is not one "
            f"image; allowed is {ALLOWED}."
        )
    check_bytes(array.dtype)
    return array[..., None] if array.ndim == 2 else array


def _pil_pixels(number: int, image: Any) -> NDArray[np.uint8]:
    is_grey = image.mode in ("1", "L") and not image.has_transparency_data
    try:  # one that was only opened is decoded here, and may be cut short
        return np.asarray(image.convert("L") if is_grey else in_colour(image))
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(f"Item {number} of the list cannot be read as an image: {error}.") from error


def _is_pil(image: Any) -> bool:
    # A PIL image can only exist once PIL is imported, so this never pays for the import.
    pil = sys.modules.get("PIL.Image")
    return pil is not None and isinstance(image, pil.Image)
