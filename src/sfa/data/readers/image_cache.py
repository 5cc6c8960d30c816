"""The decoded pixels of a large image set, in a file in the cache: written once, mapped then and later."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np

from sfa.data.downloads import cache_folder, processed
from sfa.data.readers.graph_file import reading
from sfa.data.readers.image_file import Pixels
from sfa.data.readers.image_paths import ImagePaths
from sfa.errors import InputError

LeftOut = dict[str, str]
"""By the ids of images, why they are."""


def in_cache(
    paths: ImagePaths,
    shape: tuple[int, ...],
    hand_over: Callable[[Callable[[Pixels], object]], LeftOut],
    key: str,
) -> tuple[Pixels, LeftOut]:
    """A map of the pixels of images, and the images left out; made if the cache has none of these files.

    Args:
        paths: the images.
        shape: of all their pixels, if none is left out.
        hand_over: decodes them, gives each to what it is called with, in order, and comes back with those left out.
        key: what else decides the pixels.
    """
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

    with _one_process_at_a_time(paths.folder):
        folder = processed("images", (), f"{key}, {_fingerprint(paths)}", make)
    x = reading(folder / "images.npy", functools.partial(np.lib.format.open_memmap, mode="r"))
    return x, reading(folder / "left_out.json", lambda path: json.loads(path.read_text(encoding="utf-8")))


def _fingerprint(paths: ImagePaths) -> str:
    """Of the folder's place, and the names, sizes and times of its images.

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
    """A `.npy` file's, which NumPy fills up so that it is as long for any number of rows."""
    np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})


@contextmanager
def _one_process_at_a_time(folder: Path) -> Iterator[None]:
    """Of the processes of a machine one decodes a folder, and the others wait and find it done (torchrun)."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(ImportError, OSError):  # where nothing can be locked, each decodes for itself
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _no_room(num_bytes: int, reason: str) -> InputError:
    return InputError(
        f"The decoded images take {num_bytes / 1e9:.1f} GB, for which there is no room in the cache folder "
        f"{cache_folder()} ({reason}): give a smaller --image-size (image_size), or set XDG_CACHE_HOME to a folder on "
        "a disk with more room."
    )
