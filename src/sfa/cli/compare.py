"""``sfa compare``: runs against the first of them, over the same splits."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from sfa.cli.console import Display, results_console
from sfa.cli.evaluate import score_run, tell_if_trained_anew
from sfa.cli.kept_scores import keep_scores, kept_score
from sfa.cli.run import Run, open_run, set_threads, tell_if_unfinished
from sfa.errors import InputError
from sfa.evaluation import Difference, Protocol, Score, paired_difference, resolve
from sfa.evaluation.protocols import default_protocol
from sfa.levels import level_of
from sfa.training import RunFolder

CAVEAT = (
    "Intervals and p are over splits of the same data, for one training seed a run: another seed may differ by more."
)
ONE_SPLIT = (
    "There is but one split, and so no interval: judge over training seeds, by `sfa study` with several --seeds."
)


def _caveat(score: Score) -> str:
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
    asked, display = None if protocol is None else resolve(protocol), Display(quiet)
    if len(paths) < 2:
        raise InputError("Say at least two runs to compare: the first is what the others are compared with.")
    _require_same_data(paths)
    runs = [open_run(path, data_root=data_root) for path in paths]
    chosen = asked or resolve(default_protocol(level_of(runs[0].graph)))
    for opened in runs:
        chosen.check(opened.graph)
    if len({chosen.digest(opened.graph) for opened in runs}) > 1:
        raise InputError(f"The splits of {chosen.name} are not the same for these runs: their scores cannot be paired.")
    for opened in runs:
        tell_if_unfinished(opened, display)
    scores = [score_of(opened, chosen, display) for opened in runs]
    differences = [{metric: _difference(score, scores[0], metric) for metric in score.values} for score in scores]
    if as_json:
        print(json.dumps(_as_dict(chosen, paths, scores, differences), indent=2))
    else:
        _print(chosen, paths, scores, differences)


def _difference(score: Score, baseline: Score, metric: str) -> Difference:
    """The paired one; of a single split the difference alone, since nothing tells what chance would do."""
    if len(score.of(metric)) > 1:
        return paired_difference(score, baseline, metric)
    return Difference(score.mean(metric) - baseline.mean(metric), math.nan, math.nan, math.nan)


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


def _require_same_data(paths: Sequence[Path]) -> None:
    first, *others = ((path, RunFolder.open(path).record.get("fingerprint")) for path in paths)
    for path, fingerprint in others:
        if fingerprint != first[1]:
            raise InputError(
                f"{first[0]} and {path} were trained on different data: only scores on the same data can be compared."
            )


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
    console.print(f"Differences are from {paths[0]}. {_caveat(scores[0])}", markup=False)


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
    return {"protocol": protocol.name, "note": _caveat(scores[0]), "baseline": baseline, "others": others}
