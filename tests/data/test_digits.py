"""The bundled image set: scikit-learn's handwritten digits."""

from __future__ import annotations

import difflib
import itertools

import torch
from sklearn.datasets import load_digits

from sfa.data import fingerprint, load, locate, names


def test_they_are_scikit_learns_digits_in_bytes() -> None:
    data, theirs = load("digits"), load_digits()
    assert (data.x.shape, data.x.dtype, data.name) == ((1797, 8, 8, 1), torch.uint8, "digits")
    wanted = [[round(value * 255 / 16) for value in image] for image in theirs.data.tolist()]
    assert data.x.reshape(1797, 64).tolist() == wanted
    assert data.y.tolist() == theirs.target.tolist()
    assert data.class_names == list("0123456789")
    assert data.image_ids == list(range(1797))
    # Runs know their data by it: it must never change.
    assert fingerprint(data) == "d6b11d0aae4a29ae72e9586986a46b4e793bdd6089a1630847a637e4f2021e07"


def test_the_parts() -> None:
    data = load("digits")
    assert data.train_mask.nonzero().flatten().tolist() == list(range(1287))
    assert data.test_mask.nonzero().flatten().tolist() == list(range(1287, 1797))
    for part in (data.train_mask, data.test_mask):
        assert torch.bincount(data.y[part]).min() > 40


def test_the_images_come_sheet_by_sheet_and_training_sees_none_of_the_last_four() -> None:
    """Which is what is said of them: 14 times nearly the same text, wherever a sheet begins."""
    text = "".join(map(str, load_digits().target))
    starts = [0, 130, 256, 386, 516, 646, 776, 905, 1029, 1157, 1287, 1415, 1545, 1667, 1797]
    sheets = [text[start:end] for start, end in itertools.pairwise(starts)]
    assert len(sheets) == 14
    assert all(difflib.SequenceMatcher(None, sheets[0], sheet, autojunk=False).ratio() > 0.95 for sheet in sheets)
    assert starts[-5] == int(load("digits").train_mask.sum())


def test_they_come_with_the_package() -> None:
    info = next(info for info in names() if info.name == "digits")
    assert (info.bundled, info.downloaded, info.level) == (True, False, "image")
    found = locate("digits")
    assert found is not None
    assert found.is_file()
