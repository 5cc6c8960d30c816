"""ImageNet-100 on small files of the same layout."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sfa.data import arrays as mapped
from sfa.data import load, locate, names
from sfa.data.image_sets import read_class_list
from sfa.data.readers.image_file import read_image
from sfa.errors import InputError

BUNDLED = Path(mapped.__file__).parent / "bundled" / "imagenet100.txt"
CLASSES = ["n01558993", "n01692333", "n01729322"]


def write(folder: Path, classes: list[str], *, train: int = 2) -> Path:
    """Photographs of all shapes, as ImageNet's are."""
    rng = np.random.default_rng(len(classes))
    for part, count in (("train", train), ("val", 1)):
        for name in classes:
            (folder / part / name).mkdir(parents=True, exist_ok=True)
            for number in range(count):
                noise = rng.integers(0, 256, (*rng.integers(5, 12, 2), 3), dtype=np.uint8)
                Image.fromarray(noise).save(folder / part / name / f"{name}_{number}.JPEG")
    return folder


@pytest.mark.parametrize("place", ["imagenet-100", "imagenet100", "images/imagenet-100"])
def test_a_folder_of_the_hundred(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / place, CLASSES)
    data = load("imagenet-100", root=tmp_path)
    ids = [f"train/{name}/{name}_{i}.JPEG" for name in CLASSES for i in range(2)]
    ids += [f"val/{name}/{name}_0.JPEG" for name in CLASSES]
    assert (data.image_ids, data.name, data.class_names) == (ids, "imagenet-100", CLASSES)
    assert data.x.shape == (9, 224, 224, 3)
    assert np.array_equal(data.x[7].numpy(), read_image(folder / ids[7], image_size=224))
    assert data.y.tolist() == [0, 0, 1, 1, 2, 2, 0, 1, 2]
    assert data.train_mask.tolist() == [True] * 6 + [False] * 3
    assert (data.train_mask ^ data.test_mask).all()
    assert locate("imagenet-100", tmp_path) == folder
    monkeypatch.setenv("SFA_DATA", str(tmp_path))
    assert locate("ImageNet-100") == folder


def test_what_a_folder_of_images_may_be_told(tmp_path: Path) -> None:
    folder = write(tmp_path / "imagenet-100", CLASSES)
    (folder / "train/n01692333/n01692333_1.JPEG").write_bytes(b"")
    with pytest.raises(InputError, match=r"n01692333_1\.JPEG cannot be read"):
        load("imagenet-100", root=tmp_path, image_size=16)
    data = load("imagenet-100", root=tmp_path, image_size=16, skip_corrupt=True)
    assert (data.x.shape, data.left_out) == ((8, 16, 16, 3), ["train/n01692333/n01692333_1.JPEG"])
    assert data.y.tolist() == [0, 0, 1, 2, 2, 0, 1, 2]
    with pytest.raises(InputError, match="imagenet-100 has its own"):
        load("imagenet-100", root=tmp_path, labels=tmp_path / "y.csv")
    with pytest.raises(InputError, match="image size is 3"):
        load("imagenet-100", root=tmp_path, image_size=3)


def test_of_the_whole_the_published_hundred_are_read(tmp_path: Path) -> None:
    published = list(read_class_list(BUNDLED))
    folder = write(tmp_path / "imagenet", [*published, "n01440764", "n15075141"], train=1)
    (folder / "test").mkdir()  # has no labels, and is left alone
    Image.new("RGB", (5, 5)).save(folder / "test" / "ILSVRC2012_test_00000001.JPEG")
    data = load("imagenet-100", root=tmp_path, image_size=4)
    assert data.class_names == published
    assert (int(data.train_mask.sum()), int(data.test_mask.sum())) == (100, 100)
    assert data.image_ids[0] == "train/n01558993/n01558993_0.JPEG"
    assert not any("n01440764" in one or one.startswith("test") for one in data.image_ids)
    (folder / "val" / "n02869837" / "n02869837_0.JPEG").unlink()
    (folder / "val" / "n02869837").rmdir()
    (folder / "val" / "n02869837").touch()  # a file and no class
    with pytest.raises(InputError, match="imagenet/val has no folder"):
        load("imagenet-100", root=tmp_path)


def test_the_bundled_list_is_one_of_a_hundred() -> None:
    """Facts that others tell of it: robin, tabby cat and ambulance are in it, tench and goldfish are not."""
    listed = read_class_list(BUNDLED)
    assert len(listed) == 100
    assert list(listed) == sorted(listed)
    assert all(re.fullmatch(r"n\d{8}", one) and name == one for one, name in listed.items())
    assert {"n01558993", "n02123045", "n02701002", "n02869837", "n02090622"} <= set(listed)
    assert {"n01440764", "n01443537"}.isdisjoint(listed)


@pytest.mark.parametrize("folder", ["imagenet", "imagenet-100"])
@pytest.mark.parametrize("beside", [False, True])
def test_a_list_of_ones_own_says_which_classes_and_their_names(folder: str, beside: bool, tmp_path: Path) -> None:
    write(tmp_path / folder, [*CLASSES, "n01440764"])
    place = tmp_path if beside else tmp_path / folder
    text = "\ufeff# mine\nn01729322\thognose snake, or puff adder\n\n n01558993, robin \nn01440764\n"
    (place / "imagenet100.txt").write_text(text, encoding="utf-8")
    data = load("imagenet-100", root=tmp_path, image_size=8)
    assert data.class_names == ["n01440764", "robin", "hognose snake, or puff adder"]
    assert data.y.tolist() == [0, 0, 1, 1, 2, 2, 0, 1, 2]
    assert "n01692333" not in " ".join(data.image_ids)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "n01558993\nrobin\n",
            r"imagenet100\.txt has 'robin' in line 2, but each line lists another class by its WordNet id",
        ),
        ("n01558993\nn01692333\nn01558993\n", r"has 'n01558993' in line 3, but each line lists another class"),
        ("n01558993 crane\nn01692333 crane\n", r"has 'n01692333 crane' in line 2, but each line lists another class"),
        ("# nothing\n\n", r"imagenet100\.txt lists no classes"),
        (
            "n01558993\nn09999999\nn08888888\n",
            r"train has no folder n08888888 in it \(2 of 3 class folders are missing",
        ),
        ("\x00\xff", r"imagenet100\.txt "),
    ],
)
def test_what_is_wrong_with_a_list_is_said(text: str, says: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "imagenet-100", CLASSES)
    (folder / "imagenet100.txt").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=says) as caught:
        load("imagenet-100", root=tmp_path)
    assert "\n" not in str(caught.value)


def test_where_it_is_looked_for_is_said(tmp_path: Path) -> None:
    assert locate("imagenet-100", tmp_path) is None
    says = r"and is never downloaded .*; give .* imagenet-100/ or all of imagenet/.*train/ and val/.*SFA_DATA"
    with pytest.raises(InputError, match=says) as caught:
        load("imagenet-100", root=tmp_path)
    assert str(tmp_path) in str(caught.value)
    write(tmp_path / "imagenet-100", CLASSES)
    for path in sorted((tmp_path / "imagenet-100" / "val").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (tmp_path / "imagenet-100" / "val").rmdir()
    with pytest.raises(InputError, match="it; imagenet-100 needs train"):
        load("imagenet-100", root=tmp_path)


def test_the_users_root_comes_before_the_cache(tmp_path: Path, cache: Path) -> None:
    write(cache / "imagenet-100", CLASSES)
    assert locate("imagenet-100") == cache / "imagenet-100"
    folder = write(tmp_path / "data" / "imagenet", CLASSES)
    assert locate("imagenet-100", tmp_path / "data") == folder


def test_it_is_told_of() -> None:
    (info,) = (info for info in names() if info.name == "imagenet-100")
    assert (info.task, info.bundled) == ("image", False)
