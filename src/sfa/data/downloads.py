"""Find data sets that have a name, download them into the cache, and keep there what is made of them."""

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from torch_geometric.data import Data

from sfa.atomic import locked, temporary_folder
from sfa.errors import InputError, SfaError
from sfa.folders import VARIABLE, PathLike, cache_folder, data_root, find_place
from sfa.tasks import Task

SECONDS = 60  # how long a server may be silent
MAX_UNPACKED = 1 << 33  # bytes of the files in an archive; the largest that is unpacked, of ogbn-arxiv, has 0.1 GB
P = ParamSpec("P")
T = TypeVar("T")


def writable_cache() -> Path:
    """Return the cache folder, made if it is not there."""
    folder, reason = cache_folder(), "it is read-only"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
    if not os.access(folder, os.W_OK):
        raise InputError(f"The cache folder {folder} cannot be written ({reason}): set XDG_CACHE_HOME to one that can.")
    return folder


@contextlib.contextmanager
def explain_damage(what: object, maybe: str = "it may be damaged or of another format") -> Iterator[None]:
    """Turn whatever a reader raises on damaged files, and the system on those it cannot open, into one sentence."""
    try:
        yield
    except SfaError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise InputError(f"{what} cannot be read: {error.strerror}.") from error
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")[:300]
        if isinstance(error, MemoryError):
            raise InputError(f"{what} cannot be read, there is not enough memory: {reason}.") from error
        raise InputError(f"{what} cannot be read, {maybe}: {reason}.") from error


def explained(read: Callable[P, T]) -> Callable[P, T]:
    """Let a function that reads what its first argument names say by `explain_damage` whatever was not foreseen."""

    @functools.wraps(read)
    def reads(*args: P.args, **options: P.kwargs) -> T:
        with explain_damage(next(iter((*args, *options.values())), "The data")):
            return read(*args, **options)

    return reads


class DatasetInfo:
    """A data set with a name: found in the user's root or in the cache, or downloaded into the cache."""

    name: str
    places: tuple[str, ...] = ()  # where it may lie under a root; into the last of them it is downloaded
    files: Sequence[str] = ()  # what must be there
    content = ""  # what a user would have to give where the data cannot be had; the first of the files if not said
    description = ""  # in one line
    task: Task | None = "node"  # what there is to embed; None if only loading it tells
    bundled = False  # whether it comes with the package
    downloaded = True  # whether it is downloaded if it is not on this machine
    loader: str | None = None  # the function that loads it, if a user or an installed package registered one
    instead = "cora"  # the bundled data set to use where this one cannot be had

    def locate(self, root: PathLike | None) -> Path | None:
        """Return where it would be read from; None if it is not on this machine."""
        return find_place(root, *self.places)

    def load(self, root: PathLike | None, **options: Any) -> Data:
        """Return the graph, graph set or image set; nothing is written outside the cache folder."""
        place = self.locate(root) or self._download(data_root(root))
        for name in self.files:
            if not (place / name).is_file():
                raise InputError(f"The folder {place} has no file {name}; {self.name} needs {', '.join(self.files)}.")
        with explain_damage(f"The files of {self.name} in {place}", "they may be damaged"):
            return self.read(place, **options)

    def read(self, place: Path) -> Data:
        """Read the data."""
        raise NotImplementedError

    def fetch(self, temporary: Path) -> None:
        """Download the data into their place below a temporary folder."""
        raise NotImplementedError

    def _download(self, looked_in: Path) -> Path:
        content = self.content or "/".join([*self.places[-1:], *self.files[:1]])
        sentence = (
            f"{self.name} is not on this machine and {{}} (looked for in {looked_in}); give the folder that holds "
            f"{content} with --data-root or {VARIABLE}, or use the bundled {self.instead}."
        )
        if not self.downloaded:
            raise InputError(sentence.format("is never downloaded"))
        above = [folder for folder in (cache_folder(), *cache_folder().parents) if not folder.exists()]
        cache, place = writable_cache(), self.places[-1]
        try:
            with _whole_or_nothing(cache, place, cache / place) as temporary:
                self.fetch(temporary)
        except InputError as error:
            raise InputError(sentence.format(error)) from error
        except Exception as error:  # whatever the network raises
            raise InputError(sentence.format(f"could not be downloaded ({type(error).__name__})")) from error
        finally:
            with contextlib.suppress(OSError):  # where something was downloaded, none of them is empty
                for folder in above:
                    folder.rmdir()
        return cache / place


def processed(key: str, folder: Path, files: Iterable[str], made_by: str, make: Callable[[Path], None]) -> Path:
    """Return what `make` makes of a folder's files in the cache; anew if one, or the maker, has changed."""
    digest = hashlib.sha256(repr((made_by, str(folder.resolve()))).encode())
    for file in files:
        path = os.path.join(folder, file)
        with explain_damage(path):
            status = os.stat(path)
        digest.update(repr((file, status.st_size, status.st_mtime_ns)).encode())
    made = writable_cache() / "processed" / f"{key.replace(':', '-')}-{digest.hexdigest()[:16]}"
    made.parent.mkdir(exist_ok=True)
    # Of the processes of a machine one makes it, and the others wait and find it done (torchrun).
    with locked(made.with_suffix(".lock"), wait=True):
        if not made.exists():
            with _whole_or_nothing(made.parent, "made", made) as temporary:
                (temporary / "made").mkdir()
                make(temporary / "made")
    return made


@contextlib.contextmanager
def _whole_or_nothing(base: Path, made: str, target: Path) -> Iterator[Path]:
    """Yield a temporary folder in `base`, of which `made` is then renamed to `target`: a crash leaves no half of it."""
    with temporary_folder(base / "making") as temporary:
        yield temporary
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            (temporary / made).rename(target)
        except OSError:
            if not target.is_dir():  # if another process made the same one first, that one stays
                raise


def download(url: str, target: Path, checksum: str | None = None) -> None:
    """Download a file, and raise unless it has the checksum, a SHA-256 or `md5:…`, where one is known."""
    import pooch

    pooch.HTTPDownloader(timeout=SECONDS, progressbar=sys.stderr.isatty())(url, str(target), None)
    if checksum is None:
        return
    kind = "md5" if checksum.startswith("md5:") else "sha256"
    found = pooch.file_hash(str(target), alg=kind)
    wanted = checksum.removeprefix("md5:")
    if found != wanted:
        raise InputError(f"what {url} has now is not as published: its {kind.upper()} is {found} and not {wanted}")


def unpack(archive: Path, folder: Path, members: Mapping[str, str], needed: int | None = None) -> None:
    """Write members of a zip to these files of a folder, and no others; of the first ``needed``, none may lack."""
    with zipfile.ZipFile(archive) as packed:
        sizes = {info.filename: info.file_size for info in packed.infolist()}
        missing = next((member for member in list(members)[:needed] if member not in sizes), None)
        if missing is not None:
            raise InputError(f"has no {missing} in its archive")
        if sum(sizes.get(member, 0) for member in members) > MAX_UNPACKED:
            raise InputError(f"would take more than {MAX_UNPACKED} bytes unpacked")
        for member, file in members.items():
            if member in sizes:
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as source, (folder / file).open("wb") as target:
                    shutil.copyfileobj(source, target)
