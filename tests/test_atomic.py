"""A file is the old one or the new one, whatever happens while it is written."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sfa.atomic import atomic_path, ensure_writable, write_text
from sfa.errors import InputError


def test_the_new_file_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    for text in ("old", "new: café"):
        write_text(path, text)
        assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.glob("*.txt")) + list(tmp_path.glob(".*")) == [path]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), SystemExit()])
@pytest.mark.parametrize("existing", [True, False])
def test_a_failing_body_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: BaseException, existing: bool
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "file.bin"
    if existing:
        path.write_bytes(b"old")

    def write() -> None:
        with atomic_path(path) as temporary:
            temporary.write_bytes(b"half of the n")
            raise error

    with pytest.raises(type(error)):
        write()
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == ({"file.bin": b"old"} if existing else {})


def test_a_failing_flush_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")
    monkeypatch.setattr(os, "fsync", _raise(OSError(errno.EIO, "Input/output error")))
    with pytest.raises(OSError, match="Input/output"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert not list(tmp_path.glob(".*"))


def test_the_file_is_flushed_before_it_is_renamed_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.txt"
    flushed = []
    fsync = os.fsync

    def record(descriptor: int) -> None:
        flushed.append((Path(os.readlink(f"/proc/self/fd/{descriptor}")).is_dir(), path.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    write_text(path, "text")
    assert flushed == [(False, False), (True, True)]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640)])
def test_the_mode_is_that_of_any_new_file(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_text(tmp_path / "file.txt", "text")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "file.txt").stat().st_mode & 0o777 == mode


def test_ensure_writable_leaves_no_trace(tmp_path: Path) -> None:
    existing = tmp_path / "existing.txt"
    existing.write_text("old")
    before = sorted(tmp_path.iterdir())
    ensure_writable(existing)
    ensure_writable(tmp_path / "new.txt")
    assert sorted(tmp_path.iterdir()) == before
    assert existing.read_text() == "old"


@pytest.mark.parametrize(
    ("path", "reason"),
    [("folder", "it is a folder"), ("missing/file.txt", "does not exist"), ("file.txt/below.txt", "file.txt")],
)
def test_ensure_writable_says_why_not(tmp_path: Path, path: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.txt").touch()
    with pytest.raises(InputError, match=reason):
        ensure_writable(tmp_path / path)


def test_ensure_writable_in_a_folder_that_takes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.mkdtemp", _raise(OSError(errno.EROFS, "Read-only file system")))
    with pytest.raises(InputError, match="Read-only file system"):
        ensure_writable(tmp_path / "file.txt")


def _raise(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_file_is_replaced_and_never_rewritten(tmp_path: Path) -> None:
    """Whoever has the old file open, or crashes on the way, has the whole old file: the new one is another file."""
    path = tmp_path / "file.txt"
    path.write_text("old")
    with path.open() as reader:
        write_text(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"
