"""How long what is left will take, by what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import median

from sfa.ledger import Entry
from sfa.recipes.identity import recipe_hash
from sfa.studies.plan import Cell

Trait = tuple[object, ...]


class Estimator:
    """Expected seconds of a cell: the median over the runs most like it.

    Those are runs of the same recipe on the same data with another seed; else of the same method with the same spectral
    map; else of the method; else of any on these data.

    Args:
        entries: Runs that were measured.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._epochs: dict[Trait, list[float]] = {}
        self._scoring: dict[Trait, list[float]] = {}
        for entry in entries:
            self.learn(entry)

    def learn(self, entry: Entry) -> None:
        """One more run was measured."""
        traits = _traits(entry.kind, entry.fingerprint, entry.recipe_hash, entry.method, entry.spectral)
        for trait in traits:
            if entry.seconds_per_epoch is not None:
                self._epochs.setdefault(trait, []).append(entry.seconds_per_epoch)
            if entry.evaluate_seconds is not None:
                self._scoring.setdefault(trait, []).append(entry.evaluate_seconds)

    def seconds(self, cell: Cell, epochs_done: float = 0.0) -> float | None:
        """What a cell takes from here on; ``None`` if nothing like it was measured."""
        recipe, kind = cell.variant.recipe, cell.variant.kind
        traits = list(
            _traits(
                kind,
                cell.dataset.fingerprint,
                recipe_hash(cell.identity),
                recipe.method["name"],
                recipe.spectral_name,
            )
        )
        scoring = 0.0 if kind == "timed" else _nearest(self._scoring, traits)
        per_epoch = _nearest(self._epochs, traits) if cell.epochs else 0.0
        if scoring is None or per_epoch is None:
            return None
        return scoring + per_epoch * max(0.0, cell.epochs - epochs_done)

    def total(self, cells: Iterable[Cell], epochs_done: Mapping[str, float] | None = None) -> str | None:
        """What all cells take from here on, in words; ``None`` if nothing is known of any.

        Args:
            cells: Those left.
            epochs_done: By key, of those that are under way.
        """
        done = epochs_done or {}
        seconds = [self.seconds(cell, done.get(cell.key, 0.0)) for cell in cells]
        known = [value for value in seconds if value is not None]
        if not known:
            return None
        return f"{'about' if len(known) == len(seconds) else 'at least'} {duration(sum(known))}"


def _traits(kind: str, fingerprint: str, recipe: str, method: str | None, spectral: str | None) -> Iterator[Trait]:
    """What runs may have in common, most telling first."""
    yield kind, fingerprint, recipe
    yield kind, fingerprint, method, spectral
    yield kind, fingerprint, method
    yield kind, fingerprint


def _nearest(measured: dict[Trait, list[float]], traits: Iterable[Trait]) -> float | None:
    return next((median(measured[trait]) for trait in traits if trait in measured), None)


def duration(seconds: float) -> str:
    """Seconds in words: ``40 s``, ``12 min``, ``3 h 20 min``.

    >>> [duration(s) for s in (0.4, 40, 720, 12000)]
    ['0 s', '40 s', '12 min', '3 h 20 min']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
