"""Decode one image file by Pillow: red, green and blue in bytes, upright, whatever the file holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfa.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
# No other format is tried, whatever a file is called: some that Pillow knows start other programs (EPS).
FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF", "PPM")
# A small file can be made to unfold into more than the memory holds.
MAX_PIXELS = 1 << 27

Pixels = NDArray[np.uint8]


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
    """Return the pixels [height, width, 3] of an image file, all of it decoded, so that one cut short is found out.

    EXIF's orientation is applied, and of several frames the first is taken; for the colors see `to_rgb`.

    Args:
        path: A file in one of `FORMATS`, whatever its suffix.
        image_size: The shorter side is brought to so many pixels (bicubic, antialiased) and the center square kept.
    """
    with _opened(path) as image:
        from PIL import ImageOps

        image.load()
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
