"""Find data sets on this machine, download them into the cache, and keep there what is made of them."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sfa.errors import InputError

PathLike = str | os.PathLike[str]
VARIABLE = "SFA_DATA"
SECONDS = 60
"""Without a word from the server, after which it is given up."""


def data_root(root: PathLike | None = None) -> Path:
    """Return the folder to look in: `root` if given, else the environment variable SFA_DATA, else the cache folder."""
    given, origin = (os.environ.get(VARIABLE), f"set in {VARIABLE}") if root is None else (root, "given as data root")
    if not given:
        return cache_folder()
    folder = Path(given).expanduser()
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(
            f"The folder {folder} {origin} {what}; it should hold Planetoid/, Amazon/, TUDataset/ or the like."
        )
    return folder


def cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/sfa`, or `~/.cache/sfa`; not made until something is written."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sfa"


def writable_cache() -> Path:
    """Return the cache folder, made if it is not there."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The cache folder {folder} cannot be made ({error.strerror}); set XDG_CACHE_HOME to a folder that can."
        ) from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"The cache folder {folder} cannot be written; set XDG_CACHE_HOME to a folder that can.")
    return folder


def find_place(root: PathLike | None, *places: str) -> Path | None:
    """Return the first of these, in the user's root or else in the cache, that is a file or a folder with content."""
    paths = (base / place for base in (data_root(root), cache_folder()) for place in places)
    return next((path for path in paths if path.is_file() or (path.is_dir() and any(path.iterdir()))), None)


def require_files(key: str, folder: Path, files: Sequence[str]) -> None:
    """Raise unless all files of a data set are there."""
    for name in files:
        if not (folder / name).is_file():
            raise InputError(f"The folder {folder} has no file {name}; {key} needs {', '.join(files)}.")


def processed(key: str, files: Sequence[Path], made_by: str, make: Callable[[Path], None]) -> Path:
    """Return the folder in the cache that `make` fills; anew if a file's place, size or time, or the maker changed."""
    facts: list[object] = [made_by]
    for file in files:
        status = file.stat()
        facts += [str(file.resolve()), status.st_size, status.st_mtime_ns]
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    folder = writable_cache() / "processed" / f"{key.replace(':', '-')}-{digest}"
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        with _whole_or_nothing(folder.parent, "made", folder) as made:
            (made / "made").mkdir()
            make(made / "made")
    return folder


def download(key: str, folder: str, fill: Callable[[Path], None], *, missing: str, otherwise: str) -> Path:
    """Let `fill` download into a temporary folder, and move the folder `folder` of it to the cache.

    Whatever `fill` raises, but for an `InputError`, is told as a failure of the network: `missing` says where the data
    set `key` was looked for, and `otherwise` what else can be done.
    """
    cache = writable_cache()
    with _whole_or_nothing(cache, folder, cache / folder) as temporary:
        try:
            fill(temporary)
        except InputError:
            raise
        except Exception as error:  # whatever the network raises
            reason = f"could not be downloaded ({type(error).__name__})"
            raise InputError(f"{key} is not {missing} {reason}{otherwise}.") from error
    return cache / folder


@contextlib.contextmanager
def _whole_or_nothing(base: Path, made: str, target: Path) -> Iterator[Path]:
    """Give a temporary folder in `base`, of which `made` is then renamed to `target`.

    A crash never leaves half of it, and if another process made the same one first, that one stays.
    """
    with tempfile.TemporaryDirectory(dir=base, prefix="making-") as temporary:
        yield Path(temporary)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            Path(temporary, made).rename(target)
        except OSError:
            if not target.is_dir():
                raise


@dataclass(frozen=True)
class Archive:
    """Where an archive (`.tar.gz`) is published, its checksum, and the one folder that is in it."""

    url: str
    md5: str
    folder: str

    def fetch(self, key: str, *, instead: str, looked_in: Path) -> Path:
        """Download, check and unpack the archive, and return its folder in the cache; `instead` is a bundled set."""

        def fill(temporary: Path) -> None:
            import pooch

            file = str(temporary / "archive")
            pooch.HTTPDownloader(timeout=SECONDS, progressbar=sys.stderr.isatty())(self.url, file, None)
            checksum = pooch.file_hash(file, alg="md5")
            if checksum != self.md5:
                raise InputError(
                    f"What was downloaded from {self.url} is not {key} as published: its MD5 is {checksum} and not "
                    f"{self.md5}; try again, or use the bundled {instead}."
                )
            unpack(Path(file), temporary, self.folder)

        return download(
            key,
            self.folder,
            fill,
            missing=f"in {looked_in}, where it was looked for, and",
            otherwise=f"; give the folder that holds {self.folder}/ (unpacked from {self.url}) with --data-root or "
            f"{VARIABLE}, or use the bundled {instead}",
        )


def unpack(file: Path, into: Path, folder: str) -> None:
    """Unpack a tar archive of ordinary files, all of which lie in one folder; one with anything else is refused."""

    def check(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        parts = PurePosixPath(member.name).parts
        if ".." in parts or parts[:1] != (folder,) or not (member.isfile() or member.isdir()):
            raise InputError(
                f"The archive of {folder} has {member.name!r} in it, which is no file or folder below {folder}; it "
                "is not unpacked."
            )
        return tarfile.data_filter(member, path)

    with tarfile.open(file) as archive:
        archive.extractall(into, filter=check)


@contextlib.contextmanager
def explain_damage(key: str, folder: Path) -> Iterator[None]:
    """Turn whatever a reader raises on damaged files into one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"The files of {key} in {folder} cannot be read, they may be damaged: {reason}.") from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drop what libraries print ("Processing...") and the warnings (and warning filters) of their readers."""
    out, err = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with out, err, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
