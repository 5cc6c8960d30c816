"""Seconds per epoch by the number of power iterations (the paper's Figure 4), from the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfa.errors import InputError
from sfa.evaluate import Difference, Score, paired_difference
from sfa.figures.style import CATEGORIES, PLAIN, logarithmic_y, style
from sfa.ledger import Entry

STUDY = "run-time-k"
"""The study that measures what is drawn; where a data set has none of it ``run-time`` will do, with k = 1 alone."""

Published = Mapping[str, float]
"""By data set, the ratio of the times with and without SFA (``k = 1``) that the paper prints."""


@dataclass(frozen=True)
class Timing:
    """Recipes that were timed by turns on one data set: what else the machine did slowed all of them alike."""

    dataset: str
    method: str
    device: str
    threads: int
    without: tuple[float, ...]
    """Seconds per epoch without SFA, turn by turn."""
    by_iterations: Mapping[int, tuple[float, ...]]

    @property
    def slowest(self) -> float:
        """The longest mean of all."""
        return max(fmean(turns) for turns in (self.without, *self.by_iterations.values()))

    def ratio(self, k: int) -> Difference:
        """Time with SFA over time without it, paired turn by turn, with its 95 % interval."""
        ratios = tuple(ours / theirs for ours, theirs in zip(self.by_iterations[k], self.without, strict=True))
        ones = (0.0,) * len(ratios)
        return paired_difference(Score("", "", {"ratio": ratios}), Score("", "", {"ratio": ones}))


def timings(entries: Sequence[Entry]) -> list[Timing]:
    """One for each data set: of those with the most numbers of iterations, the last."""
    jobs: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        if entry.kind == "timed" and entry.failure is None:
            beside = tuple(entry.recipe.get("beside", ()))
            key = entry.dataset, entry.fingerprint, entry.seed, entry.device, entry.threads, beside
            jobs.setdefault(key, []).append(entry)
    found: dict[str, tuple[tuple[int, str], Timing]] = {}
    for job in jobs.values():
        timing = _timing(job)
        if timing is not None:
            rank = len(timing.by_iterations), max(entry.created for entry in job)
            best = found.get(timing.dataset)
            found[timing.dataset] = (rank, timing) if best is None or rank > best[0] else best
    return [timing for _, timing in found.values()]


def _timing(job: Sequence[Entry]) -> Timing | None:
    """Of entries timed together; none, if they are of other maps than SFA or lack the plain method."""
    seconds: dict[int, tuple[float, ...]] = {}
    without: tuple[float, ...] | None = None
    for entry in job:
        spectral, turns = entry.recipe["spectral"], entry.scores[0].of()
        if spectral["name"] == "none":
            without = turns
        elif spectral["name"] == "sfa":
            seconds[int(spectral["iterations"])] = turns
        else:
            return None
    if without is None or not seconds:
        return None
    first = job[0]
    return Timing(
        first.dataset, first.method or "", first.device, first.threads, without, dict(sorted(seconds.items()))
    )


@style()
def draw_run_time(entries: Sequence[Entry], published: Published) -> Figure:
    """Left: seconds per epoch without SFA and with k iterations. Right: the ratio, with the paper's for k = 1."""
    measured = timings(entries)
    if not measured:
        raise InputError("The ledger has no run times to draw: `sfa figure 4 --run` measures them.")
    figure = Figure(figsize=(9.0, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    ks = sorted({1, *(k for timing in measured for k in timing.by_iterations)})
    for number, timing in enumerate(measured):
        colour = CATEGORIES[number % len(CATEGORIES)]
        _draw_seconds(left, timing, ks, colour)
        aside = 0.12 * (number - (len(measured) - 1) / 2)  # that intervals do not hide each other
        _draw_ratios(right, timing, ks, colour, aside)
        if timing.dataset in published:
            ratio = published[timing.dataset]
            right.plot(aside - 0.3, ratio, "D", markerfacecolor="white", markeredgecolor=colour, markersize=6)
    left.set_xticks(range(len(ks) + 1), ["no SFA", *(f"$k = {k}$" for k in ks)])
    left.set(title="seconds per epoch", ylabel="seconds")
    slowest = [timing.slowest for timing in measured]
    if max(slowest) > 5 * min(slowest):
        logarithmic_y(left)
    else:
        left.set_ylim(0, 1.15 * max(slowest))
    left.legend(loc="best", fontsize=8)
    right.axhline(1, color=PLAIN, linewidth=0.9)
    right.set_xticks(range(len(ks)), [f"$k = {k}$" for k in ks])
    right.set(title="the same over that without SFA", ylabel="ratio", xlim=(-0.5, len(ks) - 0.5))
    right.plot([], [], "D", markerfacecolor="white", markeredgecolor="black", label="published, $k = 1$")
    right.errorbar([], [], [], fmt="o", color="black", markersize=4, label="mean of the turns, 95 % interval")
    right.legend(loc="upper left", fontsize=8)
    return figure


def _draw_seconds(panel: Axes, timing: Timing, ks: Sequence[int], colour: str) -> None:
    means = {0: fmean(timing.without)}
    means |= {1 + ks.index(k): fmean(turns) for k, turns in timing.by_iterations.items()}
    panel.plot(
        list(means), list(means.values()), "o-", color=colour, linewidth=1.5, markersize=4, label=_setting(timing)
    )


def _draw_ratios(panel: Axes, timing: Timing, ks: Sequence[int], colour: str, aside: float) -> None:
    for k in timing.by_iterations:
        ratio = timing.ratio(k)
        panel.errorbar(
            ks.index(k) + aside, ratio.mean, [[ratio.mean - ratio.low], [ratio.high - ratio.mean]], fmt="o",
            color=colour, markersize=4, linewidth=1.2,
        )  # fmt: skip


def _setting(timing: Timing) -> str:
    threads = f"{timing.threads} thread{'' if timing.threads == 1 else 's'}"
    return f"{timing.dataset}, {timing.method}, {timing.device}, {threads}"


def tell_of_run_time(entries: Sequence[Entry], published: Published) -> str:
    """The ratios of the smallest and the largest number of iterations, and the paper's."""
    return " ".join(_told(timing, published.get(timing.dataset)) for timing in timings(entries))


def _told(timing: Timing, published: float | None) -> str:
    ks = list(timing.by_iterations)
    ratios = [(k, timing.ratio(k)) for k in dict.fromkeys((ks[0], ks[-1]))]
    text = ", ".join(f"× {ratio.mean:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] for k = {k}" for k, ratio in ratios)
    return f"{timing.dataset}: an epoch takes {text}" + (
        "." if published is None else f" (published × {published:.3f})."
    )
