"""Results: one entry a run, with its labels and scores, in a JSON file that several processes may fill."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from sfa.atomic import refuse_special
from sfa.errors import InputError, SfaError, translate_os_errors
from sfa.evaluate import Score
from sfa.folders import expand_user
from sfa.paper import OLD_DEFAULT
from sfa.paper.results_files import Entry, is_sqlite, read_entries, read_sqlite, write_json

PATIENCE = 60.0  # seconds to wait for another process that is writing


class Ledger(AbstractContextManager["Ledger"]):
    """A file of results. An entry appears in it whole or not at all, and is not overwritten.

    An old SQLite file is only read: before the first change its runs are copied to a JSON file beside it, and the
    attribute ``path`` names that one. With ``create`` the file and its folder are made if they do not exist.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        path = expand_user(path)
        refuse_special(path)
        self.path, self._old = path, None
        self._read: tuple[object, list[Entry]] | None = None
        if path.is_dir():
            raise InputError(f"The ledger {path} is a folder: name a file in it.")
        if is_sqlite(path):
            self._old = path
            self.path = path.with_name("results.json" if path.name == OLD_DEFAULT.name else f"{path.stem}.results.json")
        elif not create and not path.exists():
            raise InputError(f"There is no ledger at {path}: `sfa study` makes one; name another by --ledger.")
        elif create:
            with translate_os_errors(f"Cannot make the ledger {path}"):
                path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                with self._locked():
                    if not path.exists():  # another process may have been first
                        self._write([])
        self._entries()  # a file that is no ledger is refused before long work

    def __exit__(self, *exception: object) -> None:
        """Do nothing: the file is open only while it is read or written."""

    def add(self, entry: Entry) -> Entry:
        """Enter a run, and return what the ledger then holds of it. See :meth:`add_all`."""
        return self.add_all([entry])[0]

    def add_all(self, entries: Sequence[Entry]) -> list[Entry]:
        """Enter all runs or none, and return what the ledger then holds of them.

        A run that is in keeps its values, and gains labels and scores that it does not have. A failed run is replaced.
        """
        with self._locked():
            held = {entry.key: entry for entry in self._entries()}
            for entry in entries:
                known = held.get(entry.key)
                if known is not None and known.failure is not None:
                    entry, known = replace(entry, labels=(*known.labels, *entry.labels)), None
                    del held[entry.key]
                held[entry.key] = _merge(known or replace(entry, labels=(), scores=()), entry)
            self._write(list(held.values()))
            return [held[entry.key] for entry in entries]

    def get(self, key: str) -> Entry | None:
        """Return the run with this key, if there is one."""
        return next((entry for entry in self._entries() if entry.key == key), None)

    def select(self, *, study: str | None = None, keys: Iterable[str] | None = None, **fields: object) -> list[Entry]:
        """Return the runs of a study, with these keys, and fields such as ``dataset`` and ``method``, oldest first."""
        found, wanted = self._entries(), None if keys is None else set(keys)
        found = [one for one in found if (wanted is None or one.key in wanted) and study in (None, *dict(one.labels))]
        for name, value in fields.items():
            found = [entry for entry in found if value in (None, getattr(entry, name))]
        return sorted(found, key=lambda entry: entry.created)

    def remove(self, keys: Iterable[str], *, study: str | None = None) -> None:
        """Remove runs with their labels and scores; those of a ``study`` that others have too lose its label alone."""
        those, kept = set(keys), []
        with self._locked():
            for entry in self._entries():
                others = tuple(label for label in entry.labels if study is not None and label[0] != study)
                if entry.key not in those:
                    kept.append(entry)
                elif others:
                    kept.append(replace(entry, labels=others))
            self._write(kept)

    def _entries(self) -> list[Entry]:
        """Return the runs that the file holds now, in the order in which they were entered."""
        if self._old is not None and not self.path.exists():
            return read_sqlite(self._old)
        with translate_os_errors(f"The ledger {self.path} cannot be used"):
            status = self.path.stat()
        state = status.st_ino, status.st_mtime_ns, status.st_size
        if self._read is None or self._read[0] != state:
            self._read = state, read_entries(self.path) if status.st_size else []
        return self._read[1]

    def _write(self, entries: Sequence[Entry]) -> None:
        if self._old is not None and not self.path.exists():
            logging.getLogger(__name__).warning("The runs of %s are kept in %s from now on.", self._old, self.path)
        write_json(self.path, entries)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from writing."""
        with translate_os_errors(f"The ledger {self.path} cannot be used"):
            try:
                with FileLock(f"{self.path}.lock", timeout=PATIENCE):
                    yield
            except Timeout as error:
                waited = f"another process has been writing to it for {PATIENCE:.0f} s"
                raise SfaError(f"The ledger {self.path} is locked: {waited}.") from error


def _merge(entry: Entry, other: Entry) -> Entry:
    """Return an entry with the labels and scores of another that it does not have."""
    scores: dict[tuple[str, str, str], Score] = {}
    for score in (*entry.scores, *other.scores):
        scores.setdefault((score.protocol, score.splits, score.name), score)
    labels = dict.fromkeys((*entry.labels, *other.labels))
    return replace(entry, labels=tuple(labels), scores=tuple(scores.values()))
