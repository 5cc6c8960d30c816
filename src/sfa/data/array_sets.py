"""Image sets that are one `.npz` file under the user's data root."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from torch_geometric.data import Data

from sfa.data.files.image_arrays import read_image_arrays
from sfa.data.roots import VARIABLE, cache_folder, data_root
from sfa.errors import InputError
from sfa.levels import Level


@dataclass(frozen=True)
class ArraySet:
    """One image set in a `.npz` (see `sfa.data.files.image_arrays`), which nobody publishes for download.

    Args:
        key: our name of it.
        file: where it lies under a root, for instance `images/cifar10_15000_5000.npz`.
    """

    key: str
    file: str
    level: ClassVar[Level] = "image"

    def locate(self, root: str | os.PathLike[str] | None) -> Path | None:
        """The file, in the root or else in the cache; None if it is not there."""
        found = (base / self.file for base in (data_root(root), cache_folder()))
        return next((file for file in found if file.is_file()), None)

    def load(self, root: str | os.PathLike[str] | None) -> Data:
        """The images of the file."""
        file = self.locate(root)
        if file is None:
            raise InputError(
                f"{self.key} is read from the file {self.file}, which is not in {data_root(root)}, and it cannot be "
                f"downloaded; give the folder that holds it with --data-root or {VARIABLE}, or use the bundled digits."
            )
        return read_image_arrays(file, name=self.key)
