"""Decode the files of an image set in threads into one array; a large one is kept in the cache and mapped."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import shutil
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
from filelock import FileLock

from sfa.data.arrays import is_large
from sfa.data.downloads import cache_folder, processed, writable_cache
from sfa.data.readers.image_file import CorruptImage, Pixels, read_image, read_size
from sfa.data.readers.image_paths import ImagePaths
from sfa.data.readers.tables import reading
from sfa.errors import InputError

Size = tuple[int, int]
OnImage = Callable[[int, int], None]
LeftOut = dict[str, str]
"""Why images cannot be read, by their ids."""
HandOver = Callable[[Callable[[Pixels], object]], LeftOut]
T = TypeVar("T")

# Of what is kept in the cache; to be raised when the same files come to give other pixels.
VERSION = 1
THREADS = min(16, os.cpu_count() or 1)


def decode(
    paths: ImagePaths, *, image_size: int | None, skip_corrupt: bool, on_image: OnImage | None = None
) -> tuple[Pixels, LeftOut, bool]:
    """Decode images in the order of their paths; see `read_image_folder` for the options.

    What is large (see `sfa.data.arrays`) is written into the cache once, and is a map of that file then and later.

    Returns:
        The pixels [m, height, width, 3] of the images that can be read, why the others cannot, and whether the pixels
        lie on disk.
    """

    def hand_over(keep: Callable[[Pixels], object]) -> LeftOut:
        """Decode the images and hand each over, in order; return those left out.

        All headers are read first: a file that is no image, or of another size, is told of before the long work.
        """
        _check_sizes(paths, size if image_size is None else None, skip_corrupt)
        left_out = {}

        def read(path: Path) -> Pixels:
            image = read_image(path, image_size=image_size)
            if image.shape[:2] != size:
                raise CorruptImage(path, "its size is not the one in its header")
            return image

        for done, (one, image) in enumerate(_each(read, paths, skip_corrupt), start=1):
            if isinstance(image, CorruptImage):
                left_out[one] = image.reason
            else:
                keep(image)
            if on_image is not None:
                on_image(done, len(paths.ids))
        return left_out

    with warnings.catch_warnings():  # Pillow's are about metadata; this holds for the threads as well
        warnings.simplefilter("ignore")
        size = _first_size(paths, skip_corrupt) if image_size is None else (image_size, image_size)
        shape = (len(paths.ids), *size, 3)
        mapped = is_large(math.prod(shape))
        if mapped:
            x, left_out = _in_cache(paths, shape, hand_over, f"images {VERSION}, size {image_size}")
        else:
            x = np.empty(shape, dtype=np.uint8)
            rows = iter(x)
            left_out = hand_over(lambda image: np.copyto(next(rows), image))
            x = x[: len(x) - len(left_out)]
    if left_out and not skip_corrupt:  # the cache was made without minding them
        raise _corrupt(paths, *next(iter(left_out.items())))
    if len(left_out) == len(paths.ids):
        raise _none_readable(paths, next(iter(left_out.values())))
    return x, left_out, mapped


def _in_cache(paths: ImagePaths, shape: tuple[int, ...], hand_over: HandOver, key: str) -> tuple[Pixels, LeftOut]:
    """Return a map of the pixels, made if the cache has none of these files; `key` says what else decides them."""
    num_bytes = math.prod(shape)

    def make(folder: Path) -> None:
        if shutil.disk_usage(folder).free < num_bytes:
            raise _no_room(num_bytes, "it is too full")
        try:
            with (folder / "images.npy").open("wb") as file:
                _write_header(file, shape)
                left_out = hand_over(lambda image: file.write(image.data))
                file.seek(0)
                _write_header(file, (shape[0] - len(left_out), *shape[1:]))
            (folder / "left_out.json").write_text(json.dumps(left_out), encoding="utf-8")
        except OSError as error:
            raise _no_room(num_bytes, error.strerror or str(error)) from error

    files = _fingerprint(paths)
    # Of the processes of a machine one decodes a folder, and the others wait and find it done (torchrun).
    with FileLock(writable_cache() / f"images-{files[:16]}.lock"):
        folder = processed("images", (), f"{key}, {files}", make)
    x = reading(folder / "images.npy", functools.partial(np.lib.format.open_memmap, mode="r"))
    return x, reading(folder / "left_out.json", lambda path: json.loads(path.read_text(encoding="utf-8")))


def _fingerprint(paths: ImagePaths) -> str:
    """Hash the folder's place, and the names, sizes and times of its images.

    `processed` would find out the place of each, which takes longer than all else once they are decoded.
    """
    digest = hashlib.sha256(repr(str(paths.folder.resolve())).encode())
    for one in paths.ids:
        try:
            status = os.stat(os.path.join(paths.folder, one))
        except OSError as error:
            raise InputError(f"{paths.folder / one} cannot be read: {error.strerror or error}.") from error
        digest.update(repr((one, status.st_size, status.st_mtime_ns)).encode())
    return digest.hexdigest()


def _write_header(file: IO[bytes], shape: tuple[int, ...]) -> None:
    """Write the header of a `.npy` file, which NumPy fills up so that it is as long for any number of rows."""
    np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})


def _first_size(paths: ImagePaths, skip_corrupt: bool) -> Size:
    reason = ""
    for one in paths.ids:
        try:
            return read_size(paths.folder / one)
        except CorruptImage as error:
            if not skip_corrupt:
                raise _corrupt(paths, one, error.reason) from error
            reason = reason or error.reason
    raise _none_readable(paths, reason)


def _check_sizes(paths: ImagePaths, wanted: Size | None, skip_corrupt: bool) -> None:
    """Read all headers, and raise unless the images have one size; any will do if they are brought to one."""
    first = ""
    for one, size in _each(read_size, paths, skip_corrupt):
        if wanted is None or isinstance(size, CorruptImage):
            continue
        first = first or one
        if size != wanted:
            raise InputError(
                f"The images in {paths.folder} have different sizes: {first} is {wanted[0]} × {wanted[1]} pixels "
                f"(height × width), and {one} is {size[0]} × {size[1]}; give a size to which all are brought, for "
                "instance --image-size 64 (image_size=64)."
            )


def _each(read: Callable[[Path], T], paths: ImagePaths, skip_corrupt: bool) -> Iterator[tuple[str, T | CorruptImage]]:
    """Read each image in threads, and return it with its id, or the error if it is corrupt and such are left out.

    The threads are only a few images ahead. Pillow lets go of Python's lock while it decodes.
    """

    def attempt(one: str) -> T | CorruptImage:
        try:
            return read(paths.folder / one)
        except CorruptImage as error:
            return error

    ids = iter(paths.ids)
    with ThreadPoolExecutor(THREADS) as pool:
        ahead = deque((one, pool.submit(attempt, one)) for one in islice(ids, 2 * THREADS))
        while ahead:
            one, future = ahead.popleft()
            result = future.result()
            ahead.extend((following, pool.submit(attempt, following)) for following in islice(ids, 1))
            if isinstance(result, CorruptImage) and not skip_corrupt:
                raise _corrupt(paths, one, result.reason)
            yield one, result


def _corrupt(paths: ImagePaths, one: str, reason: str) -> InputError:
    return InputError(
        f"{paths.folder / one} cannot be read as an image: {reason}; --skip-corrupt (skip_corrupt=True) leaves such "
        "images out."
    )


def _none_readable(paths: ImagePaths, reason: str) -> InputError:
    return InputError(
        f"None of the {len(paths.ids)} images in {paths.folder} can be read, the first ({paths.ids[0]}) because of "
        f"this: {reason}."
    )


def _no_room(num_bytes: int, reason: str) -> InputError:
    return InputError(
        f"The decoded images take {num_bytes / 1e9:.1f} GB, for which there is no room in the cache folder "
        f"{cache_folder()} ({reason}): give a smaller --image-size (image_size), or set XDG_CACHE_HOME to a folder on "
        "a disk with more room."
    )
