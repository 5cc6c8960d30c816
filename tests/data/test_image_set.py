"""The one form of an image set: what is taken, what is refused and how, and by what a run knows it again."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfa import matrices
from sfa.data import arrays as mapped_module
from sfa.data import as_graph, as_graphs, build_graphs, build_images, fingerprint, load, remark
from sfa.data.arrays import _contents
from sfa.errors import InputError
from sfa.tasks import item_word, num_items, task_of
from tests.memory_maps import file_of


def bytes_of(*shape: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


X = bytes_of(4, 5, 6, 3)
PARTS: dict[str, Any] = {"train_mask": [True, True, False, False], "test_mask": [False, False, True, False]}
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which memory is which file")


def test_the_form() -> None:
    data = build_images(X, y=["cat", "dog", "", "cat"], image_ids=["a", "b", 7, "d"], **PARTS, name="pets")
    assert (data.x.dtype, data.x.shape, data.x.is_contiguous()) == (torch.uint8, (4, 5, 6, 3), True)
    assert np.array_equal(data.x.numpy(), X)
    assert (data.y.tolist(), data.y.dtype, data.class_names) == ([0, 1, -1, 0], torch.int64, ["cat", "dog"])
    assert (data.image_ids, data.name) == (["a", "b", 7, "d"], "pets")
    assert {mask: data[mask].tolist() for mask in PARTS} == PARTS
    assert "val_mask" not in data
    assert build_images(X, **PARTS, val_mask=[False, False, False, True]).val_mask.tolist() == [False] * 3 + [True]
    assert (data.num_nodes, data.num_features) == (4, 3)
    assert (task_of(data), num_items(data), item_word(data)) == ("image", 4, "images")
    assert remark(data) is None


def test_what_is_not_given_is_not_there() -> None:
    data = build_images(X)
    assert set(data.keys()) == {"x", "image_ids", "name", "task"}
    assert (data.image_ids, data.name) == ([0, 1, 2, 3], "images")
    assert "y" not in build_images(X, y=[-1, -1, -1, -1])


@given(
    count=st.integers(1, 4),
    height=st.integers(1, 6),
    width=st.integers(5, 9),
    channels=st.sampled_from([None, 1, 3]),
    kind=st.sampled_from(["array", "tensor", "list", "fortran", "read-only", "strided"]),
)
def test_any_form_of_the_same_pixels_is_the_same_set(
    count: int, height: int, width: int, channels: int | None, kind: str
) -> None:
    x = bytes_of(count, height, width, *([] if channels is None else [channels]))
    forms: dict[str, Any] = {
        "array": x,
        "tensor": torch.from_numpy(x.copy()),
        "list": list(x),
        "fortran": np.asfortranarray(x),
        "read-only": np.frombuffer(x.tobytes(), np.uint8).reshape(x.shape),
        "strided": np.repeat(x, 2, axis=0)[::2],
    }
    data = build_images(forms[kind])
    assert data.x.is_contiguous()
    assert np.array_equal(data.x.numpy(), x.reshape(count, height, width, channels or 1))
    assert fingerprint(data) == fingerprint(build_images(x.reshape(count, height, width, channels or 1)))


def test_what_has_the_form_already_is_shared_and_not_copied() -> None:
    x = X.copy()
    assert build_images(x).x.data_ptr() == x.ctypes.data
    tensor = torch.from_numpy(x)
    assert build_images(tensor).x.data_ptr() == tensor.data_ptr()


def test_what_is_no_set_of_images(subtests: pytest.Subtests) -> None:
    for x, says in [
        (bytes_of(4, 3, 5, 6), r"shape \[4, 3, 5, 6\], .*channels last: .* x\.transpose\(0, 2, 3, 1\).* x\.permute"),
        (bytes_of(4, 1, 5, 6), "channels last"),
        (bytes_of(4, 5, 6, 4), r"1 or 3 channels is needed; leave out alpha, .* x\[\.\.\., :3\]"),
        (bytes_of(4, 5, 6, 2), r"shape \[4, 5, 6, 2\], but .* with 1 or 3 channels is needed\."),
        (bytes_of(5, 6, 3), r"may be one image or gray ones 3 wide: give x\[None\] .* x\[\.\.\., None\]"),
        (bytes_of(5, 6, 1), "may be one image"),
        (bytes_of(5, 6, 4), "may be one image"),
        (bytes_of(5, 6), r"shape \[5, 6\], but .*\[images, height, width, channels\]"),
        (bytes_of(2, 2, 5, 6, 3), r"shape \[2, 2, 5, 6, 3\], but"),
        (bytes_of(0, 5, 6, 3), r"shape \[0, 5, 6, 3\]"),
        (bytes_of(4, 0, 6, 3), r"shape \[4, 0, 6, 3\]"),
        (bytes_of(4, 5, 6, 0), r"shape \[4, 5, 6, 0\]"),
        (X / 255, r"float64 values, .* give \(x \* 255\)\.round\(\) if they go from 0 to 1, .*as uint8"),
        (torch.from_numpy(X).float(), "float32 values"),
        (X.astype(np.int64), "int64 values, but bytes .*give x as uint8"),
        (X.astype(np.uint16), "uint16 values"),
        (X > 99, "bool values, .*255 . x as uint8"),
        (np.full(X.shape, "a"), "<U1 values, but bytes"),
        ("no images", r"shape \[\]"),
    ]:
        with subtests.test(says):
            with pytest.raises(InputError, match=says) as caught:
                build_images(x)
            assert "\n" not in str(caught.value)


def test_what_does_not_belong_to_the_images(subtests: pytest.Subtests) -> None:
    for changes, says in [
        ({"y": [0, 1, 0]}, r"labels of shape \[3\] for 4 images; one for each"),
        ({"y": [[0, 1], [1, 0], [1, 1], [0, 0]]}, r"labels of shape \[4, 2\]"),
        ({"y": [0, 1, 2, 0], "class_names": ["cat", "dog"]}, "label 2 has no name"),
        ({"y": [0, 1, -3, 0]}, "label -3 is negative"),
        ({"y": [0, 0.5, 1, 0], "class_names": ["cat", "dog"]}, "label 0.5 is not a class"),
        ({"y": ["cat", "cow", "dog", "dog"], "class_names": ["cat", "dog"]}, "'cow' is not among the 2 class names"),
        ({"y": [0, 1, 1, 0], "class_names": ["cat", "cat"]}, "'cat' is given more than once"),
        ({"image_ids": ["a", "b", "c"]}, "There are 3 image ids for 4 images"),
        ({"image_ids": ["a", "b", "c", "a"]}, "image id 'a' is given to more than one image"),
        ({"train_mask": PARTS["train_mask"]}, "There is no test_mask; an image set has both"),
        ({"test_mask": PARTS["test_mask"]}, "There is no train_mask; an image set has both"),
        (PARTS | {"test_mask": [False, True, True, False]}, r"1 images are both in .*\(the first: image 1\)"),
        (PARTS | {"test_mask": [False] * 4}, "test_mask has shape .4. and 0 images in it"),
        (PARTS | {"val_mask": [False] * 4}, "val_mask has shape .4. and 0 images in it"),
        (PARTS | {"val_mask": [False, True, False, True]}, "1 images are both in train_mask and in val_mask"),
        (PARTS | {"val_mask": [False, False, True, True]}, "1 images are both in test_mask and in val_mask"),
        ({"val_mask": [True] * 4}, "There is no train_mask; .* both train_mask and test_mask, or no masks"),
        (PARTS | {"train_mask": [False] * 4}, "train_mask has shape .4. and 0 images in it"),
        (PARTS | {"train_mask": [1, 1, 0, 0]}, "int64 values, but .* a mask is boolean.*True for the images"),
        (
            PARTS | {"train_mask": [True, False, False]},
            r"train_mask has shape \[3\] .*, but with 4 images it must be \[4\]",
        ),
        (PARTS | {"train_mask": [[True], [True], [False], [False]]}, r"train_mask has shape \[4, 1\]"),
    ]:
        with subtests.test(says):
            with pytest.raises(InputError, match=says) as caught:
                build_images(X, **changes)
            assert "\n" not in str(caught.value)


def test_one_image_can_be_embedded() -> None:
    assert build_images(X[:1]).x.shape == (1, 5, 6, 3)


@linux
def test_a_large_map_stays_on_disk_and_a_small_one_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", X)
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    small = build_images(x)
    assert file_of(small.x) is None
    assert "mapped_features" not in small
    assert file_of(build_images(x, mapped=True).x) == str(tmp_path / "x.npy")

    monkeypatch.setattr(mapped_module, "MAPPED_BYTES", X.nbytes - 1)
    large = build_images(x)
    assert file_of(large.x) == str(tmp_path / "x.npy")
    assert large.mapped_features is True
    assert fingerprint(large) == fingerprint(small)
    grey = np.load(tmp_path / "x.npy", mmap_mode="r").reshape(4, 9, 10)
    assert build_images(grey).mapped_features is True
    with pytest.raises(InputError, match="file in another order"):
        build_images(x[:, ::-1])


def test_images_are_no_graph() -> None:
    data = build_images(X)
    with pytest.raises(InputError, match="graph is needed: ImageEmbedder"):
        as_graph(data)
    with pytest.raises(InputError, match="graphs is needed: ImageEmbedder"):
        as_graphs(data)


def test_a_fingerprint_is_of_pixels_labels_and_the_part_for_training() -> None:
    data = build_images(X, y=[0, 1, -1, 1], **PARTS)
    content = b"x:|u1:[4, 5, 6, 3];" + X.tobytes()
    labels = b"y:<i8:[4];" + np.array([0, 1, -1, 1], "<i8").tobytes()
    part = b"train_mask:|b1:[4];" + bytes([1, 1, 0, 0])
    assert fingerprint(data) == hashlib.sha256(content + labels + part).hexdigest()
    assert fingerprint(build_images(X)) == hashlib.sha256(content + b"y:none;train_mask:none;").hexdigest()

    names: dict[str, Any] = {"class_names": ["cat", "dog"], "image_ids": list("abcd"), "name": "pets"}
    other_test = PARTS | {"test_mask": [False, False, False, True]}
    assert fingerprint(build_images(X, y=[0, 1, -1, 1], **names, **other_test)) == fingerprint(data)
    assert fingerprint(build_images(X, y=[0, 1, -1, 1], **PARTS, val_mask=[False] * 3 + [True])) == fingerprint(data)
    other = X.copy()
    other[3, 4, 5, 2] ^= 1
    others = [
        build_images(other, y=[0, 1, -1, 1], **PARTS),
        build_images(X, y=[0, 1, 1, 1], **PARTS),
        build_images(X, y=[0, 1, -1, 1]),
        build_images(X, y=[0, 1, -1, 1], **(PARTS | {"train_mask": [True, False, False, False]})),
        build_images(X.reshape(4, 6, 5, 3), y=[0, 1, -1, 1], **PARTS),
    ]
    assert len({fingerprint(one) for one in [data, *others]}) == 6


def test_a_fingerprint_is_taken_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    data = build_images(X)
    whole = fingerprint(data)
    monkeypatch.setattr(matrices, "CHUNK_BYTES", 4 * 2 * 5 * 6 * 3)  # as float32, so that a piece is two images
    assert [piece.nbytes for piece in _contents("x", data.x)] == [2 * 5 * 6 * 3] * 2
    assert fingerprint(data) == whole


def test_fingerprints_never_change() -> None:
    """Runs know their data by them: of an image set, a graph set, and (in its own test) a graph."""
    x = (np.arange(2 * 3 * 5 * 3) * 7 % 256).astype(np.uint8).reshape(2, 3, 5, 3)
    data = build_images(x, y=[1, 0], train_mask=[True, False], test_mask=[False, True])
    assert fingerprint(data) == "9ab806c7e5d7990291cfba318f93d6e420275234e4dc396da7efc8b6532a573d"
    assert fingerprint(load("mutag")) == "2dc70fc1d8f4ed3ed5d72e049676445c6fd1586a80a990f0bbd06110b4839c17"
    graphs = build_graphs(np.eye(4, 2), [[0, 2], [1, 3]], [0, 2, 4], y=[0, 1])
    assert fingerprint(graphs) == "616932136855fa4b3b20a728ab14b9a1a4eec0f671ed7cdc432f50e16d521beb"
