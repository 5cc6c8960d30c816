"""Read a folder of image files as an image set: find the images, the class of each, and the part it belongs to."""

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from posixpath import join
from typing import Any

import numpy as np
from torch_geometric.data import Data

from sfa.data.downloads import explain_damage
from sfa.data.images import build_images, holds_image_arrays
from sfa.data.readers.graph import LABELS, READERS
from sfa.data.readers.image_file import SUFFIXES, ImageDecoder, OnImage
from sfa.data.readers.tables import read_labels
from sfa.errors import InputError
from sfa.folders import PathLike, existing, expand_user

TRAIN = "train"
VALIDATION = ("val", "validation", "valid")
TEST = ("test", *VALIDATION)
LOOKS = 1000
SIDES = range(4, 2049)


def holds_images(path: PathLike) -> bool:
    """Tell whether there are images: in a file of arrays, or in or below a folder that has no graph files in it."""
    try:
        full = expand_user(path)
        if not full.is_dir():
            return full.is_file() and holds_image_arrays(full)
        has_graphs = any(one.suffix.lower() in READERS or ".features." in one.name for one in full.iterdir())
        return not has_graphs and first_image(full) is not None
    except (OSError, InputError):
        return False  # whoever reads it as a graph says what is wrong with it


def first_image(folder: Path) -> Path | None:
    """Return an image in a folder or below it, as far as a look into a thousand folders tells."""
    waiting = [folder]
    for _ in range(LOOKS):
        if not waiting:
            break
        looked_at = waiting.pop()
        with contextlib.suppress(InputError):  # whoever reads the folder will say so
            folders, images = _scan(looked_at)
            if images:
                return looked_at / images[0]
            waiting += [looked_at / name for name in reversed(folders)]
    return None


def check_image_size(image_size: int | None) -> None:
    """Raise unless images can be brought to this size; None leaves them as they are."""
    if image_size is not None and not (isinstance(image_size, int | np.integer) and image_size in SIDES):
        raise InputError(f"The image size is {image_size!r}, but must be from {SIDES[0]} to {SIDES[-1]} pixels.")


def read_image_folder(
    folder: Path,
    *,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    labels: PathLike | None = None,
    classes: Mapping[str, str] | None = None,
    test: Sequence[str] = TEST,
    on_image: OnImage | None = None,
) -> Data:
    """Read the images of a folder, in color, in the order of their paths; an image is called by its path in the folder.

    They lie in class folders (`cat/0.png`, `cat/more/1.png`), in parts (`train/cat/0.png`, `test/0.png`) or flat. Files
    with a suffix in `SUFFIXES` are images; others, and whatever is hidden, are left alone. `labels.csv` beside flat
    images is a table (id, label) of them, `0.png,cat` or `0,cat`. Of two parts beside `train`, the one not called
    `test` is to validate on.

    Args:
        folder: Where the images are.
        image_size: The shorter side of every image is brought to so many pixels and the center square is kept; if not
            given, all images must have one size.
        skip_corrupt: Leave images that cannot be read out, with their ids in `left_out` of the set; otherwise an error.
        labels: A table (id, label), ids as `train/cat/0.png`, in place of class folders and of `labels.csv`.
        classes: The class folders to read, and what the classes are called; all, by their folders' names, if not given.
        test: What the part to test on may be called, the first choice first.
        on_image: Called after each image that is decoded with how many are done and how many there are.
    """
    check_image_size(image_size)
    parts = _find_parts(folder, test)
    found = {part: _find_images(folder, part, classes) for part in parts or [""]}
    (first, learned), *others = found.items()
    for part, by_class in others:
        strange = sorted(by_class.keys() - learned.keys())
        if strange:
            what = f"a class {strange[0]!r}" if strange[0] else "images in no class folder"
            raise InputError(f"The folder {folder / part} has {what}, which {folder / first} does not have.")
    names = [name for name in learned if name]  # none if the images lie in no class folders
    # One row an image: its id, its class folder and its part.
    rows = [(one, name, i) for i, by in enumerate(found.values()) for name, images in by.items() for one in images]
    ids = [one for one, _, _ in rows]
    for one in ids:  # they go into tables and files of text
        try:
            one.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"The file name {os.fsencode(one)!r} in {folder} is not in UTF-8; rename it.") from error
    table = folder / LABELS if labels is None else existing(labels, "label")
    y, class_names = None, None
    if names and labels is None:
        if table.is_file():
            raise InputError(
                f"The folder {folder} has class folders and a {LABELS} in it, and either would give the labels: remove "
                "one, or give --labels FILE (labels=FILE), which replaces the folders."
            )
        number = {name: i for i, name in enumerate(names)}
        y = np.array([number[name] for _, name, _ in rows])
        class_names = names if classes is None else [classes[name] for name in names]
    elif labels is not None or table.is_file():
        y = read_labels(table, ids, "image")
    decoder = ImageDecoder(folder, ids, image_size, skip_corrupt, on_image)
    x, mapped = decoder.decode()
    kept = np.array([one not in decoder.left_out for one in ids])
    y, ids = None if y is None else y[kept], [one for one in ids if one not in decoder.left_out]
    part_of_image = np.array([i for _, _, i in rows])[kept]
    masks = ("train_mask", "test_mask", "val_mask")[: len(parts)] if len(parts) > 1 else ()
    in_parts: dict[str, Any] = {mask: part_of_image == i for i, mask in enumerate(masks)}
    name = folder.resolve().name or "images"
    data = build_images(x, y=y, image_ids=ids, class_names=class_names, name=name, mapped=mapped, **in_parts)
    if decoder.left_out:
        data.left_out = list(decoder.left_out)
    return data


def left_out_remark(data: Data) -> str | None:
    """Say which images could not be read: "2 of 120 images could not be read and were left out: a/x.png, b/y.png"."""
    left_out: list[str] = data.get("left_out") or []
    if not left_out:
        return None
    total = len(data.image_ids) + len(left_out)
    names = ", ".join([*left_out[:5], *(["…"] if len(left_out) > 5 else [])])
    were = "was" if len(left_out) == 1 else "were"
    return f"{len(left_out)} of {total} images could not be read and {were} left out: {names}"


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
    alike = [f"{part}/" for part in parts if part.lower() in VALIDATION]
    if len(alike) > 1:
        raise InputError(f"The folder {folder} has both {' and '.join(alike)} in it, which are one part: keep one.")
    return parts


def _find_images(folder: Path, part: str, classes: Collection[str] | None) -> dict[str, list[str]]:
    """Return the sorted ids of a part's images by the name of their class folder, "" if they lie in none."""
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
        return {"": [join(part, name) for name in images]}
    found = {name: sorted(_walk(folder, join(part, name))) for name in folders}
    empty = next((name for name, ids in found.items() if not ids), None)
    if empty is not None or not found:
        what = "no images in it" if not any(found.values()) else f"a folder {empty}/ with no images in it"
        raise InputError(f"The folder {top} has {what}; allowed are {', '.join(SUFFIXES)}.")
    return found


def _walk(folder: Path, name: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the ids of the images in a folder and below it; a link to a folder that it lies in is not followed."""
    real = os.path.realpath(folder / name)
    if real in above:
        return
    folders, images = _scan(folder / name)
    yield from (join(name, image) for image in images)
    for inner in folders:
        yield from _walk(folder, join(name, inner), (*above, real))


def _scan(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of a folder's folders and of its images, sorted; links are followed, the hidden left alone."""
    folders, images = [], []
    with explain_damage(f"The folder {folder}"), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                folders.append(entry.name)
            elif os.path.splitext(entry.name)[1].lower() in SUFFIXES and (entry.is_file() or entry.is_symlink()):
                images.append(entry.name)
    return sorted(folders), sorted(images)
