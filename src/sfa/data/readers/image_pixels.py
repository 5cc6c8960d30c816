"""The files of an image set -> their pixels in one array, decoded in threads; large ones are kept in the cache."""

from __future__ import annotations

import math
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from sfa.data.arrays import is_large
from sfa.data.readers.image_cache import in_cache
from sfa.data.readers.image_file import CorruptImage, Pixels, read_image, read_size
from sfa.data.readers.image_paths import ImagePaths
from sfa.errors import InputError

Size = tuple[int, int]
OnImage = Callable[[int, int], None]
S = TypeVar("S")
T = TypeVar("T")

# Of what is kept in the cache; to be raised when the same files come to give other pixels.
VERSION = 1
THREADS = min(16, os.cpu_count() or 1)


@dataclass(frozen=True)
class Decoded:
    """The pixels [m, height, width, 3] of the images that can be read, and why (by id) the others cannot."""

    x: Pixels
    left_out: dict[str, str]
    mapped: bool


def decode(
    paths: ImagePaths, *, image_size: int | None, skip_corrupt: bool, on_image: OnImage | None = None
) -> Decoded:
    """The pixels of images in the order of their paths.

    What is large (see `sfa.data.arrays`) is written into the cache once, and is a map of that file then and later.

    Args:
        paths: the images.
        image_size: what `read_image` brings each to; None if they all have one size, which they keep.
        skip_corrupt: an image that cannot be decoded is left out, where it is an error otherwise.
        on_image: called after each image that is decoded with how many are done and how many there are.
    """
    with warnings.catch_warnings():  # Pillow's are about metadata; this holds for the threads as well
        warnings.simplefilter("ignore")
        size = _first_size(paths, skip_corrupt) if image_size is None else (image_size, image_size)
        work = _Work(paths, size, image_size, skip_corrupt, on_image)
        if is_large(math.prod(work.shape)):
            key = f"images {VERSION}, size {image_size}"
            decoded = Decoded(*in_cache(paths, work.shape, work.hand_over, key), mapped=True)
        else:
            decoded = _in_memory(work)
    if decoded.left_out and not skip_corrupt:  # the cache was made without minding them
        raise _corrupt(paths, *next(iter(decoded.left_out.items())))
    if len(decoded.left_out) == len(paths.ids):
        raise _none_readable(paths, next(iter(decoded.left_out.values())))
    return decoded


@dataclass(frozen=True)
class _Work:
    paths: ImagePaths
    size: Size
    image_size: int | None
    skip_corrupt: bool
    on_image: OnImage | None

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.paths.ids), *self.size, 3)

    def hand_over(self, keep: Callable[[Pixels], object]) -> dict[str, str]:
        """Decodes the images and hands each over, in order; comes back with those left out.

        All headers are read first: a file that is no image, or of another size, is told of before the long work.
        """
        first = ""
        for one, size in _each(read_size, self.paths, self.skip_corrupt):
            if self.image_size is not None or isinstance(size, CorruptImage):
                continue
            first = first or one
            if size != self.size:
                raise _different_sizes(self.paths.folder, {first: self.size, one: size})
        left_out = {}
        images = _each(self._read, self.paths, self.skip_corrupt)
        for done, (one, image) in enumerate(images, start=1):
            if isinstance(image, CorruptImage):
                left_out[one] = image.reason
            else:
                keep(image)
            if self.on_image is not None:
                self.on_image(done, len(self.paths.ids))
        return left_out

    def _read(self, path: Path) -> Pixels:
        image = read_image(path, image_size=self.image_size)
        if image.shape[:2] != self.size:
            raise CorruptImage(path, "its size is not the one in its header")
        return image


def _in_memory(work: _Work) -> Decoded:
    x = np.empty(work.shape, dtype=np.uint8)
    place = iter(x)

    def keep(image: Pixels) -> None:
        next(place)[:] = image

    left_out = work.hand_over(keep)
    return Decoded(x[: len(x) - len(left_out)], left_out, mapped=False)


def _first_size(paths: ImagePaths, skip_corrupt: bool) -> Size:
    """The size of the first image that can be read."""
    reason = ""
    for one in paths.ids:
        try:
            return read_size(paths.folder / one)
        except CorruptImage as error:
            if not skip_corrupt:
                raise _corrupt(paths, one, error.reason) from error
            reason = reason or error.reason
    raise _none_readable(paths, reason)


def _each(read: Callable[[Path], T], paths: ImagePaths, skip_corrupt: bool) -> Iterator[tuple[str, T | CorruptImage]]:
    """What is read of each image, with its id; in place of that the error, if it is corrupt and such are left out."""

    def attempt(one: str) -> T | CorruptImage:
        try:
            return read(paths.folder / one)
        except CorruptImage as error:
            return error

    for one, result in zip(paths.ids, _in_order(attempt, paths.ids), strict=True):
        if isinstance(result, CorruptImage) and not skip_corrupt:
            raise _corrupt(paths, one, result.reason)
        yield one, result


def _in_order(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """The function's results in the order of the items, from threads that are only a few items ahead.

    Pillow lets go of Python's lock while it decodes.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        ahead: deque[Future[T]] = deque()
        try:
            for item in items:
                ahead.append(pool.submit(function, item))
                if len(ahead) > 2 * THREADS:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


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


def _different_sizes(folder: Path, sizes: dict[str, Size]) -> InputError:
    first, second = (f"{one} is {height} × {width}" for one, (height, width) in sizes.items())
    return InputError(
        f"The images in {folder} have different sizes: {first} pixels (height × width), and {second}; give a size to "
        "which all are brought, for instance --image-size 64 (image_size=64)."
    )
