"""Images in `.npz` and `.npy` files, and what does not go with them."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sfa.data import arrays as mapped
from sfa.data import as_images, build_images, fingerprint, load, read_graph
from sfa.errors import InputError
from tests.memory_maps import file_of

X = np.random.default_rng(0).integers(0, 256, (5, 6, 7, 3), dtype=np.uint8)
Y = np.array([0, 1, 1, 2, 0])
TRAIN = np.array([True, True, True, False, False])
HALVES = {"x_train": X[:3], "x_test": X[3:]}
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which memory is which file")


def saved(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "mine.npz", **arrays)
    return folder / "mine.npz"


def refused(says: str, path: Path, **given: Any) -> None:
    with pytest.raises(InputError, match=says) as caught:
        load(path, **given)
    assert "\n" not in str(caught.value)


FORMS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"x": X}, {}),
    ({"x": X[..., :1]}, {}),
    ({"x": X, "y": Y}, {"y": Y}),
    ({"x": X, "labels": Y.astype(np.uint8)}, {"y": Y}),
    ({"x": X, "y": np.array(["a", "b", "b", "c", "a"])}, {"y": Y}),
    ({"x": X, "train_mask": TRAIN, "test_mask": ~TRAIN}, {"train_mask": TRAIN, "test_mask": ~TRAIN}),
    (HALVES, {"train_mask": TRAIN, "test_mask": ~TRAIN}),
    ({**HALVES, "y_train": Y[:3], "y_test": Y[3:]}, {"y": Y, "train_mask": TRAIN, "test_mask": ~TRAIN}),
    ({**HALVES, "y_train": Y[:3, None], "y_test": Y[3:, None]}, {"y": Y, "train_mask": TRAIN, "test_mask": ~TRAIN}),
]


@pytest.mark.parametrize(("arrays", "given"), FORMS)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_a_file_may_hold(arrays: dict[str, Any], given: dict[str, Any], save: Any, tmp_path: Path) -> None:
    save(tmp_path / "mine.npz", **arrays)
    data = load(tmp_path / "mine.npz")
    assert fingerprint(data) == fingerprint(build_images(arrays.get("x", X), **given))
    assert (data.name, data.image_ids) == ("mine", [0, 1, 2, 3, 4])
    assert ("test_mask" in data) == ("test_mask" in given)


def test_grey_images_need_no_channels(tmp_path: Path) -> None:
    assert np.array_equal(load(saved(tmp_path, x=X[..., 0])).x.numpy(), X[..., :1])


def test_a_part_to_validate_on(tmp_path: Path) -> None:
    number = np.arange(5)
    data = load(saved(tmp_path, x=X, y=Y, train_mask=number < 3, test_mask=number == 4, val_mask=number == 3))
    for one in (data, as_images(data)):
        assert one.val_mask.tolist() == [False, False, False, True, False]
        assert one.test_mask.tolist() == [False, False, False, False, True]


@pytest.mark.parametrize("key", ["classes", "class_names"])
def test_names_of_classes_and_images(key: str, tmp_path: Path) -> None:
    ids = np.array(["a", "b", "c", "d", "e"])
    data = load(saved(tmp_path, x=X, y=Y, ids=ids, **{key: np.array(["cat", "cow", "dog", "eel"])}))
    assert (data.class_names, data.image_ids) == (["cat", "cow", "dog", "eel"], ids.tolist())
    assert data.y.tolist() == Y.tolist()


def test_a_table_of_labels(tmp_path: Path) -> None:
    table = tmp_path / "y.csv"
    table.write_text("id,label\nb,cat\ne,dog\n")
    ids = np.array(["a", "b", "c", "d", "e"])
    data = load(saved(tmp_path, x=X, ids=ids), labels=table)
    assert (data.y.tolist(), data.class_names) == ([-1, 0, -1, -1, 1], ["cat", "dog"])
    refused("Labels are given twice: .*mine.npz has its own", saved(tmp_path, x=X, y=Y), labels=table)
    refused("labels the image 'b', which the set does not have", saved(tmp_path, x=X), labels=table)
    refused("label file .*none.csv does not exist", saved(tmp_path, x=X), labels=tmp_path / "none.csv")
    table.write_text("0,cat\n3,dog\n")
    np.save(tmp_path / "x.npy", X)
    assert load(tmp_path / "x.npy", labels=table).y.tolist() == [0, -1, -1, 1, -1]


@linux
def test_a_large_npy_is_mapped_and_a_small_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.npy"
    np.save(path, X)
    for limit, file in ((X.nbytes, None), (X.nbytes - 1, str(path))):
        monkeypatch.setattr(mapped, "MAPPED_BYTES", limit)
        data = load(path)
        assert file_of(data.x) == file
        assert ("mapped_features" in data) == (file is not None)
        assert fingerprint(data) == fingerprint(build_images(X))
        assert data.name == "x"


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": X / 255}, "float64 values, but bytes"),
        ({"x": X.transpose(0, 3, 1, 2)}, "channels last"),
        ({"x": X[0]}, "may be one image"),
        ({"x": X[:0]}, r"The images have shape \[0, "),
        ({"x": X, "y": Y[:4]}, r"labels of shape \[4\] for 5 images"),
        ({"x": X, "y": Y, "classes": np.array(["a", "b"])}, "label 2 has no name"),
        ({"x": X, "train_mask": TRAIN}, "There is no test_mask"),
        ({"x": X, "train_mask": TRAIN, "test_mask": TRAIN}, "3 images are both in train_mask and in test_mask"),
        ({"x": X, "ids": np.array([1, 2, 3, 4, 4])}, "image id '4' is given to more than one"),
        ({"x": X, "y": Y, "labels": Y}, "has both 'y' and 'labels'"),
        ({"x": X, **HALVES}, "has both 'x' and 'x_train'"),
        ({**HALVES, "val_mask": TRAIN}, "has both 'val_mask' and 'x_train'"),
        ({"x": X, "val_mask": TRAIN}, "There is no train_mask"),
        ({**HALVES, "train_mask": TRAIN}, "has both 'train_mask' and 'x_train'"),
        ({"x": X, "class_name": Y}, "unknown key 'class_name': is 'class_names' meant"),
        ({"x_train": X}, "has x_train and no x_test; images in two parts are x_train and x_test"),
        ({**HALVES, "y_train": Y[:3]}, "has x_train and no y_test"),
        ({**HALVES, "y_test": Y[3:]}, "has x_train and no y_train"),
        ({**HALVES, "y_train": Y[:2], "y_test": Y[2:]}, "has 2 labels in y_train for 3 images"),
        ({"x_train": X, "x_test": X[:, 1:]}, r"x_test of shape \[5, 5, 7, 3\] \(uint8\), which must be alike"),
        ({"x_train": X, "x_test": X / 255}, r"x_test of shape .*\(float64\), which must be alike"),
        ({"x_train": np.zeros((4, 2)), "x_test": np.zeros((4, 2))}, r"images have shape \[8, 2\]"),
        (
            {"x": X, "y": np.array([{}] * 5, dtype=object)},
            "Python objects under the key 'y', which are never unpickled",
        ),
    ],
)
def test_what_is_no_file_of_images(arrays: dict[str, Any], says: str, tmp_path: Path) -> None:
    refused(says, saved(tmp_path, **arrays))


def test_damaged_files(tmp_path: Path) -> None:
    path = saved(tmp_path, x=X)
    path.write_bytes(path.read_bytes()[:300])
    refused("mine.npz cannot be read, it may be damaged", path)
    whole = saved(tmp_path, x=X).read_bytes()
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :])
    refused("mine.npz cannot be read, it may be damaged", path)
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY nonsense")
    refused("x.npy cannot be read, it may be damaged", tmp_path / "x.npy")
    (tmp_path / "x.npy").write_bytes(pickle.dumps([1, 2]))
    refused("x.npy cannot be read, it may be damaged", tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.zeros((4, 2)))
    refused(r"x.npy has an array of shape \[4, 2\], but images are .*features of a graph are given", tmp_path / "x.npy")


def test_graphs_are_still_graphs(tmp_path: Path) -> None:
    path = saved(tmp_path, x=np.eye(4, dtype=np.uint8), edge_index=[[0, 1], [1, 2]], y=[0, 1, 0, 1])
    assert load(path).num_edges == 4
    assert load(saved(tmp_path, x=np.eye(4), edge_index=[[0, 2], [1, 3]], ptr=[0, 2, 4])).ptr.tolist() == [0, 2, 4]
    refused("features have shape", saved(tmp_path, x=X, edge_index=[[0, 1], [1, 2]]))
    with pytest.raises(InputError, match="has no edges"):
        read_graph(saved(tmp_path, x=X))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"features": "x.npy"}, r"features= \(--features\)"),
        ({"node_features": "degree"}, r"node_features= \(--node-features\)"),
        ({"features": "x", "node_features": "degree"}, r"features= and node_features= \(--features, --node-features\)"),
    ],
)
def test_images_have_no_node_features(given: dict[str, str], named: str, tmp_path: Path) -> None:
    says = rf"mine.npz holds images, so leave out {named}\."
    refused(says, saved(tmp_path, x=X), **given)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"image_size": 8}, r"image_size= \(--image-size\)"),
        ({"skip_corrupt": True}, r"skip_corrupt= \(--skip-corrupt\)"),
        ({"image_size": 8, "skip_corrupt": True}, r"image_size= and skip_corrupt= \(--image-size, --skip-corrupt\)"),
    ],
)
def test_only_a_folder_of_images_has_its_options(given: dict[str, Any], named: str, tmp_path: Path) -> None:
    says = rf"is no folder of images, so leave out {named}\."
    refused(f"mine.npz {says}", saved(tmp_path, x=X), **given)
    refused(f"mine.npz {says}", saved(tmp_path, x=np.eye(4), edge_index=[[0, 1], [1, 2]]), **given)
    refused(r"There is no file or folder .*none\.npz\.", tmp_path / "none.npz", **given)
    with pytest.raises(InputError, match=f"The data set cora {says}"):
        load("cora", **given)


def test_a_folder_of_images_has_them(tmp_path: Path) -> None:
    for name, image in zip("ab", X, strict=False):
        (tmp_path / "mine" / name).mkdir(parents=True)
        Image.fromarray(image).save(tmp_path / "mine" / name / "0.png")
    (tmp_path / "mine" / "b" / "1.png").write_bytes(b"no image")
    data = load(tmp_path / "mine", image_size=4, skip_corrupt=True)
    assert data.x.shape == (2, 4, 4, 3)
    assert (data.class_names, data.image_ids) == (["a", "b"], ["a/0.png", "b/0.png"])
    refused(r"1\.png cannot be read as an image", tmp_path / "mine")
    refused("holds images, so leave out node_features=", tmp_path / "mine", node_features="degree")
