"""Named image sets: CIFAR on small files of its layout, with downloads from a local server, its subsets, and digits."""

from __future__ import annotations

import difflib
import hashlib
import io
import itertools
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pooch
import pytest
import requests
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from sfa.data import fingerprint, load, locate, names
from sfa.data.image_sets import CIFAR10, CIFAR100, Cifar
from sfa.errors import InputError
from tests.parts import replace_part

Files = dict[str, bytes]
SETS = {"cifar10": CIFAR10, "cifar100": CIFAR100}


def images(count: int, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)


def record(image: NDArray[np.uint8], *labels: int) -> bytes:
    """The bytes of one image, value by value."""
    planes = [image[row, column, channel] for channel in range(3) for row in range(32) for column in range(32)]
    return bytes([*labels, *planes])


def cifar10(count: int = 2) -> tuple[Files, NDArray[np.uint8], list[int]]:
    x = images(6 * count, 0)
    y = [(3 * i) % 10 for i in range(len(x))]
    files = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
    content = {
        file: b"".join(record(x[i], y[i]) for i in range(number * count, (number + 1) * count))
        for number, file in enumerate(files)
    }
    return {**content, "batches.meta.txt": b"\n".join(b"kind%d" % i for i in range(10)) + b"\n\n"}, x, y


def cifar100() -> tuple[Files, NDArray[np.uint8], list[int]]:
    x = images(5, 1)
    y = [99, 0, 7, 50, 3]
    records = [record(image, label // 5, label) for image, label in zip(x, y, strict=True)]
    fine = b"".join(b"fine%02d\n" % i for i in range(100))
    coarse = b"".join(b"coarse%02d\n" % i for i in range(20))
    names = {"fine_label_names.txt": fine, "coarse_label_names.txt": coarse}
    return {"train.bin": b"".join(records[:3]), "test.bin": b"".join(records[3:]), **names}, x, y


CONTENT = {"cifar10": cifar10, "cifar100": cifar100}
TRAINING = {"cifar10": 10, "cifar100": 3}
IN_A_FILE = {"cifar10": (2, 2), "cifar100": (3, 2)}
NAMES = {"cifar10": [f"kind{i}" for i in range(10)], "cifar100": [f"fine{i:02}" for i in range(100)]}


def small(name: str) -> Cifar:
    """The set with as many records as the files here have."""
    in_train_file, in_test_file = IN_A_FILE[name]
    return replace(SETS[name], in_train_file=in_train_file, in_test_file=in_test_file)


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETS:
        replace_part(monkeypatch, "dataset", name, small(name))


def write(base: Path, name: str, **changes: bytes | None) -> Path:
    folder = base / SETS[name].places[-1]
    folder.mkdir(parents=True)
    content = CONTENT[name]()[0] | {file.replace("_bin", ".bin"): given for file, given in changes.items()}
    for file, given in content.items():
        if given is not None:
            (folder / file).write_bytes(given)
    return folder


def packed(name: str, to: Path, extra: tarfile.TarInfo | None = None) -> None:
    with tarfile.open(to, "w:gz") as archive:
        for file, content in CONTENT[name]()[0].items():
            member = tarfile.TarInfo(f"{SETS[name].places[-1]}/{file}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        if extra is not None:
            archive.addfile(extra, io.BytesIO(b"x" * extra.size))


class Handler(SimpleHTTPRequestHandler):
    """Serves files in silence, and cuts `/cut` off after three bytes."""

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path != "/cut":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"arc")
        return None


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=tmp_path)) as serving:
        threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


def published(name: str, file: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> Cifar:
    """The set as if its archive were this file."""
    md5 = hashlib.md5(file.read_bytes()).hexdigest() if file.exists() else "0" * 32
    origin = replace(small(name), url=f"{server}/{file.name}", md5=md5)
    replace_part(monkeypatch, "dataset", name, origin)
    return origin


@pytest.mark.parametrize("under", ["", "images"])
@pytest.mark.parametrize("name", SETS)
def test_a_set_in_the_users_root_is_read(name: str, under: str, tmp_path: Path, cache: Path) -> None:
    folder = write(tmp_path / under, name)
    _, x, y = CONTENT[name]()
    data = load(name, root=tmp_path)
    assert np.array_equal(data.x.numpy(), x)
    assert data.y.tolist() == y
    assert (data.class_names, data.name) == (NAMES[name], name)
    assert data.image_ids == list(range(len(x)))
    assert data.train_mask.nonzero().flatten().tolist() == list(range(TRAINING[name]))
    assert data.test_mask.nonzero().flatten().tolist() == list(range(TRAINING[name], len(x)))
    assert locate(name, tmp_path) == folder
    assert not cache.exists()


def test_what_is_known_by_name() -> None:
    known = {info.name: info for info in names() if info.task == "image"}
    assert {"digits", "cifar10", "cifar100", "cifar10-subset", "cifar100-subset"} <= set(known)
    assert {name for name, info in known.items() if info.bundled} == {"digits"}
    assert {name for name, info in known.items() if info.downloaded} == {"cifar10", "cifar100"}
    assert CIFAR10.url == "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
    assert CIFAR100.url == "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"


def test_a_set_has_its_own_labels_and_size(tmp_path: Path) -> None:
    write(tmp_path, "cifar10")
    with pytest.raises(InputError, match="cifar10 has its own"):
        load("cifar10", root=tmp_path, labels=tmp_path / "y.csv")
    for given in ({"image_size": 16}, {"skip_corrupt": True}):
        (name,) = given
        with pytest.raises(
            InputError, match=rf"data set cifar10 is no folder of images, so leave out {name}= \(--\S+\)\."
        ):
            load("cifar10", root=tmp_path, **given)  # type: ignore[arg-type]


RECORD = record(images(1, 2)[0], 1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"data_batch_3_bin": None}, r"has no file data_batch_3\.bin; cifar10 needs data_batch_1\.bin"),
        ({"batches.meta.txt": None}, r"has no file batches\.meta\.txt"),
        (
            {"data_batch_2_bin": RECORD[:-1]},
            r"data_batch_2\.bin has 3072 bytes, .* records of 3073 bytes in it: it is cut short",
        ),
        ({"test_batch_bin": b""}, r"test_batch\.bin has 0 bytes"),
        (
            {"test_batch_bin": RECORD + b"\x0a" + RECORD[1:]},
            r"test_batch\.bin has the label 10, but batches\.meta\.txt has 10 names",
        ),
        (
            {"data_batch_4_bin": RECORD},
            r"data_batch_4\.bin has 3073 bytes, but cifar10 as published has 2 records .*: it is cut",
        ),
        ({"test_batch_bin": 3 * RECORD}, r"test_batch\.bin has 9219 bytes, but cifar10 as published has 2 records"),
        ({"batches.meta.txt": b"\xff\xfe"}, "files of cifar10 in .* cannot be read, they may be damaged"),
        ({"batches.meta.txt": b"a\n" * 10}, "class name 'a' is given more than once"),
    ],
)
def test_damaged_files_are_said(changes: dict[str, bytes | None], says: str, tmp_path: Path) -> None:
    write(tmp_path, "cifar10", **changes)
    with pytest.raises(InputError, match=says) as caught:
        load("cifar10", root=tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", SETS)
def test_a_download_is_kept_whole(
    name: str, tmp_path: Path, cache: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed(name, tmp_path / "archive.tar.gz")
    origin = published(name, tmp_path / "archive.tar.gz", server, monkeypatch)
    (tmp_path / "root").mkdir()
    assert locate(name, tmp_path / "root") is None
    for _ in range(2):
        assert np.array_equal(load(name, root=tmp_path / "root").x.numpy(), CONTENT[name]()[1])
        (tmp_path / "archive.tar.gz").unlink(missing_ok=True)  # the second time from the cache
    assert locate(name) == cache / origin.places[-1]
    assert [path.name for path in cache.iterdir()] == [origin.places[-1]]
    assert list((tmp_path / "root").iterdir()) == []


def test_as_many_images_as_are_published_are_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [(one.in_train_file, one.in_test_file) for one in SETS.values()] == [(10_000, 10_000), (50_000, 10_000)]
    write(tmp_path, "cifar100")
    replace_part(monkeypatch, "dataset", "cifar100", replace(small("cifar100"), in_test_file=3))
    with pytest.raises(InputError, match=r"/test\.bin has 6148 bytes"):
        load("cifar100", root=tmp_path)


def test_without_a_network_it_is_said_what_to_do(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(self: object, url: str, *args: object) -> None:
        asked.append(url)
        raise requests.ConnectionError("no network")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", refuse)
    (tmp_path / "mine").mkdir()
    for root, looked_in in ((None, cache), (tmp_path / "mine", tmp_path / "mine")):
        with pytest.raises(
            InputError,
            match=rf"cifar10 .* could not be downloaded .ConnectionError. .*{looked_in}\); give the folder that "
            r"holds cifar-10-batches-bin/ .* with --data-root or SFA_DATA, or use the bundled digits\.",
        ):
            load("cifar10", root=root)
    assert asked == 2 * [CIFAR10.url]
    assert not cache.exists()


def test_a_download_that_fails_leaves_nothing(cache: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, error in (("cut", r"\w+"), ("not_there", "HTTPError")):
        published("cifar100", Path(path), server, monkeypatch)
        with pytest.raises(InputError, match=rf"cifar100 .* could not be downloaded \({error}\)"):
            load("cifar100")
        assert not cache.exists()


def test_another_archive_is_refused(tmp_path: Path, cache: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packed("cifar10", tmp_path / "archive.tar.gz")
    origin = published("cifar10", tmp_path / "archive.tar.gz", server, monkeypatch)
    packed("cifar100", tmp_path / "archive.tar.gz")
    with pytest.raises(InputError, match=f"has now is not as published: its MD5 is .* and not {origin.md5}"):
        load("cifar10")
    assert not cache.exists()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    made.size = 3 if kind == tarfile.REGTYPE else 0
    return made


@pytest.mark.parametrize(
    "extra",
    [
        member("../evil"),
        member("cifar-10-batches-bin/../../evil"),
        member("/tmp/sfa-evil"),
        member("elsewhere/evil"),
        member("evil"),
        member("cifar-10-batches-bin/link", tarfile.SYMTYPE, "/etc"),
        member("cifar-10-batches-bin/hard", tarfile.LNKTYPE, "../evil"),
        member("cifar-10-batches-bin/pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda extra: extra.name,
)
def test_an_archive_that_reaches_out_of_its_folder_writes_nothing_there(
    extra: tarfile.TarInfo, tmp_path: Path, cache: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed("cifar10", tmp_path / "archive.tar.gz", extra)
    published("cifar10", tmp_path / "archive.tar.gz", server, monkeypatch)
    if ".." in extra.name or extra.type != tarfile.REGTYPE:
        with pytest.raises(InputError, match=r"could not be downloaded \(\w*(Outside|Absolute|Special)\w*Error\)"):
            load("cifar10")
        assert not cache.exists()
    else:
        load("cifar10")
        assert [path.name for path in cache.iterdir()] == ["cifar-10-batches-bin"]
    assert not Path("/tmp/sfa-evil").exists()
    assert not list(tmp_path.rglob("*evil*"))
    assert {path.name for path in tmp_path.iterdir()} <= {"archive.tar.gz", "cache"}


@pytest.mark.parametrize(
    ("name", "file"),
    [("cifar10-subset", "cifar10_15000_5000.npz"), ("cifar100-subset", "cifar100_5000_2000.npz")],
)
def test_a_subset_is_a_file_in_the_users_root(name: str, file: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=rf"{name} is not on .* and is never downloaded .*{tmp_path}\); give the folder that holds images/{file} "
        r"with --data-root or SFA_DATA, or use the bundled digits\.",
    ):
        load(name, root=tmp_path)
    assert locate(name, tmp_path) is None
    (tmp_path / "images").mkdir()
    x = images(5, 3)
    y = np.array([0, 1, 1, 2, 0], dtype=np.uint8)
    np.savez(
        tmp_path / "images" / file,
        x_train=x[:3],
        x_test=x[3:],
        y_train=y[:3],
        y_test=y[3:],
        classes=np.array(["a", "b", "c"]),
    )
    data = load(name, root=tmp_path)
    assert np.array_equal(data.x.numpy(), x)
    assert (data.y.tolist(), data.class_names, data.name) == (y.tolist(), ["a", "b", "c"], name)
    assert (data.train_mask.tolist(), data.test_mask.tolist()) == ([True] * 3 + [False] * 2, [False] * 3 + [True] * 2)
    assert locate(name, tmp_path) == tmp_path / "images" / file


def test_digits_are_those_of_scikit_learn_in_bytes() -> None:
    data, theirs = load("digits"), load_digits()
    assert (data.x.shape, data.x.dtype, data.name) == ((1797, 8, 8, 1), torch.uint8, "digits")
    wanted = [[round(value * 255 / 16) for value in image] for image in theirs.data.tolist()]
    assert data.x.reshape(1797, 64).tolist() == wanted
    assert data.y.tolist() == theirs.target.tolist()
    assert data.class_names == list("0123456789")
    assert data.image_ids == list(range(1797))
    # Runs know their data by it: it must never change.
    assert fingerprint(data) == "d6b11d0aae4a29ae72e9586986a46b4e793bdd6089a1630847a637e4f2021e07"


def test_the_parts_of_digits() -> None:
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


def test_digits_come_with_the_package() -> None:
    info = next(info for info in names() if info.name == "digits")
    assert (info.bundled, info.downloaded, info.task) == (True, False, "image")
    found = locate("digits")
    assert found is not None
    assert found.is_file()
