"""Find the images of a folder: which files they are, the class of each, and the part of the set it belongs to."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfa.data.readers.image_file import SUFFIXES
from sfa.errors import InputError

TRAIN = "train"
VALIDATION = ("val", "validation", "valid")
TEST = ("test", *VALIDATION)
LOOKS = 1000


@dataclass(frozen=True)
class ImagePaths:
    """The images of a folder, in order.

    `ids` are their paths within it, with `/` and suffix. `classes` are the names of the class folders, sorted, and
    `labels` [n] the positions among them of the images' classes; both None if the images lie in no class folders.
    `masks` [n] are those of the parts: none, or `train_mask` and `test_mask`, and perhaps `val_mask`.
    """

    folder: Path
    ids: list[str]
    classes: list[str] | None
    labels: NDArray[np.int64] | None
    masks: dict[str, NDArray[np.bool_]]


def first_image(folder: Path, suffixes: Collection[str] = SUFFIXES) -> Path | None:
    """Return an image in a folder or below it, as far as a look into a thousand folders tells."""
    waiting = [folder]
    for _ in range(LOOKS):
        if not waiting:
            break
        looked_at = waiting.pop()
        try:
            folders, images = _scan(looked_at, suffixes)
        except InputError:  # whoever reads the folder will say so
            continue
        if images:
            return looked_at / images[0]
        waiting += [looked_at / name for name in reversed(folders)]
    return None


def find_images(folder: Path, *, test: Sequence[str] = TEST, classes: Collection[str] | None = None) -> ImagePaths:
    """Find the images of a folder in one of the layouts of `read_image_folder`, by their names: no file is opened.

    Args:
        folder: it must be there.
        test: what the part to test on may be called, the first choice first.
        classes: the class folders to read, each of which must be there; any other is left alone. All if not given.
    """
    parts = _find_parts(folder, test)
    found = {part: _by_class(folder, part, classes) for part in parts or [""]}
    ids = [one for by_class in found.values() for images in by_class.values() for one in images]
    for one in ids:  # they go into tables and files of text
        try:
            one.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"The file name {os.fsencode(one)!r} in {folder} is not in UTF-8; rename it.") from error
    names, labels = _find_labels(folder, found)
    counts = [sum(map(len, by_class.values())) for by_class in found.values()]
    part = np.repeat(np.arange(len(found)), counts)
    masks = {mask: part == i for i, mask in enumerate(("train_mask", "test_mask", "val_mask")[: len(parts)])}
    return ImagePaths(folder, ids, names, labels, masks if len(parts) > 1 else {})


def _find_parts(folder: Path, test: Sequence[str]) -> list[str]:
    """Return the folders of the parts: to train on, to test on, perhaps to validate on; none if there are only classes.

    `train` alone may be a class among others, of vehicles for instance.
    """
    folders, images = _scan(folder)
    named = {name.lower(): name for name in folders}
    parts = [named[part] for part in (TRAIN, *test) if part in named]
    others = [name for name in folders if name.lower() not in (TRAIN, *TEST)]
    if parts and TRAIN not in named and not others:
        raise InputError(f"The folder {folder} has {parts[0]}/ in it but no {TRAIN}/, with the images to learn from.")
    if TRAIN not in named or (others and len(parts) < 2):
        return []
    beside = images[0] if images else next((f"{name}/" for name in others if first_image(folder / name)), None)
    if beside is not None:
        raise InputError(
            f"The folder {folder} has parts ({', '.join(f'{part}/' for part in parts)}), and images beside them in it "
            f"({beside}): put these into a part, or elsewhere."
        )
    alike = [part for part in parts if part.lower() in VALIDATION]
    if len(alike) > 1:
        raise InputError(
            f"The folder {folder} has both {alike[0]}/ and {alike[1]}/ in it, which are one part: keep one."
        )
    return parts


def _by_class(folder: Path, part: str, classes: Collection[str] | None) -> dict[str | None, list[str]]:
    """Return the sorted ids of a part's images by the name of their class folder; by None if they lie in no such."""
    top = folder / part
    folders, images = _scan(top)
    if classes is not None:
        missing = sorted(set(classes) - set(folders))
        if missing:
            more = f" ({len(missing)} of {len(classes)} class folders are missing)" if len(missing) > 1 else ""
            raise InputError(f"The folder {top} has no folder {missing[0]} in it{more}.")
        folders = sorted(classes)
    elif images:
        inner = next((name for name in folders if first_image(top / name)), None)
        if inner is not None:
            raise InputError(
                f"The folder {top} has images in it ({images[0]}) and in folders ({inner}/): put each into the folder "
                "of its class, or all into one folder."
            )
        return {None: [_join(part, name) for name in images]}
    found: dict[str | None, list[str]] = {name: sorted(_walk(folder, _join(part, name))) for name in folders}
    empty = next((name for name, ids in found.items() if not ids), None)
    if empty is not None or not found:
        what = "no images in it" if not any(found.values()) else f"a folder {empty}/ with no images in it"
        raise InputError(f"The folder {top} has {what}; allowed are {', '.join(SUFFIXES)}.")
    return found


def _find_labels(
    folder: Path, found: dict[str, dict[str | None, list[str]]]
) -> tuple[list[str] | None, NDArray[np.int64] | None]:
    """Return the names of the classes, and the class of each image; those to learn from have every class."""
    (first, learned), *_ = found.items()
    for part, by_class in found.items():
        if (None in by_class) != (None in learned):
            flat, deep = (part, first) if None in by_class else (first, part)
            raise InputError(f"The images in {folder / flat} lie in no class folders, but those in {folder / deep} do.")
        strange = sorted(str(name) for name in by_class.keys() - learned.keys())
        if strange:
            raise InputError(
                f"The folder {folder / part} has a class {strange[0]!r}, which {folder / first} does not have."
            )
    if None in learned:
        return None, None
    number = {name: i for i, name in enumerate(learned)}
    labels = [number[name] for by_class in found.values() for name, ids in by_class.items() for _ in ids]
    return [str(name) for name in learned], np.array(labels, dtype=np.int64)


def _walk(folder: Path, name: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Return the ids of the images in a folder and below it; a link to a folder that it lies in is not followed."""
    real = os.path.realpath(folder / name)
    if real in above:
        return
    folders, images = _scan(folder / name)
    yield from (_join(name, image) for image in images)
    for inner in folders:
        yield from _walk(folder, _join(name, inner), (*above, real))


def _scan(folder: Path, suffixes: Collection[str] = SUFFIXES) -> tuple[list[str], list[str]]:
    """Return the names of a folder's folders and of its images, sorted; links are followed, the hidden left alone."""
    folders, images = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    folders.append(entry.name)
                elif os.path.splitext(entry.name)[1].lower() in suffixes and (entry.is_file() or entry.is_symlink()):
                    images.append(entry.name)
    except OSError as error:
        raise InputError(f"The folder {folder} cannot be read: {error.strerror or error}.") from error
    return sorted(folders), sorted(images)


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
