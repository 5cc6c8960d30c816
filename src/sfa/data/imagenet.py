"""Read ImageNet-100: a hundred classes of ImageNet, as folders of photographs on this machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from torch_geometric.data import Data

from sfa.data.downloads import VARIABLE, PathLike, data_root, find_place
from sfa.data.readers.image_folder import read_image_folder
from sfa.data.readers.tables import reading
from sfa.errors import InputError
from sfa.tasks import Task

FOLDERS = ("imagenet-100", "imagenet100")
WHOLE = "imagenet"
CLASSES = "imagenet100.txt"


@dataclass(frozen=True)
class ImageNet100:
    """Photographs of 100 of the 1000 classes of ILSVRC 2012 (Russakovsky et al., 2015, "ImageNet large scale visual
    recognition challenge"); which 100 Tian, Krishnan and Isola (2020, "Contrastive multiview coding") have drawn.

        imagenet-100/           or  imagenet/               under a root, or under images/ there
            train/                      train/
                n01558993/*.JPEG            n01440764/*.JPEG
                …                           … (all 1000)
            val/                        val/
                n01558993/*.JPEG            n01440764/*.JPEG

    Of `imagenet-100/` (or `imagenet100/`) every class is read, and of `imagenet/` those of Tian et al. A list of
    classes `imagenet100.txt`, in the folder or beside it, says otherwise: a WordNet id a line, after which the class
    may have a name. The images of `val/` are the part to test on.

    It is never downloaded: ImageNet gives it to those who agree to its terms of access.
    """

    key: str = "imagenet-100"
    image_size: int = 224
    """The pixels a side that its images are brought to; the views for training are cut out of these."""
    task: ClassVar[Task] = "image"

    def locate(self, root: PathLike | None) -> Path | None:
        """Return the folder that holds `train/` and `val/`, in the root or else in the cache; None if there is none."""
        return find_place(root, *(f"{under}{name}" for name in (*FOLDERS, WHOLE) for under in ("images/", "")))

    def load(
        self,
        root: PathLike | None,
        *,
        image_size: int | None = None,
        skip_corrupt: bool = False,
        on_image: Callable[[int, int], None] | None = None,
    ) -> Data:
        """Return the images as an image set; see `read_image_folder` for the options."""
        folder = self.locate(root)
        if folder is None:
            raise InputError(
                f"{self.key} is not on this machine, and is never downloaded: {FOLDERS[0]}/ or all of {WHOLE}/, each "
                f"with train/ and val/ in it and a folder a class in these (train/n01558993/…), is looked for in "
                f"{data_root(root)}, which --data-root or {VARIABLE} sets."
            )
        for part in ("train", "val"):
            if not (folder / part).is_dir():
                raise InputError(f"The folder {folder} has no folder {part} in it; {self.key} needs train and val.")
        bundled = [Path(__file__).parent / "bundled" / CLASSES] if folder.name == WHOLE else []
        lists = (folder / CLASSES, folder.parent / CLASSES, *bundled)
        listed = next((file for file in lists if file.is_file()), None)
        data = read_image_folder(
            folder,
            image_size=self.image_size if image_size is None else image_size,
            skip_corrupt=skip_corrupt,
            classes=None if listed is None else reading(listed, read_class_list),
            test=("val",),
            on_image=on_image,
        )
        data.name = self.key
        return data


def read_class_list(path: Path) -> dict[str, str]:
    """Return the classes that a file lists, a WordNet id a line, with the names that follow; the id where none does."""
    classes: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        one, *rest = re.split(r"[,;\s]+", line.strip(), maxsplit=1)
        name = rest[0] if rest and rest[0] else one
        if not re.fullmatch(r"n\d{8}", one):
            raise InputError(
                f"{path} has {one!r} in line {number}, but a class is listed by its WordNet id, such as n01558993."
            )
        if one in classes or name in classes.values():
            what = f"class {one}" if one in classes else f"name {name!r}"
            raise InputError(f"{path} has the {what} again in line {number}; each class is listed once, by one name.")
        classes[one] = name
    if not classes:
        raise InputError(f"{path} lists no classes; it should have a WordNet id, such as n01558993, in each line.")
    return classes
