"""What results say of a plan: the mean of each variant on each data set, and how long the runs to do will take."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from sfa.evaluate import Difference, Score
from sfa.paper.plans import RUN_TIME, Cell, Plan
from sfa.paper.results_files import Entry
from sfa.run.identity import recipe_hash
from sfa.sweep.report import Summary as SeedSummary
from sfa.sweep.report import summarize_seeds


@dataclass(frozen=True)
class Summary(SeedSummary):
    """One variant on one data set by one metric; a difference of times is in per cent."""

    planned: int = 0  # seeds that it is to have
    failed: int = 0


def metrics_of(plan: Plan, entries: Mapping[str, Entry]) -> list[tuple[str, str]]:
    """Return the protocols and metrics that a study has values of."""
    scores = [(name, _score(cell, entries, name)) for name in plan.protocols for cell in plan.cells]
    return list(dict.fromkeys((name, metric) for name, score in scores if score for metric in score.values))


def summarise(plan: Plan, entries: Mapping[str, Entry], protocol: str, metric: str) -> dict[tuple[str, str], Summary]:
    """Return summaries by variant and data set, in the order of the plan; ``entries`` are by key."""
    cells: dict[tuple[str, str], list[Cell]] = {}
    scores: dict[tuple[str, str], dict[int, Score]] = {}  # by variant and data set, then by seed
    for cell in plan.cells:
        place = cell.variant.label, cell.dataset.name
        cells.setdefault(place, []).append(cell)
        score = _score(cell, entries, protocol)
        if score is not None and metric in score.values:
            scores.setdefault(place, {})[cell.variant.seed] = score
    found = {}
    for (label, dataset), those in cells.items():
        ours, theirs = (scores.get((name, dataset), {}) for name in (label, those[0].variant.baseline or ""))
        summary = summarize_seeds(ours, theirs, metric, in_per_cent=protocol == RUN_TIME)
        failed = sum(cell.key in entries and entries[cell.key].failure is not None for cell in those)
        found[label, dataset] = Summary(**vars(summary), planned=len(those), failed=failed)
    return found


def _score(cell: Cell, entries: Mapping[str, Entry], protocol: str) -> Score | None:
    """Return the score of a run that did not fail, on the splits that the cell's data have now."""
    entry = entries.get(cell.key)
    if entry is None or entry.failure is not None:
        return None
    return entry.score_under(protocol, cell.dataset.digest(protocol))


def ratio(relative: Difference) -> str:
    """Format a relative change in per cent as a factor with its interval."""
    mean, low, high = (1 + change / 100 for change in (relative.mean, relative.low, relative.high))
    return f"× {mean:.3f} [{low:.3f}, {high:.3f}]"


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
