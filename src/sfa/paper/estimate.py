"""Estimates of how long runs take, from those that were measured."""

from collections.abc import Iterable, Mapping
from statistics import median

from sfa.paper.entry import Entry
from sfa.paper.plans import Cell
from sfa.run.identity import recipe_hash


class Estimator:
    """Estimate the seconds of a run by the median of the measured runs of its kind and data that are most like it.

    Those are runs with the same recipe; else with the same method and map; else with the same method; else any.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._measured: dict[tuple[object, ...], list[float]] = {}
        for entry in entries:
            self.learn(entry)

    def learn(self, entry: Entry) -> None:
        """Take account of one more run."""
        for traits in _traits(entry.kind, entry.fingerprint, entry.recipe_hash, entry.method, entry.spectral):
            for quantity in ("seconds_per_epoch", "evaluate_seconds"):
                if (seconds := getattr(entry, quantity)) is not None:
                    self._measured.setdefault((quantity, *traits), []).append(seconds)

    def seconds(self, cell: Cell, epochs_done: float = 0.0) -> float | None:
        """Return the seconds that are left of a run; ``None`` if nothing like it was measured."""
        recipe, kind, hashed = cell.variant.recipe, cell.variant.kind, recipe_hash(cell.identity)
        alike = _traits(kind, cell.dataset.fingerprint, hashed, recipe.method["name"], recipe.spectral_name)

        def nearest(quantity: str) -> float | None:
            found = (self._measured.get((quantity, *traits)) for traits in alike)
            return next((median(seconds) for seconds in found if seconds), None)

        scoring = 0.0 if kind == "timed" else nearest("evaluate_seconds")
        per_epoch = nearest("seconds_per_epoch") if cell.epochs else 0.0
        if scoring is None or per_epoch is None:
            return None
        return scoring + per_epoch * max(0.0, cell.epochs - epochs_done)

    def total(self, cells: Iterable[Cell], epochs_done: Mapping[str, float] | None = None) -> str | None:
        """Return the time left of runs, less their epochs done by key, in words; ``None`` if nothing is known."""
        seconds = [self.seconds(cell, (epochs_done or {}).get(cell.key, 0.0)) for cell in cells]
        known = [value for value in seconds if value is not None]
        return f"{'about' if len(known) == len(seconds) else 'at least'} {duration(sum(known))}" if known else None


def _traits(*alike: str | None) -> list[tuple[object, ...]]:
    kind, data, recipe, method, spectral = alike
    return [(kind, data, "recipe", recipe), (kind, data, method, spectral), (kind, data, method), (kind, data)]


def duration(seconds: float) -> str:
    """Format a duration.

    >>> [duration(s) for s in (0.4, 40, 720, 12000)]
    ['0 s', '40 s', '12 min', '3 h 20 min']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
