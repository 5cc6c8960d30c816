"""One image file: every kind of pixels, sizes, orientations, and what is damaged."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageOps

from sfa.data.readers import image_file
from sfa.data.readers.image_file import CorruptImage, read_image, read_size
from sfa.data.readers.image_folder import check_image_size
from sfa.errors import InputError

COLOURS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
GREY = COLOURS[..., 0]
ALPHA = np.array([0, 255, 128, 3, 77, 200, 254], dtype=np.uint8) * np.ones((5, 1), dtype=np.uint8)


def three(grey: Any) -> NDArray[np.uint8]:
    return np.stack([grey] * 3, axis=-1)


def on_white(colors: Any, alpha: Any) -> NDArray[np.float64]:
    share = np.asarray(alpha, dtype=float)[..., None] / 255
    return np.asarray(share * colors + (1 - share) * 255)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.png", {}),
        ("a.PNG", {}),
        ("a.bmp", {}),
        ("a.ppm", {}),
        ("a.tif", {}),
        ("a.tiff", {"compression": "tiff_lzw"}),
        ("a.webp", {"lossless": True}),
    ],
)
def test_what_is_kept_exactly_is_read_exactly(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    Image.fromarray(COLOURS).save(tmp_path / name, **options)
    image = read_image(tmp_path / name)
    assert (image.dtype, image.flags.c_contiguous, image.flags.writeable) == (np.uint8, True, True)
    assert np.array_equal(image, COLOURS)
    assert read_size(tmp_path / name) == (5, 7)


@pytest.mark.parametrize("name", ["a.jpg", "a.jpeg", "a.webp"])
def test_what_is_kept_roughly_is_read_roughly(name: str, tmp_path: Path) -> None:
    smooth = np.add.outer(np.arange(32) * 4, np.arange(40) * 3)[..., None] // np.array([1, 2, 3])
    Image.fromarray(smooth.astype(np.uint8)).save(tmp_path / name, quality=95)
    assert np.abs(read_image(tmp_path / name).astype(int) - smooth).max() < 12


def test_a_suffix_says_nothing_of_the_format(tmp_path: Path) -> None:
    """ImageNet has a PNG among its JPEGs."""
    Image.fromarray(COLOURS).save(tmp_path / "a.JPEG", format="PNG")
    assert np.array_equal(read_image(tmp_path / "a.JPEG"), COLOURS)


@pytest.mark.parametrize("suffix", [".png", ".pgm", ".bmp", ".tif", ".gif"])
def test_grey_has_three_equal_channels(suffix: str, tmp_path: Path) -> None:
    Image.fromarray(GREY).save(tmp_path / f"a{suffix}")
    assert np.array_equal(read_image(tmp_path / f"a{suffix}"), three(GREY))


def test_black_and_white_are_0_and_255(tmp_path: Path) -> None:
    Image.fromarray(GREY > 100).save(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        assert image.mode == "1"
    assert np.array_equal(read_image(tmp_path / "a.png"), three(np.where(GREY > 100, 255, 0)))


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.pgm"])
def test_16_bits_are_scaled_and_not_cut_off(name: str, tmp_path: Path) -> None:
    values = np.array([[0, 128, 129, 255, 256, 257], [385, 386, 32767, 32768, 65279, 65535]], dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / name)
    wanted = [[round(int(value) / 65535 * 255) for value in row] for row in values]
    assert np.array_equal(read_image(tmp_path / name), three(wanted))
    assert wanted[0][:3] == [0, 0, 1]


def test_integers_of_32_bits_within_16_are_those_of_16(tmp_path: Path) -> None:
    """So has an older Pillow what is `I;16` today."""
    Image.fromarray(np.array([[0, 257, 65535]], dtype=np.int32)).save(tmp_path / "a.tif")
    assert np.array_equal(read_image(tmp_path / "a.tif"), three([[0, 1, 255]]))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.array([[0, 65536]], dtype=np.int32), "integers beyond 16 bits"),
        (np.array([[-1, 5]], dtype=np.int32), "integers beyond 16 bits"),
        (np.array([[0.5, 1.0]], dtype=np.float32), "floating-point numbers"),
    ],
)
def test_numbers_without_an_agreed_white_are_refused(values: Any, says: str, tmp_path: Path) -> None:
    Image.fromarray(values).save(tmp_path / "a.tif")
    with pytest.raises(CorruptImage, match=rf"a\.tif cannot be read as an image: its pixels are {says}, which have no"):
        read_image(tmp_path / "a.tif")


@pytest.mark.parametrize("suffix", [".png", ".gif", ".bmp", ".tif"])
def test_a_palette_is_looked_up(suffix: str, tmp_path: Path) -> None:
    image = Image.fromarray(GREY % 4)
    image.putpalette(table := [10, 20, 30, 200, 100, 0, 7, 7, 7, 255, 0, 255])
    image.save(tmp_path / f"a{suffix}")
    assert np.array_equal(read_image(tmp_path / f"a{suffix}"), np.reshape(table, (4, 3))[GREY % 4])


def transparent_images() -> dict[str, tuple[Image.Image, dict[str, Any], NDArray[np.float64]]]:
    rgba = Image.fromarray(np.dstack([COLOURS, ALPHA]))
    palette = Image.fromarray(GREY % 4)
    palette.putpalette(table := [10, 20, 30, 200, 100, 0, 7, 7, 7, 255, 0, 255])
    looked_up = np.reshape(table, (4, 3))[GREY % 4]
    deep = GREY.astype(np.uint16) * 257
    one = COLOURS[2, 3]
    return {
        "RGBA": (rgba, {}, on_white(COLOURS, ALPHA)),
        "LA": (Image.fromarray(np.dstack([GREY, ALPHA])), {}, on_white(three(GREY), ALPHA)),
        "P, one entry": (palette, {"transparency": 2}, on_white(looked_up, np.where(GREY % 4 == 2, 0, 255))),
        "P, all": (
            palette,
            {"transparency": bytes([0, 255, 99, 255])},
            on_white(looked_up, np.array([0, 255, 99, 255])[GREY % 4]),
        ),
        "L, one value": (
            Image.fromarray(GREY),
            {"transparency": int(GREY[0, 0])},
            on_white(three(GREY), np.where(GREY[0, 0] == GREY, 0, 255)),
        ),
        "RGB, one colour": (
            Image.fromarray(COLOURS),
            {"transparency": tuple(map(int, one))},
            on_white(COLOURS, np.where((one == COLOURS).all(axis=-1), 0, 255)),
        ),
        "16 bits, one value": (
            Image.fromarray(deep),
            {"transparency": int(deep[0, 0])},
            on_white(three(GREY), np.where(GREY[0, 0] == GREY, 0, 255)),
        ),
    }


@pytest.mark.parametrize("kind", transparent_images())
def test_what_is_transparent_is_laid_on_white(kind: str, tmp_path: Path) -> None:
    image, options, wanted = transparent_images()[kind]
    image.save(tmp_path / "a.png", **options)
    assert (wanted == 255).any()
    assert np.abs(read_image(tmp_path / "a.png") - wanted).max() <= 1


def test_printers_colours_become_red_green_and_blue(tmp_path: Path) -> None:
    ink = np.dstack([COLOURS, GREY[::-1]])
    Image.frombytes("CMYK", (7, 5), ink.tobytes()).save(tmp_path / "a.tif")
    wanted = (255.0 - ink[..., :3]) * (255.0 - ink[..., 3:]) / 255
    assert np.abs(read_image(tmp_path / "a.tif") - wanted).max() <= 1
    Image.new("CMYK", (16, 16), (255, 0, 0, 0)).save(tmp_path / "a.jpg", quality=95)
    assert np.abs(read_image(tmp_path / "a.jpg").astype(int) - [0, 255, 255]).max() < 8


TURNED: dict[int, Callable[[Any], Any]] = {
    1: lambda x: x,
    2: lambda x: x[:, ::-1],
    3: lambda x: x[::-1, ::-1],
    4: lambda x: x[::-1],
    5: lambda x: x.swapaxes(0, 1),
    6: lambda x: x.swapaxes(0, 1)[:, ::-1],
    7: lambda x: x.swapaxes(0, 1)[::-1, ::-1],
    8: lambda x: x.swapaxes(0, 1)[::-1],
}


def test_an_image_is_turned_upright(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for suffix in [".png", ".webp", ".tif", ".jpg"]:
        for orientation in TURNED:
            with subtests.test(f"{suffix}, {orientation}"):
                path = tmp_path / f"a{suffix}"
                exif = Image.Exif()
                exif[0x0112] = orientation
                options = {"exif": exif} if suffix != ".tif" else {"tiffinfo": {0x0112: orientation}}
                Image.fromarray(COLOURS).save(path, **options, **({"lossless": True} if suffix == ".webp" else {}))
                image = read_image(path)
                assert read_size(path) == image.shape[:2] == TURNED[orientation](COLOURS).shape[:2]
                if suffix == ".jpg":
                    with Image.open(path) as raw:
                        assert np.array_equal(image, np.array(ImageOps.exif_transpose(raw)))
                else:
                    assert np.array_equal(image, TURNED[orientation](COLOURS))


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data:UserWarning")
def test_damaged_metadata_do_no_harm(tmp_path: Path) -> None:
    for number, exif in enumerate((b"Exif\0\0nonsense", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0")):
        path = tmp_path / f"{number}.jpg"
        Image.fromarray(COLOURS).save(path, exif=exif)
        with Image.open(path) as image:
            assert np.array_equal(read_image(path), np.array(image))
        assert read_size(path) == (5, 7)


@pytest.mark.parametrize(
    ("suffix", "options"), [(".gif", {}), (".webp", {"lossless": True}), (".png", {}), (".tif", {})]
)
def test_of_several_frames_the_first_is_taken(suffix: str, options: dict[str, Any], tmp_path: Path) -> None:
    frames = [Image.fromarray(three((GREY + shift) % 50)) for shift in (0, 1, 2)]
    frames[0].save(tmp_path / f"a{suffix}", save_all=True, append_images=frames[1:], **options)
    with Image.open(tmp_path / f"a{suffix}") as image:
        assert image.n_frames == 3  # type: ignore[attr-defined]
    assert np.array_equal(read_image(tmp_path / f"a{suffix}"), three(GREY % 50))


def bytes_of(format: str) -> bytes:
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, format=format)
    return file.getvalue()


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_file_cut_short_is_found_out(format: str, share: float, tmp_path: Path) -> None:
    content = bytes_of(format)
    path = tmp_path / f"a.{format.lower()}"
    path.write_bytes(content)
    read_image(path)
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(CorruptImage, match="cannot be read as") as caught:
        read_image(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_bytes_that_have_changed_are_found_out(tmp_path: Path) -> None:
    content = bytearray(bytes_of("PNG"))
    content[len(content) // 2] ^= 255
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(CorruptImage):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it is empty"),
        (b"these are words", "it is damaged, or of none of the formats PNG, JPEG, BMP, WEBP, GIF, TIFF, PPM"),
        (b"\x89PNG\r\n\x1a\n", "."),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 5\n%%EndComments\n", "of none of the formats"),
    ],
)
def test_what_is_no_image_is_said(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(content)
    for read in (read_image, read_size):
        with pytest.raises(CorruptImage, match=rf"a\.png cannot be read as an image: .*{says}") as caught:
            read(tmp_path / "a.png")
        assert "\n" not in str(caught.value)


def test_a_file_that_the_system_refuses_is_not_called_corrupt(tmp_path: Path) -> None:
    for path, says in ((tmp_path / "none.png", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=f"cannot be read: {says}") as caught:
            read_image(path)
        assert not isinstance(caught.value, CorruptImage)


def png_of_size(width: int, height: int) -> bytes:
    """A header that promises so many pixels, and hardly any behind it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [11600, 60000])
def test_a_file_that_would_fill_the_memory_is_refused(side: int, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png_of_size(side, side))
    for read in (read_image, read_size):
        with pytest.raises(CorruptImage, match="than the 134217728 pixels"):
            read(tmp_path / "a.png")


def test_the_bound_on_pixels_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.fromarray(COLOURS).save(tmp_path / "a.png")
    monkeypatch.setattr(image_file, "MAX_PIXELS", 35)
    read_image(tmp_path / "a.png")
    monkeypatch.setattr(image_file, "MAX_PIXELS", 34)
    with pytest.raises(CorruptImage, match="than the 34 pixels"):
        read_image(tmp_path / "a.png")


def bicubic(rows: NDArray[np.float64], start: int, side: int, size: int) -> NDArray[np.float64]:
    """`size` rows for the `side` ones from `start` on, by Keys' kernel (a = -1/2), stretched where these are more."""

    def kernel(t: float) -> float:
        t = abs(t)
        if t < 1:
            return 1.5 * t**3 - 2.5 * t**2 + 1
        return -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2 if t < 2 else 0.0

    scale = side / size
    out = []
    for i in range(size):
        centre = start + (i + 0.5) * scale
        weights = [kernel((j + 0.5 - centre) / max(scale, 1)) for j in range(len(rows))]
        out.append(sum(weight * row for weight, row in zip(weights, rows, strict=True)) / sum(weights))
    return np.array(out).clip(0, 255).round()


def resized(image: NDArray[np.uint8], size: int) -> NDArray[np.float64]:
    """The whole image resampled, first across and then down, of which the centre square is kept."""
    height, width = image.shape[:2]
    side = min(height, width)
    across = bicubic(image.astype(float).swapaxes(0, 1), (width - side) // 2, side, size).swapaxes(0, 1)
    return bicubic(across, (height - side) // 2, side, size)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 24), st.integers(1, 24), st.integers(4, 16), st.integers(0, 99))
def test_an_image_is_brought_to_a_size(height: int, width: int, size: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    square = np.array(image_file._center(Image.fromarray(image), size))
    across_first, down_first = resized(image, size), resized(image.swapaxes(0, 1), size).swapaxes(0, 1)
    assert min(np.abs(square - wanted).max() for wanted in (across_first, down_first)) <= 2


@pytest.mark.parametrize(("shape", "part"), [((6, 11), np.s_[:, 2:8]), ((9, 6), np.s_[1:7]), ((6, 6), np.s_[:])])
def test_an_image_of_that_height_or_width_is_only_cut(shape: tuple[int, int], part: Any, tmp_path: Path) -> None:
    image = np.random.default_rng(2).integers(0, 256, (*shape, 3), dtype=np.uint8)
    Image.fromarray(image).save(tmp_path / "a.png")
    assert np.array_equal(read_image(tmp_path / "a.png", image_size=6), image[part])


def test_transparency_and_orientation_come_before_the_size(tmp_path: Path) -> None:
    image = np.zeros((4, 8, 4), dtype=np.uint8)  # black, of which nothing is seen but the left fourth
    image[:, :2, 3] = 255
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(image).save(tmp_path / "a.png", exif=exif)
    assert read_image(tmp_path / "a.png", image_size=4)[..., 0].tolist() == [[255] * 4] * 4
    image[:, 2:4, 3] = 255
    Image.fromarray(image).save(tmp_path / "a.png", exif=exif)
    assert read_image(tmp_path / "a.png", image_size=4)[..., 0].tolist() == [[0] * 4, [0] * 4, [255] * 4, [255] * 4]


def test_sizes_that_cannot_be_meant(subtests: pytest.Subtests) -> None:
    for size in [0, 3, -8, 2049, 10**9, 64.0, "64", True, (64, 64)]:
        with subtests.test(str(size)), pytest.raises(InputError, match="from 4 to 2048"):
            check_image_size(size)


def test_sizes_that_can_be_meant() -> None:
    for size in (None, 4, 64, 2048, np.int64(32)):
        check_image_size(size)  # type: ignore[arg-type]


def test_without_pillow_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InputError, match=r"extra `images`: pip install 'sfa\[images\]'") as caught:
        read_image(tmp_path / "a.png")
    assert not isinstance(caught.value, CorruptImage)
