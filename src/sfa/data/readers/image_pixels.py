"""Decode the files of an image set in threads into one array; a large one is kept in the cache and mapped."""

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
from typing import TypeVar

import numpy as np

from sfa.data.arrays import is_large
from sfa.data.downloads import explain_damage, processed
from sfa.data.readers.image_file import CorruptImage, Pixels, read_image, read_size
from sfa.errors import InputError
from sfa.folders import cache_folder

OnImage = Callable[[int, int], None]
T = TypeVar("T")

# Of what is kept in the cache; to be raised when the same files come to give other pixels.
VERSION = 2
THREADS = min(16, os.cpu_count() or 1)


class ImageDecoder:
    """Decode the images of a folder in order; `left_out` tells, by their ids, why some cannot be read."""

    def __init__(
        self, folder: Path, ids: list[str], *, image_size: int | None, skip_corrupt: bool, on_image: OnImage | None
    ) -> None:
        self.folder, self.ids = folder, ids
        self.image_size, self.skip_corrupt = image_size, skip_corrupt
        self.on_image = on_image or (lambda done, count: None)
        self.left_out: dict[str, str] = {}

    def decode(self) -> tuple[Pixels, bool]:
        """Return the pixels [m, height, width, 3] of the images that can be read, and whether they lie on disk."""
        with warnings.catch_warnings():  # Pillow's are about metadata; this holds for the threads as well
            warnings.simplefilter("ignore")
            if self.image_size is None:
                self.size = next((size for _, size in self._each(read_size)), (0, 0))
            else:
                self.size = (self.image_size, self.image_size)
            shape = (len(self.ids), *self.size, 3)
            mapped = is_large(math.prod(shape))
            if mapped:
                x = self._decode_in_cache(shape)
            else:
                x = np.empty(shape, dtype=np.uint8)
                for row, image in enumerate(self._images()):
                    x[row] = image
                x = x[: len(x) - len(self.left_out)]
        for one, reason in self.left_out.items():
            if not self.skip_corrupt:  # the cache was made without minding them
                raise CorruptImage(self.folder / one, reason)
            if len(x) == 0:
                raise InputError(
                    f"None of the {len(self.ids)} images in {self.folder} can be read, the first ({one}) because of "
                    f"this: {reason}."
                )
        return x, mapped

    def _images(self) -> Iterator[Pixels]:
        """Decode the images that can be read, in order."""
        first = ""  # all headers are read first: a file of another size is told of before the long work
        for one, size in self._each(read_size):
            first = first or one
            if self.image_size is None and size != self.size:
                raise InputError(
                    f"The images in {self.folder} have different sizes: {first} is {self.size[0]} × {self.size[1]} "
                    f"pixels (height × width), and {one} is {size[0]} × {size[1]}; give a size to which all are "
                    "brought, for instance --image-size 64 (image_size=64)."
                )

        def read(path: Path) -> Pixels:
            image = read_image(path, image_size=self.image_size)
            if image.shape[:2] != self.size:
                raise CorruptImage(path, "its size is not the one in its header")
            return image

        for done, (_, image) in enumerate(self._each(read), start=1):
            yield image
            self.on_image(done + len(self.left_out), len(self.ids))

    def _each(self, read: Callable[[Path], T]) -> Iterator[tuple[str, T]]:
        """Read each image in threads, a few ahead, and yield it with its id; a corrupt one is an error, or left out."""
        self.left_out.clear()
        ids = iter(self.ids)
        with ThreadPoolExecutor(THREADS) as pool:
            ahead = deque((one, pool.submit(read, self.folder / one)) for one in islice(ids, 2 * THREADS))
            while ahead:
                one, future = ahead.popleft()
                try:
                    result = future.result()
                except CorruptImage as error:
                    if not self.skip_corrupt:
                        raise
                    self.left_out[one] = error.reason
                else:
                    yield one, result
                ahead.extend((following, pool.submit(read, self.folder / following)) for following in islice(ids, 1))

    def _decode_in_cache(self, shape: tuple[int, ...]) -> Pixels:
        """Return a map of the pixels in the cache, which are decoded if it has none of these files."""

        def make(folder: Path) -> None:
            try:
                if shutil.disk_usage(folder).free < math.prod(shape):
                    raise OSError("it is too full")
                with (folder / "images.bin").open("wb") as file:
                    for image in self._images():
                        file.write(image.data)
                (folder / "left_out.json").write_text(json.dumps(self.left_out), encoding="utf-8")
            except OSError as error:
                raise InputError(
                    f"The decoded images take {math.prod(shape) / 1e9:.1f} GB, for which there is no room in the cache "
                    f"folder {cache_folder()} ({error.strerror or error}): give a smaller --image-size (image_size) "
                    "or set XDG_CACHE_HOME to a folder on a disk with more room."
                ) from error

        made = processed("images", self.folder, self.ids, f"images {VERSION}, size {self.image_size}", make)
        with explain_damage(made / "images.bin"):
            self.left_out = json.loads((made / "left_out.json").read_text(encoding="utf-8"))
            shape = (shape[0] - len(self.left_out), *shape[1:])
            return np.memmap(made / "images.bin", np.uint8, "r", shape=shape) if shape[0] else np.empty(shape, np.uint8)
