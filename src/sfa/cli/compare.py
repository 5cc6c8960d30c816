"""``sfa compare``: runs against the first of them, over the same splits."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from sfa.cli.evaluate import score_run, tell_if_trained_anew
from sfa.errors import InputError
from sfa.evaluate import Difference, Protocol, Score, score_difference
from sfa.evaluate.protocols import default_protocol
from sfa.levels import level_of
from sfa.registry import resolve
from sfa.run.display import Display, results_console
from sfa.run.score_cache import keep_scores, kept_score
from sfa.run.source import Run, open_run, require_common_data, set_threads, tell_if_unfinished

CAVEAT = (
    "Intervals and p are over splits of the same data, for one training seed a run: another seed may differ by more."
)
ONE_SPLIT = (
    "There is but one split, and so no interval: judge over training seeds, by `sfa study` with several --seeds."
)


def caveat(score: Score) -> str:
    """What is to be said with differences of scores of so many splits."""
    return CAVEAT if len(score.of()) > 1 else ONE_SPLIT


def run(
    paths: Sequence[Path],
    *,
    protocol: str | None,
    as_json: bool,
    data_root: Path | None,
    threads: int | None,
    quiet: bool,
) -> None:
    """Print the difference of each further run from the first."""
    set_threads(threads)
    asked, display = None if protocol is None else resolve("protocol", protocol), Display(quiet)
    if len(paths) < 2:
        raise InputError("Say at least two runs to compare: the first is what the others are compared with.")
    require_common_data(paths)
    runs = [open_run(path, data_root=data_root) for path in paths]
    chosen = asked or resolve("protocol", default_protocol(level_of(runs[0].graph)))
    for opened in runs:
        chosen.check(opened.graph)
    require_same_splits(runs, chosen)
    for opened in runs:
        tell_if_unfinished(opened, display)
    scores = [score_of(opened, chosen, display) for opened in runs]
    differences = [{metric: score_difference(score, scores[0], metric) for metric in score.values} for score in scores]
    if as_json:
        print(json.dumps(_as_dict(chosen, paths, scores, differences), indent=2))
    else:
        _print(chosen, paths, scores, differences)


def require_same_splits(runs: Sequence[Run], protocol: Protocol) -> None:
    """Raise if the scores of these runs could not be paired."""
    if len({protocol.digest(run.graph) for run in runs}) > 1:
        raise InputError(
            f"The splits of {protocol.name} are not the same for these runs: their scores cannot be paired."
        )


def score_of(run: Run, protocol: Protocol, display: Display) -> Score:
    """The run's score, from its folder if one is kept that fits; else it is made, and kept if none was."""
    score = kept_score(run, protocol)
    if score is not None:
        return score
    display.say(f"{run.folder.path}: scoring by {protocol.name}")
    tell_if_trained_anew(run, protocol, display)
    score = score_run(run, protocol, display)
    keep_scores(run, protocol, [score], display)
    return score


def _print(
    protocol: Protocol, paths: Sequence[Path], scores: Sequence[Score], differences: Sequence[dict[str, Difference]]
) -> None:
    table = Table(caption=f"{protocol.name}: {protocol.description}", caption_justify="left")
    for heading in ("run", "", "metric"):
        table.add_column(heading)
    for heading in ("score", "difference", "95 % interval", "p (Wilcoxon)"):
        table.add_column(heading, justify="right")
    for number, (path, score, found) in enumerate(zip(paths, scores, differences, strict=True)):
        for metric, difference in found.items():
            cells = [f"{difference.mean:+.2f}", "–", "–"]
            if not math.isnan(difference.low):
                cells[1:] = [f"[{difference.low:+.2f}, {difference.high:+.2f}]", f"{difference.p_value:.2g}"]
            shown = cells if number > 0 else ["", "", ""]
            table.add_row(str(path), score.name, metric, score.text(metric), *shown)
    console = results_console()
    console.print(table)
    console.print(f"Differences are from {paths[0]}. {caveat(scores[0])}", markup=False)


def _as_dict(
    protocol: Protocol, paths: Sequence[Path], scores: Sequence[Score], differences: Sequence[dict[str, Difference]]
) -> dict[str, Any]:
    rows = zip(paths, scores, differences, strict=True)
    baseline, *others = (
        {
            "run": str(path),
            "score": score.as_dict(),
            "differences": {
                metric: {key: None if math.isnan(value) else value for key, value in difference.as_dict().items()}
                for metric, difference in found.items()
            },
        }
        for path, score, found in rows
    )
    del baseline["differences"]
    return {"protocol": protocol.name, "note": caveat(scores[0]), "baseline": baseline, "others": others}
