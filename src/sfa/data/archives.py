"""A published archive (`.tar.gz`) -> a folder in the cache: fetched, checked, unpacked, whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sfa.data.raw_files import move
from sfa.data.roots import VARIABLE, cache_folder, writable_cache
from sfa.errors import InputError

SECONDS = 60
"""Without a word from the server, after which it is given up."""


@dataclass(frozen=True)
class Archive:
    """Where an archive is published, its checksum, and the one folder that is in it."""

    url: str
    md5: str
    folder: str


def fetch(key: str, archive: Archive, instead: str, looked_in: Path) -> Path:
    """The archive's folder in the cache. Nothing is left there if any of it fails.

    Args:
        key: our name of the data set.
        archive: what to fetch.
        instead: the bundled set to turn to where this one cannot be had.
        looked_in: the folder in which it was not found.
    """
    target = writable_cache() / archive.folder
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="download-") as temporary:
        file = Path(temporary, "archive")
        try:
            _download(archive.url, file)
        except Exception as error:  # whatever the network raises
            raise InputError(
                f"{key} is not in {looked_in}, where it was looked for, and could not be downloaded "
                f"({type(error).__name__}); give the folder that holds {archive.folder}/ (unpacked from {archive.url}) "
                f"with --data-root or {VARIABLE}, or use the bundled {instead}."
            ) from error
        checksum = _md5(file)
        if checksum != archive.md5:
            raise InputError(
                f"What was downloaded from {archive.url} is not {key} as published: its MD5 is {checksum} and not "
                f"{archive.md5}; try again, or use the bundled {instead}."
            )
        unpack(file, Path(temporary), archive.folder)
        move(Path(temporary, archive.folder), target)
    return target


def _download(url: str, file: Path) -> None:
    with urllib.request.urlopen(url, timeout=SECONDS) as answer, file.open("wb") as opened:
        shutil.copyfileobj(answer, opened, 1 << 20)


def _md5(file: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with file.open("rb") as opened:
        while chunk := opened.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def unpack(file: Path, into: Path, folder: str) -> None:
    """The ordinary files of a tar archive, all of which lie in one folder; one that has anything else is refused.

    The files are written here one by one: a link, or a path that leads out of the folder, is never followed.
    """
    with tarfile.open(file) as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts or path.parts[:1] != (folder,) or not _is_plain(member):
                raise InputError(
                    f"The archive of {folder} has {member.name!r} in it, which is no file or folder below {folder}; it "
                    "is not unpacked."
                )
            target = into / path
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            content = archive.extractfile(member)
            assert content is not None  # it is a file
            with content, target.open("wb") as opened:
                shutil.copyfileobj(content, opened, 1 << 20)


def _is_plain(member: tarfile.TarInfo) -> bool:
    return member.isfile() or member.isdir()
