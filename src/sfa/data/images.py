"""Build the one container of image sets, of arrays, tensors and lists of PIL images."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from sfa.data.arrays import is_large, is_map, tensor_over, to_numpy
from sfa.data.convert import check_task
from sfa.data.labels import MASKS, check_ids, set_labels, set_masks
from sfa.data.readers.image_file import to_rgb
from sfa.errors import InputError

ALLOWED = (
    "an array or tensor [images, height, width] or [images, height, width, channels] in uint8, a list of PIL images or "
    "of such arrays of one image each, the name or path of an image set, or an image set"
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
        image_ids: A name (str or int) for each image; 0..n-1 if not given.
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
    masks = {"train_mask": train_mask, "test_mask": test_mask, "val_mask": val_mask}
    masks = {key: to_numpy(mask) for key, mask in masks.items() if mask is not None}
    for key in ("train_mask", "test_mask", *masks) if masks else ():
        if key not in masks:
            raise InputError(f"There is no {key}; an image set has both train_mask and test_mask, or no masks.")
        if masks[key].shape != (count,) or not masks[key].any():
            raise InputError(
                f"{key} has shape {list(masks[key].shape)} and {np.count_nonzero(masks[key])} images in it, but with "
                f"{count} images it must be [{count}], with at least one in each part."
            )
    set_masks(data, masks, count, "image")
    return data


def as_images(X: Any, *, labels: bool = True) -> Data:
    """Return the image set in `X`, checked; see `build_images` for its form.

    - NumPy arrays (maps of files too) and torch tensors: uint8, [n, height, width] or [n, height, width, channels].
    - A list of PIL images, arrays or tensors, all of one size. If some are in color and some gray, these get three
      equal channels. Of PIL images, any kind is taken: those with transparency are laid on white.
    - A text or path: what `sfa.data.load` makes of it.
    - An image set, which comes back as it is.

    Labels that are not asked for are left behind: these may then be anything. The masks of a set stay, for they say
    what is to be learned from.
    """
    if isinstance(X, (str, os.PathLike)):
        from sfa.data.load import load  # which builds images by this module

        data, given = load(X), os.fspath(X)
    elif isinstance(X, Data):
        data, given = X, "This"
    elif isinstance(X, (np.ndarray, torch.Tensor)) and X.dtype != object:
        return build_images(X)
    elif isinstance(X, (Sequence, np.ndarray)) and not isinstance(X, bytes):
        return build_images(_stack(X))
    else:
        raise InputError(f"A {type(X).__name__} is no set of images; allowed is {ALLOWED}.")
    check_task(data, "image", given)
    keys = ("image_ids", *MASKS, "y", "class_names") if labels else ("image_ids", *MASKS)
    parts = {key: data.get(key) for key in keys}
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
