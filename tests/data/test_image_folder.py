"""A user's own images: folders by class, in parts and flat; sizes, damaged files, and sets larger than the memory."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from torch_geometric.data import Data

from sfa.data import arrays as mapped
from sfa.data import fingerprint, load
from sfa.data.readers import image_file
from sfa.data.readers.image_file import read_image
from sfa.data.readers.image_folder import holds_images, left_out_remark, read_image_folder
from sfa.errors import InputError
from tests.memory_maps import file_of

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which memory is which file")
BY_CLASS = ["cat/0.png", "cat/1.jpg", "cat/more/deep/2.PNG", "dog/10.png", "dog/9.webp"]
IN_PARTS = ["train/cat/0.png", "train/dog/0.png", "train/dog/1.png", "test/cat/0.png", "test/dog/5.bmp"]
FLAT = ["0.png", "1.jpg", "10.png", "2.tif"]


def write(folder: Path, names: list[str], *, height: int = 6, width: int = 8) -> Path:
    """Noise, of which each image has its own."""
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(number).integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(noise).save(path)
    return folder


def cut_short(path: Path) -> None:
    """To a size that its header does not give away."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def images_of(folder: Path, ids: list[str], **options: Any) -> NDArray[np.uint8]:
    return np.stack([read_image(folder / one, **options) for one in ids])


def labels_of(data: Data) -> list[str | None]:
    return [None if label < 0 else data.class_names[label] for label in data.y.tolist()]


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    return {str(p.relative_to(root)): (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(root.rglob("*"))}


@pytest.fixture
def few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 300 bytes are large: three images of 6 × 8 pixels."""
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 300)


def test_a_folder_by_class(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", BY_CLASS)
    for extra in (".hidden.png", "cat/.hidden.png", ".git/x.png", "README.md", "cat/notes.txt", "dog/9.webp.xmp"):
        (folder / extra).parent.mkdir(exist_ok=True)
        (folder / extra).write_text("left alone")
    before = snapshot(folder)
    data = read_image_folder(folder)
    assert data.image_ids == BY_CLASS
    assert np.array_equal(data.x.numpy(), images_of(folder, BY_CLASS))
    assert (labels_of(data), data.class_names) == (["cat", "cat", "cat", "dog", "dog"], ["cat", "dog"])
    assert (data.name, data.x.shape) == ("mine", (5, 6, 8, 3))
    assert [key for key in ("train_mask", "test_mask", "left_out", "mapped_features") if key in data] == []
    assert left_out_remark(data) is None
    assert snapshot(folder) == before
    assert fingerprint(load(folder)) == fingerprint(data)


@pytest.mark.parametrize("test", ["test", "val", "validation", "valid", "Test"])
def test_a_folder_in_parts(test: str, tmp_path: Path) -> None:
    names = [name.replace("test/", f"{test}/") for name in IN_PARTS]
    data = read_image_folder(write(tmp_path, names))
    assert data.image_ids == names
    assert labels_of(data) == ["cat", "dog", "dog", "cat", "dog"]
    assert data.train_mask.tolist() == [True, True, True, False, False]
    assert data.test_mask.tolist() == [False, False, False, True, True]


@pytest.mark.parametrize("third", ["val", "validation", "valid", "Val"])
def test_beside_a_part_to_test_on_one_may_validate(third: str, tmp_path: Path) -> None:
    data = read_image_folder(write(tmp_path, [*IN_PARTS, f"{third}/dog/7.png", f"{third}/dog/8.png"]))
    assert data.image_ids == [*IN_PARTS, f"{third}/dog/7.png", f"{third}/dog/8.png"]
    assert data.train_mask.tolist() == [True] * 3 + [False] * 4
    assert data.test_mask.tolist() == [False] * 3 + [True] * 2 + [False] * 2
    assert data.val_mask.tolist() == [False] * 5 + [True] * 2
    assert labels_of(data)[-1] == "dog"
    cut_short(tmp_path / third / "dog/7.png")
    assert read_image_folder(tmp_path, skip_corrupt=True).val_mask.tolist() == [False] * 5 + [True]
    assert "val_mask" not in read_image_folder(write(tmp_path / "two", IN_PARTS))


def test_train_may_be_a_class_or_a_part(tmp_path: Path) -> None:
    vehicles = read_image_folder(write(tmp_path / "vehicles", ["bus/0.png", "train/0.png"]))
    assert (vehicles.class_names, "train_mask" in vehicles) == (["bus", "train"], False)
    alone = read_image_folder(write(tmp_path / "alone", ["train/bus/0.png", "train/car/0.png"]))
    assert (alone.class_names, alone.image_ids[0]) == (["bus", "car"], "train/bus/0.png")
    assert "train_mask" not in alone


def test_a_class_that_is_not_tested(tmp_path: Path) -> None:
    data = read_image_folder(write(tmp_path, ["train/a/0.png", "train/b/0.png", "train/c/0.png", "test/b/0.png"]))
    assert data.y.tolist() == [0, 1, 2, 1]


def test_classes_whose_names_look_like_numbers_or_nothing(tmp_path: Path) -> None:
    data = read_image_folder(write(tmp_path, ["-1/0.png", "10/0.png", "2/0.png", "nan/0.png"]))
    assert (data.y.tolist(), data.class_names) == ([0, 1, 2, 3], ["-1", "10", "2", "nan"])


def test_a_flat_folder_and_its_labels(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", FLAT)
    (folder / "empty").mkdir()
    data = read_image_folder(folder)
    assert (data.image_ids, "y" in data) == (FLAT, False)
    (tmp_path / "other.csv").write_text("2.tif,b\n0.png,a\n")
    data = read_image_folder(folder, labels=tmp_path / "other.csv")
    assert labels_of(data) == ["a", None, None, "b"]
    (folder / "labels.csv").write_text("id,label\n0.png,7\n1.jpg,7\n10.png,9\n2.tif,7\n")
    assert labels_of(read_image_folder(folder)) == ["7", "7", "9", "7"]
    assert labels_of(load(folder, labels=tmp_path / "other.csv")) == ["a", None, None, "b"]


def test_flat_parts(tmp_path: Path) -> None:
    folder = write(tmp_path, ["train/0.png", "train/1.png", "test/0.png"])
    data = read_image_folder(folder)
    assert (data.train_mask.tolist(), "y" in data) == ([True, True, False], False)
    (folder / "labels.csv").write_text("train/0.png,a\ntest/0.png,b\n")
    assert labels_of(read_image_folder(folder)) == ["a", None, "b"]


def test_labels_that_are_given_count_instead_of_the_folders(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", BY_CLASS)
    (folder / "labels.csv").write_text("of,something\nelse,entirely\n")
    says = (
        rf"The folder {folder} has class folders and a labels\.csv in it, and either would give the labels: remove "
        r"one, or give --labels FILE \(labels=FILE\), which replaces the folders\."
    )
    with pytest.raises(InputError, match=says):
        read_image_folder(folder)
    (tmp_path / "y.csv").write_text("cat/0.png,indoors\ndog/9.webp,outdoors\n")
    data = read_image_folder(folder, labels=tmp_path / "y.csv")
    assert labels_of(data) == ["indoors", None, None, None, "outdoors"]


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_links_are_followed_but_not_in_circles(limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "MAPPED_BYTES", limit)
    folder, elsewhere = write(tmp_path / "mine", ["dog/0.png"]), write(tmp_path / "elsewhere", ["0.png"])
    (folder / "cat").symlink_to(elsewhere)
    (folder / "dog" / "1.png").symlink_to(elsewhere / "0.png")
    (folder / "dog" / "again").symlink_to(folder / "dog")
    assert read_image_folder(folder).image_ids == ["cat/0.png", "dog/0.png", "dog/1.png"]
    (elsewhere / "0.png").unlink()
    with pytest.raises(InputError, match="folder cat/ with no"):
        read_image_folder(folder)
    write(elsewhere, ["2.png"])
    with pytest.raises(InputError, match=r"1\.png cannot be read"):
        read_image_folder(folder, skip_corrupt=True)
    with pytest.raises(InputError, match=r"1\.png cannot be read"):
        read_image_folder(folder, skip_corrupt=True, image_size=8)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_no_image(tmp_path: Path) -> None:
    folder = write(tmp_path, ["0.png"])
    os.mkfifo(folder / "1.png")
    assert read_image_folder(folder).image_ids == ["0.png"]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ([], r"mine has no images in it; allowed are \.png, .*\.pgm"),
        (["cat/notes.txt", "dog/notes.txt"], r"mine has no images in it; allowed are \.png"),
        (["cat/0.png", "dog/notes.txt"], r"mine has a folder dog/ with no images in it; allowed are \.png"),
        (["cat/0.png", "1.png"], r"mine has images in it \(1\.png\) and in folders \(cat/\)"),
        (["test/cat/0.png", "val/cat/0.png"], r"mine has test/ in it but no train/"),
        (["train/cat/0.png", "test/dog/0.png"], r"mine/test has a class 'dog', which .*mine/train does not have"),
        (["train/cat/0.png", "test/0.png"], r"mine/test has images in no class folder, which .*train does not have"),
        (["train/0.png", "test/cat/0.png"], r"mine/test has a class 'cat', which .*train does not have"),
        (["train/a/0.png", "test/a/0.png", "more/0.png"], r"parts \(train/, test/\), and images .*\(more/\)"),
        (["train/a/0.png", "test/a/0.png", "0.png"], r"parts \(train/, test/\), and images beside .*\(0\.png\)"),
        (["train/0.png", "val/0.png", "valid/0.png"], r"mine has both val/ and valid/ in it, which are one part"),
        (["train/a/0.png", "test/a/0.png", "val/b/0.png"], r"mine/val has a class 'b', which .*mine/train does not"),
        (["train/a/0.png", "test/notes.txt"], r"mine/test has no images in it"),
        (["train/a/0.png", "train/b/notes.txt", "test/a/0.png"], r"mine/train has a folder b/ with no images in it"),
    ],
)
def test_what_is_wrong_in_a_folder_is_said(names: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    write(tmp_path / "mine", [name for name in names if not name.endswith(".txt")])
    for name in names:
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".txt"):
            (tmp_path / "mine" / name).write_text("nothing")
    with pytest.raises(InputError, match=says) as caught:
        read_image_folder(tmp_path / "mine")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "id,label\n5,a\n",
            r"labels the image '5', which the set does not have; ids are names of files such as 0\.png\.",
        ),
        (
            "id,label\n0.jpg,a\n",
            r"labels the image '0\.jpg', which the set does not have; ids are names of files such as",
        ),
        ("id,label\n0.png,a\n0,b\n", r"labels the image '0\.png' more than once"),
        ("id,label\n0.png,a\n0.png,b\n", "labels the image '0.png' more than once"),
        ("id,label,why\n0.png,a,x\n", "has 3 columns; a label file has two, the image id and its label"),
    ],
)
def test_wrong_labels_are_said_before_anything_is_decoded(content: str, says: str, tmp_path: Path) -> None:
    folder = write(tmp_path, FLAT)
    cut_short(folder / FLAT[0])
    (folder / "labels.csv").write_text(content)
    with pytest.raises(InputError, match=says):
        read_image_folder(folder)


def test_labels_may_leave_out_what_file_names_end_in(tmp_path: Path) -> None:
    folder = write(tmp_path / "flat", [*FLAT, "2.png", "id.png"])
    (folder / "labels.csv").write_text("id,label\n0,a\n1,b\n10.png,a\n2.png,b\n")
    assert labels_of(read_image_folder(folder)) == ["a", "b", "a", "b", None, None]
    (folder / "labels.csv").write_text("id,label\n2,a\n")
    with pytest.raises(InputError, match="the image '2', which"):
        read_image_folder(folder)
    (tmp_path / "y.csv").write_text("cat/0,a\ndog/9,b\n")
    by_class = write(tmp_path / "by_class", BY_CLASS)
    assert labels_of(read_image_folder(by_class, labels=tmp_path / "y.csv")) == ["a", None, None, None, "b"]


@pytest.mark.parametrize("options", [{}, {"image_size": 8}])
def test_images_that_are_no_set_are_said_to_be_such(options: dict[str, Any], tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", BY_CLASS)
    with pytest.raises(InputError, match=r"cat/0\.png is one image"):
        load(folder / "cat/0.png", **options)
    (tmp_path / "photos/more").mkdir(parents=True)
    (tmp_path / "photos/labels.csv").write_text("1,a\n")
    (tmp_path / "photos/more/1.HEIC").touch()
    with pytest.raises(InputError, match=r"no images \(\.png, \.jpg"):
        load(tmp_path / "photos")
    with pytest.raises(InputError, match="cannot be read from"):
        load(tmp_path / "photos/more/1.HEIC")
    write(tmp_path / "photos", ["more/0.png"])
    (tmp_path / "photos/labels.csv").unlink()
    assert load(tmp_path / "photos", **options).image_ids == ["more/0.png"], "others are left alone"


def test_pictures_beside_graphs_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("source,target\n0,1\n1,2\n")
    (tmp_path / "a.svg").touch()
    assert load(tmp_path).num_nodes == 3


def test_one_image_is_a_set(tmp_path: Path) -> None:
    assert read_image_folder(write(tmp_path, ["a/0.png"])).x.shape == (1, 6, 8, 3)


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system says it; root, who tests here, could read a folder of any mode."""

    def refuse(path: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    folder = write(tmp_path, FLAT)
    monkeypatch.setattr(os, "scandir", refuse)
    assert not holds_images(folder)
    with pytest.raises(InputError, match="cannot be read: Permission"):
        read_image_folder(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_no_text_is_said(tmp_path: Path) -> None:
    folder = write(tmp_path, FLAT)
    os.rename(folder / "0.png", os.fsencode(folder) + b"/\xff.png")
    with pytest.raises(InputError, match=r"name b'\\xff.png' in"):
        read_image_folder(folder)


def test_images_of_two_sizes_need_one(tmp_path: Path) -> None:
    folder = write(write(tmp_path, ["a/0.png"]), ["a/1.png"], width=9)
    says = (
        r"different sizes: a/0\.png is 6 × 8 pixels \(height × width\), and a/1\.png is 6 × 9; give a size .*"
        r"--image-size 64 \(image_size=64\)"
    )
    with pytest.raises(InputError, match=says):
        read_image_folder(folder)
    (folder / "a/+.png").write_bytes(b"")  # is the first, and has none
    with pytest.raises(InputError, match=says):
        read_image_folder(folder, skip_corrupt=True)
    (folder / "a/+.png").unlink()
    for size in (5, 32):
        data = read_image_folder(folder, image_size=size)
        assert np.array_equal(data.x.numpy(), images_of(folder, data.image_ids, image_size=size))
        assert data.x.shape == (2, size, size, 3)
    with pytest.raises(InputError, match="image size is 3"):
        read_image_folder(folder, image_size=3)


def test_the_size_is_that_of_the_upright_image(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (6, 8)).save(write(tmp_path, FLAT) / "3.jpg", exif=exif)
    assert read_image_folder(tmp_path).x.shape == (5, 6, 8, 3)


def test_different_sizes_are_said_before_the_long_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(write(tmp_path, FLAT), ["9.png"], width=9)
    monkeypatch.setattr(image_file, "read_image", lambda path, **_: pytest.fail("decoded"))
    with pytest.raises(InputError, match=r"0\.png is 6 ×"):
        read_image_folder(folder)
    (folder / "9.png").write_text("no image")
    with pytest.raises(InputError, match=r"9\.png cannot be read"):
        read_image_folder(folder)
    with pytest.raises(InputError, match=r"9\.png cannot be read"):
        read_image_folder(folder, image_size=8)


def damage(folder: Path) -> list[str]:
    cut_short(folder / "cat/0.png")
    cut_short(folder / "cat/1.jpg")
    (folder / "dog/10.png").write_text("no image")
    (folder / "dog/9.webp").write_bytes(b"")
    return ["cat/0.png", "cat/1.jpg", "dog/10.png", "dog/9.webp"]


@pytest.mark.parametrize("large", [False, True])
def test_what_is_corrupt_is_an_error_unless_it_is_to_be_left_out(
    large: bool, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 300 if large else 1 << 30)
    folder = write(tmp_path / "mine", [*BY_CLASS, "emu/0.png"])
    wanted = read_image_folder(folder).x.clone()
    shutil.rmtree(cache, ignore_errors=True)
    cut_short(folder / "dog/10.png")
    says = r"dog/10\.png cannot be read as an image: .+; --skip-corrupt \(skip_corrupt=True\) leaves such images out"
    for _ in range(2):
        with pytest.raises(InputError, match=says) as caught:
            read_image_folder(folder)
        assert "\n" not in str(caught.value)
        data = read_image_folder(folder, skip_corrupt=True)  # after this it lies in the cache, if it is large
        assert data.left_out == ["dog/10.png"]
        assert data.image_ids == ["cat/0.png", "cat/1.jpg", "cat/more/deep/2.PNG", "dog/9.webp", "emu/0.png"]
        assert np.array_equal(data.x.numpy(), wanted.numpy()[[0, 1, 2, 4, 5]])
        assert labels_of(data) == ["cat", "cat", "cat", "dog", "emu"]
        assert left_out_remark(data) == "1 of 6 images could not be read and was left out: dog/10.png"


def test_many_that_are_left_out_are_counted_and_some_named(tmp_path: Path) -> None:
    folder = write(tmp_path, [*BY_CLASS, *(f"emu/{i}.png" for i in range(4))])
    left_out = damage(folder)
    data = read_image_folder(folder, skip_corrupt=True)
    assert (data.left_out, len(data.x)) == (left_out, 5)
    assert left_out_remark(data) == (
        "4 of 9 images could not be read and were left out: cat/0.png, cat/1.jpg, dog/10.png, dog/9.webp"
    )
    for i in range(2):
        (folder / f"emu/{i}.png").write_bytes(b"")
    assert left_out_remark(read_image_folder(folder, skip_corrupt=True)) == (
        "6 of 9 images could not be read and were left out: cat/0.png, cat/1.jpg, dog/10.png, dog/9.webp, emu/0.png, …"
    )


@pytest.mark.parametrize("size", [None, 8])
def test_if_none_can_be_read_that_is_said(size: int | None, tmp_path: Path) -> None:
    folder = write(tmp_path, BY_CLASS)
    damage(folder)
    (folder / "cat/more/deep/2.PNG").write_bytes(b"")
    with pytest.raises(InputError, match=r"the first \(cat/0\.png\) because"):
        read_image_folder(folder, skip_corrupt=True, image_size=size)
    for one in ("cat/0.png", "cat/1.jpg"):
        (folder / one).write_bytes(b"")
    with pytest.raises(InputError, match="of the 5 images"):
        read_image_folder(folder, skip_corrupt=True, image_size=size)


def test_a_size_that_the_header_does_not_tell(tmp_path: Path) -> None:
    """The orientation may stand behind the pixels of a PNG, where only decoding comes upon it."""
    folder = write(tmp_path, FLAT)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (8, 6)).save(folder / "3.png", exif=exif)
    content = (folder / "3.png").read_bytes()
    start = content.index(b"eXIf") - 4
    end = start + 12 + int.from_bytes(content[start : start + 4], "big")
    tail = content.index(b"IEND") - 4
    (folder / "3.png").write_bytes(content[:start] + content[end:tail] + content[start:end] + content[tail:])
    with pytest.raises(InputError, match=r"3\.png cannot be read"):
        read_image_folder(folder)
    assert read_image_folder(folder, skip_corrupt=True).left_out == ["3.png"]
    assert len(read_image_folder(folder, image_size=8).x) == 5


def test_warnings_about_metadata_are_not_heard(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Image.new("RGB", (8, 6)).save(write(tmp_path, FLAT) / "3.jpg", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    assert len(read_image_folder(tmp_path).x) == 5
    assert capfd.readouterr() == ("", "")


@linux
@pytest.mark.usefixtures("few_bytes")
@pytest.mark.parametrize("size", [None, 8])
def test_a_large_set_is_decoded_once_and_mapped(
    size: int | None, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "mine", IN_PARTS)
    before = snapshot(folder)
    first = read_image_folder(folder, image_size=size)
    monkeypatch.setattr(image_file, "read_image", lambda path, **_: pytest.fail("decoded again"))
    again = read_image_folder(folder, image_size=size)
    for data in (first, again):
        assert data.mapped_features is True
        assert str(file_of(data.x)).startswith(str(cache))
        assert np.array_equal(data.x.numpy(), images_of(folder, IN_PARTS, image_size=size))
        assert data.image_ids == IN_PARTS
        assert labels_of(data) == ["cat", "dog", "dog", "cat", "dog"]
        assert data.train_mask.tolist() == [True, True, True, False, False]
    assert snapshot(folder) == before
    (made,) = (cache / "processed").iterdir()
    assert sorted(path.name for path in made.iterdir()) == ["images.bin", "left_out.json"]
    assert np.array_equal(np.fromfile(made / "images.bin", np.uint8), first.x.numpy().ravel())


@linux
@pytest.mark.usefixtures("few_bytes")
def test_a_small_set_stays_in_memory(tmp_path: Path, cache: Path) -> None:
    data = read_image_folder(write(tmp_path, FLAT[:2]))
    assert "mapped_features" not in data
    assert file_of(data.x) is None
    assert not cache.exists()


@pytest.mark.usefixtures("few_bytes")
def test_a_set_that_has_changed_is_decoded_anew(tmp_path: Path, cache: Path) -> None:
    folder = write(tmp_path / "mine", FLAT)
    seen = [read_image_folder(folder)]
    write(folder, ["10.png", "3.png"])
    seen.append(read_image_folder(folder))
    assert np.array_equal(seen[1].x.numpy(), images_of(folder, ["0.png", "1.jpg", "10.png", "2.tif", "3.png"]))
    os.utime(folder / "0.png", ns=(5, 5))
    read_image_folder(folder)
    read_image_folder(folder, image_size=7)
    assert len(list((cache / "processed").iterdir())) == 4
    shutil.copytree(folder, tmp_path / "copy")
    read_image_folder(tmp_path / "copy")
    assert len(list((cache / "processed").iterdir())) == 5


@pytest.mark.usefixtures("few_bytes")
@pytest.mark.parametrize("limit", [100, 500])
def test_a_full_disk_is_said_in_one_sentence_and_nothing_is_left(limit: int, tmp_path: Path, cache: Path) -> None:
    resource = pytest.importorskip("resource")
    folder = write(tmp_path / "mine", FLAT)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        says = (
            r"decoded images take 0\.0 GB, for which there is no room in the cache folder .*image-size.*XDG_CACHE_HOME"
        )
        with pytest.raises(InputError, match=says) as caught:
            read_image_folder(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)
    assert list((cache / "processed").iterdir()) == []
    assert len(read_image_folder(folder).x) == 4


@pytest.mark.usefixtures("few_bytes")
def test_a_disk_that_is_too_small_is_told_before_the_long_work(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "mine", FLAT)
    usage = shutil.disk_usage(tmp_path)._replace(free=500)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(image_file, "read_image", lambda path, **_: pytest.fail("decoded"))
    with pytest.raises(InputError, match="in the cache folder"):
        read_image_folder(folder)
    assert list((cache / "processed").iterdir()) == []


@pytest.mark.usefixtures("few_bytes")
def test_an_interrupted_decoding_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    folder, threads = write(tmp_path / "mine", FLAT), threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        read_image_folder(folder, on_image=stop)
    assert list((cache / "processed").iterdir()) == []
    assert threading.active_count() == threads


@pytest.mark.usefixtures("few_bytes")
def test_of_two_processes_one_decodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads stand for them: a lock belongs to the open folder, and each opens it for itself."""
    folder, decoded = write(tmp_path / "mine", FLAT), []
    together = threading.Barrier(2)

    def counted(path: Path, **options: Any) -> Any:
        decoded.append(path)
        return read_image(path, **options)

    def run() -> None:
        together.wait()
        assert len(read_image_folder(folder).x) == 4

    monkeypatch.setattr(image_file, "read_image", counted)
    others = [threading.Thread(target=run) for _ in range(2)]
    for one in others:
        one.start()
    for one in others:
        one.join()
    assert len(decoded) == 4


@pytest.mark.usefixtures("few_bytes")
def test_a_damaged_cache_is_said(tmp_path: Path, cache: Path) -> None:
    folder = write(tmp_path / "mine", FLAT)
    read_image_folder(folder)
    (made,) = (cache / "processed").iterdir()
    (made / "images.bin").write_bytes((made / "images.bin").read_bytes()[:-10])
    with pytest.raises(InputError, match=r"images\.bin cannot be read"):
        read_image_folder(folder)


def test_images_come_in_order_however_long_each_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is decoded last of those under way; and few are under way at a time."""
    monkeypatch.setattr(image_file, "THREADS", 3)
    names = [f"{i:03}.png" for i in range(60)]
    folder = write(tmp_path, names)
    last, waiting, done, ahead = threading.Event(), set(names), [], []

    def slow(path: Path, **options: Any) -> Any:
        if path.name == "000.png":
            last.wait(10)
        image = read_image(path, **options)
        waiting.discard(path.name)
        if path.name == "002.png":
            last.set()
        ahead.append(60 - len(waiting) - len(done))
        return image

    monkeypatch.setattr(image_file, "read_image", slow)
    data = read_image_folder(folder, on_image=lambda count, total: done.append((count, total)))
    assert done == [(count, 60) for count in range(1, 61)]
    assert np.array_equal(data.x.numpy(), images_of(folder, names))
    assert max(ahead) <= 2 * 3 + 3


def test_what_is_a_folder_of_images(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for names, is_one in [
        (["0.png"], True),
        (["a/b/c/d/0.jpg", "labels.csv"], True),
        (["train/a/0.JPEG", "classes.txt", "metadata.csv"], True),
        (["a.gml", "picture.png"], False),
        (["a.csv", "a.features.csv", "figures/0.png"], False),
        (["a.npz"], False),
        (["notes.md", ".hidden.png", ".git/0.png"], False),
        ([], False),
    ]:
        with subtests.test(str(names)):
            folder = Path(tempfile.mkdtemp(dir=tmp_path))
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).touch()
            assert holds_images(folder) == is_one
            assert not holds_images(folder / "nowhere")
            (folder / "file.png").touch()
            assert not holds_images(folder / "file.png")


def test_a_look_into_a_folder_is_no_walk_through_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, scandir = [], os.scandir

    def counted(path: Any) -> Any:
        looks.append(path)
        return scandir(path)

    write(tmp_path / "images", [f"{i}/0.png" for i in range(30)])
    for i in range(30):
        (tmp_path / "none" / str(i)).mkdir(parents=True)
    monkeypatch.setattr("sfa.data.readers.image_folder.os.scandir", counted)
    assert holds_images(tmp_path / "images")
    assert len(looks) <= 4  # the folder's own list of files is one more look
    looks.clear()
    monkeypatch.setattr("sfa.data.readers.image_folder.LOOKS", 10)
    assert not holds_images(tmp_path / "none")
    assert len(looks) <= 12
