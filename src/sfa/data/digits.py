"""Scikit-learn's handwritten digits: an image set that needs no network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch_geometric.data import Data

from sfa.data.image_set import build_images
from sfa.levels import Level

IN_TRAINING = 1287
LEVELS = 16


@dataclass(frozen=True)
class Digits:
    """1797 digits of 8 × 8 pixels: the test part of UCI's "Optical Recognition of Handwritten Digits" (Alpaydin and
    Kaynak, 1998).

    A pixel counts the inked ones, 0 to 16, in a block of the scan; v becomes the byte round(255 v / 16).

    The images come sheet by sheet: 14 times the same text of some 130 digits. The first ten sheets, 1287 images, are
    for training, the last four, 510, for testing: no random draw of the whole, on which scores would be higher.
    """

    key: str = "digits"
    level: ClassVar[Level] = "image"

    def locate(self, root: str | os.PathLike[str] | None) -> Path:
        """The file that comes with scikit-learn."""
        import sklearn

        return Path(sklearn.__file__).parent / "datasets" / "data" / "digits.csv.gz"

    def load(self, root: str | os.PathLike[str] | None) -> Data:
        """The digits in the order in which scikit-learn has them."""
        from sklearn.datasets import load_digits

        read = load_digits()
        number = np.arange(len(read.target))
        return build_images(
            np.rint(read.images * (255 / LEVELS)).astype(np.uint8),
            y=read.target,
            class_names=[str(digit) for digit in range(10)],
            train_mask=number < IN_TRAINING,
            test_mask=number >= IN_TRAINING,
            name=self.key,
        )
