"""Seconds per epoch by the number of power iterations (the paper's Figure 4), from stored results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from matplotlib.figure import Figure

from sfa.errors import InputError
from sfa.evaluate import Difference, Score, paired_difference
from sfa.paper.figures import TIMES, make_panels, paper_figure
from sfa.paper.results_files import Entry
from sfa.plots import PLAIN, color_of, logarithmic_y

STUDY = "run-time-k"  # the study that measures these times; ``run-time`` has those for k = 1 alone

Published = Mapping[str, float]  # by data set, the ratio of the times with and without SFA (k = 1) in the paper


@dataclass(frozen=True)
class Timing:
    """Seconds per epoch of recipes that were timed by turns on one data set, so that other load slowed all alike."""

    setting: Entry  # one of the runs, for the data set, method, device and threads of all
    without: tuple[float, ...]  # turn by turn
    by_iterations: Mapping[int, tuple[float, ...]]  # the same with SFA

    def ratio(self, k: int) -> Difference:
        """Compute time with SFA over time without it, paired turn by turn, with its 95 % interval."""
        ratios = tuple(ours / theirs for ours, theirs in zip(self.by_iterations[k], self.without, strict=True))
        zeros = Score("", "", {"ratio": (0.0,) * len(ratios)})
        return paired_difference(Score("", "", {"ratio": ratios}), zeros)


def timings(entries: Sequence[Entry]) -> list[Timing]:
    """Find the times of each data set: of those with the most numbers of iterations, the last."""
    jobs: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        if entry.kind == "timed" and entry.failure is None:
            beside = tuple(entry.recipe.get("beside", ()))
            key = entry.dataset, entry.fingerprint, entry.seed, entry.device, entry.threads, beside
            jobs.setdefault(key, []).append(entry)
    found: dict[str, list[tuple[int, str, Timing]]] = {}
    for job in jobs.values():
        if {entry.recipe["spectral"]["name"] for entry in job} != {"none", "sfa"}:
            continue  # timed beside other maps than SFA, or without the plain method
        turns = {entry.recipe["spectral"].get("iterations"): entry.scores[0].of() for entry in job}
        timing = Timing(job[0], turns.pop(None), dict(sorted(turns.items())))
        found.setdefault(job[0].dataset, []).append((len(turns), max(entry.created for entry in job), timing))
    return [max(those, key=lambda one: one[:2])[-1] for those in found.values()]


def tell_of_run_time(entries: Sequence[Entry], published: Published) -> str:
    """Say the ratios of the smallest and the largest number of iterations, and the paper's."""
    told = []
    for timing in timings(entries):
        name, ks = timing.setting.dataset, list(timing.by_iterations)
        ratios = {k: timing.ratio(k) for k in (ks[0], ks[-1])}
        text = ", ".join(f"× {one.mean:.3f} [{one.low:.3f}, {one.high:.3f}] for k = {k}" for k, one in ratios.items())
        theirs = f" (published × {published[name]:.3f})" if name in published else ""
        told.append(f"{name}: an epoch takes {text}{theirs}.")
    return " ".join(told)


@paper_figure(
    "4", "Running time per epoch; the cost of SFA for k < 8 is negligible.", tell=tell_of_run_time, takes=TIMES
)
def draw_run_time(entries: Sequence[Entry], published: Published) -> Figure:
    """Draw seconds per epoch without SFA and with k power iterations, and their ratio beside the paper's for k = 1."""
    measured = timings(entries)
    if not measured:
        raise InputError("The ledger has no run times to draw: `sfa figure 4 --run` measures them.")
    figure, (left, right) = make_panels(9.0, 3.5, 1, 2)
    ks = sorted({1, *(k for timing in measured for k in timing.by_iterations)})
    slowest = []
    for number, timing in enumerate(measured):
        one, color = timing.setting, color_of(number)
        means = {0: fmean(timing.without)}
        means |= {1 + ks.index(k): fmean(turns) for k, turns in timing.by_iterations.items()}
        slowest.append(max(means.values()))
        label = f"{one.dataset}, {one.method}, {one.device}, {one.threads} thread{'' if one.threads == 1 else 's'}"
        left.plot(list(means), list(means.values()), "o-", color=color, linewidth=1.5, markersize=4, label=label)
        aside = 0.12 * (number - (len(measured) - 1) / 2)  # so that intervals do not hide each other
        for k in timing.by_iterations:
            ratio, place = timing.ratio(k), ks.index(k) + aside
            interval = [[ratio.mean - ratio.low], [ratio.high - ratio.mean]]
            right.errorbar(place, ratio.mean, interval, fmt="o", color=color, markersize=4, linewidth=1.2)
        if one.dataset in published:
            diamond = {"markerfacecolor": "white", "markeredgecolor": color, "markersize": 6}
            right.plot(aside - 0.3, published[one.dataset], "D", **diamond)
    left.set_xticks(range(len(ks) + 1), ["no SFA", *(f"$k = {k}$" for k in ks)])
    left.set(title="seconds per epoch", ylabel="seconds")
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
