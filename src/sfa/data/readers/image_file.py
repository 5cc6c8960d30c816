"""Decode image files by Pillow: red, green and blue in bytes, upright, whatever the files hold."""

from __future__ import annotations

import json
import math
import os
import shutil
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfa.data.arrays import is_large
from sfa.data.downloads import explain_damage, processed
from sfa.errors import InputError
from sfa.folders import cache_folder, require_regular_file

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
# No other format is tried, whatever a file is called: some that Pillow knows start other programs (EPS).
FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF", "PPM")
# A small file can be made to unfold into more than the memory holds.
MAX_PIXELS = 1 << 27
# Of what is kept in the cache; to be raised when the same files come to give other pixels.
VERSION = 2
THREADS = min(16, os.cpu_count() or 1)

Pixels = NDArray[np.uint8]
OnImage = Callable[[int, int], None]
T = TypeVar("T")


class CorruptImage(InputError):
    """A file that should be an image and cannot be decoded; `reason` says why, in a clause."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} cannot be read as an image: {reason}; --skip-corrupt (skip_corrupt=True) leaves such images out."
        )
        self.reason = reason


def read_size(path: Path) -> tuple[int, int]:
    """Return height and width of the upright image, from the file's header alone."""
    with _opened(path) as image:
        width, height = image.size
        orientation: int | None = None
        if image.format != "TIFF":  # which Pillow turns upright by itself
            with suppress(Exception):  # metadata are often damaged where the image is not
                # Not `image.getexif`: that of a PNG decodes the image to look for more behind it.
                orientation = _pillow().Image.getexif(image).get(0x0112)
        return (width, height) if orientation in (5, 6, 7, 8) else (height, width)


def read_image(path: Path, *, image_size: int | None = None) -> Pixels:
    """Return the pixels [height, width, 3] of an image file, in colors of `to_rgb`.

    EXIF's orientation is applied, and of several frames the first is taken. With `image_size` the shorter side is
    brought to so many pixels (bicubic, antialiased) and the center square kept.
    """
    with _opened(path) as image:
        from PIL import ImageOps

        image.load()  # all of it, so that one cut short is found out
        with suppress(Exception):  # damaged metadata
            ImageOps.exif_transpose(image, in_place=True)
        colors = to_rgb(image)
        return np.array(colors if image_size is None else _center(colors, image_size), dtype=np.uint8)


def to_rgb(image: Image) -> Image:
    """Return a PIL image of any mode as RGB; a ValueError says, in a clause, why one cannot be that.

    Gray becomes three equal channels, 16 bits become 8 (65535 is white), palettes and CMYK become colors, and what is
    transparent is laid on white.
    """
    if image.mode == "F":
        raise ValueError("its pixels are floating-point numbers, which have no agreed white; save it with 8 or 16 bits")
    if image.mode.startswith("I"):  # `I;16`, or `I` depending on format and version, which Pillow would cut off at 255
        values = np.array(image, dtype=np.int64)
        if values.min() < 0 or values.max() > 65535:
            raise ValueError("its pixels are integers beyond 16 bits, which have no agreed white; save it with 8 or 16")
        gray = ((values + 128) // 257).astype(np.uint8)
        gray[values == image.info.get("transparency", -1)] = 255
        image = _pillow().fromarray(gray)
    if image.has_transparency_data:
        white = _pillow().new("RGBA", image.size, "white")
        image = _pillow().alpha_composite(white, image.convert("RGBA"))
    return image.convert("RGB")


@contextmanager
def _opened(path: Path) -> Iterator[ImageFile]:
    """Open an image and read its header; whatever its decoder or the system raises becomes one sentence."""
    pil = _pillow()
    too_many = f"it has more than the {MAX_PIXELS} pixels that are allowed"
    try:
        if path.exists() and not path.is_dir():
            require_regular_file(path)  # a pipe would be waited for
        with pil.open(path, formats=FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise CorruptImage(path, too_many)
            yield image
    except (InputError, MemoryError):
        raise
    except pil.DecompressionBombError as error:  # Pillow's own bound
        raise CorruptImage(path, too_many) from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from error
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        if path.stat().st_size == 0:
            reason = "it is empty"
        elif isinstance(error, pil.UnidentifiedImageError):
            reason = "it is damaged, or of none of the formats " + ", ".join(FORMATS)
        raise CorruptImage(path, reason) from error


def _center(image: Image, side: int) -> Image:
    """Resize the largest square in the middle; an image with that shorter side is cut and not resampled."""
    width, height = image.size
    square = min(width, height)
    left, top = (width - square) // 2, (height - square) // 2
    return image.resize((side, side), _pillow().Resampling.BICUBIC, (left, top, left + square, top + square))


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError("Reading images needs the extra `images`: pip install 'sfa[images]'.") from error
    return Image


@dataclass
class ImageDecoder:
    """Decode the images of a folder in order; `left_out` tells, by their ids, why some cannot be read."""

    folder: Path
    ids: list[str]
    image_size: int | None
    skip_corrupt: bool
    on_image: OnImage | None
    left_out: dict[str, str] = field(default_factory=dict)
    size: tuple[int, int] = (0, 0)

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
            if self.on_image is not None:
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
