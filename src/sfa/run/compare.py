"""Compare runs with the first of them, over the same splits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfa.errors import InputError
from sfa.evaluate import Difference, Protocol, Score, score_difference
from sfa.registry import resolve
from sfa.run.display import Display, Rows, Shown, display_of
from sfa.run.run import Run, open_runs, set_threads
from sfa.run.score_cache import kept_or_new_score, require_same_splits, usual_protocol


def caveat(score: Score) -> str:
    """Return the sentence that goes with differences of scores of so many splits."""
    if len(score.of()) == 1:
        return "There is but one split, and so no interval: judge over training seeds, by `sfa study --seeds`."
    return "Intervals and p are over splits of the same data, for one training seed a run: seeds may differ by more."


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Scores of runs, and their paired differences from those of the first, by metric."""

    texts = 3
    protocol: Protocol
    paths: Sequence[Path]
    scores: Sequence[Score]
    differences: Sequence[Mapping[str, Difference]]

    def table(self) -> tuple[Sequence[str], Rows]:
        rows = []
        for number, (path, score, found) in enumerate(zip(self.paths, self.scores, self.differences, strict=True)):
            for metric, difference in found.items():
                cells = [f"{difference.mean:+.2f}", "–", "–"] if number else [""] * 3
                if number and not math.isnan(difference.low):
                    cells[1:] = [f"[{difference.low:+.2f}, {difference.high:+.2f}]", f"{difference.p_value:.2g}"]
                rows.append([str(path), score.name, metric, score.text(metric), *cells])
        return ["run", "", "metric", "score", "difference", "95 % interval", "p (Wilcoxon)"], rows

    def notes(self) -> list[str]:
        protocol = f"{self.protocol.name}: {self.protocol.description}"
        return [protocol, f"Differences are from {self.paths[0]}. {caveat(self.scores[0])}"]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with the value of every split."""
        rows = [
            {
                "run": str(path),
                "score": score.as_dict(),
                "differences": {
                    metric: {key: None if math.isnan(value) else value for key, value in difference.as_dict().items()}
                    for metric, difference in found.items()
                },
            }
            for path, score, found in zip(self.paths, self.scores, self.differences, strict=True)
        ]
        baseline = {key: rows[0][key] for key in ("run", "score")}
        note = caveat(self.scores[0])
        return {"protocol": self.protocol.name, "note": note, "baseline": baseline, "others": rows[1:]}


def compare_runs(
    *runs: Run | str | Path,
    protocol: str | None = None,
    data_root: str | Path | None = None,
    threads: int | None = None,
    progress: bool | Display = False,
) -> Comparison:
    """Compare runs with the first of them, split by split: mean difference, 95 % interval, Wilcoxon's p.

    Scores kept in the run folders are used again where they fit. ``data_root``, ``threads`` and ``progress`` are as for
    :func:`~sfa.run.evaluate_run`.

    Args:
        *runs: Runs on the same data, or their folders: a baseline, then others.
        protocol: To score by; by default that of :func:`~sfa.run.evaluate_run`.
    """
    set_threads(threads)
    asked, display = None if protocol is None else resolve("protocol", protocol), display_of(progress)
    if len(runs) < 2:
        raise InputError("Say at least two runs to compare: the first is what the others are compared with.")
    opened = open_runs(runs, data_root=data_root)
    chosen = asked or usual_protocol(opened[0].data)
    for run in opened:
        chosen.check(run.data)
    require_same_splits(opened, chosen)
    for run in opened:
        run.tell_if_unfinished(display)
    scores = [kept_or_new_score(run, chosen, display) for run in opened]
    differences = [{metric: score_difference(score, scores[0], metric) for metric in score.values} for score in scores]
    return Comparison(chosen, [run.path for run in opened], scores, differences)
