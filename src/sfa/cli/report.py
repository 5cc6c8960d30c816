"""``sfa report``: one page of a run, or of several side by side."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from sfa.cli.compare import caveat, require_same_splits
from sfa.cli.train import REPORT
from sfa.errors import InputError
from sfa.evaluate import Protocol, Score
from sfa.evaluate.protocols import default_protocol
from sfa.levels import level_of
from sfa.registry import resolve
from sfa.report import ReportedRun, check_report, report_data, write_report
from sfa.report.facts import history
from sfa.run.display import Display, open_page
from sfa.run.score_cache import score_together
from sfa.run.source import Run, open_run, require_common_data, set_threads, tell_if_unfinished
from sfa.train import RunFolder


def run(
    paths: Sequence[Path],
    *,
    out: Path | None,
    protocol: str | None,
    data_root: Path | None,
    threads: int | None,
    show: bool,
    quiet: bool,
) -> None:
    """Score the runs where they have labels, and write the page."""
    set_threads(threads)
    asked, display = None if protocol is None else resolve("protocol", protocol), Display(quiet)
    _require_different(paths)
    require_common_data(paths)
    for path in paths:
        _require_something_to_show(path)
    target = paths[0] / REPORT if out is None else out
    check_report(target)
    runs = [open_run(path, data_root=data_root) for path in paths]
    chosen = asked or usual_protocol(runs[0])
    no_scores = why_not(runs, chosen)
    if no_scores is not None and asked is not None:
        raise InputError(no_scores)
    for opened in runs:
        tell_if_unfinished(opened, display)
    if no_scores is not None:
        display.say(f"No scores: {no_scores}")
    make_report(runs, target, protocol=chosen, no_scores=no_scores, display=display)
    if show:
        open_page(target, display)


def make_report(
    runs: Sequence[Run],
    out: Path,
    *,
    protocol: Protocol,
    no_scores: str | None = None,
    display: Display,
) -> None:
    """Write the page of runs on the same data, and say where it is.

    Args:
        runs: At least one.
        out: The file.
        protocol: To score by.
        no_scores: Why they are not scored, if they are not, in a sentence.
        display: Is told how it goes.
    """
    scores: list[list[Score]] = [[] for _ in runs]
    if no_scores is None:
        require_same_splits(runs, protocol)
        scores = score_together(runs, protocol, display)
    shown = [ReportedRun(str(one.folder.path), one, of, no_scores) for one, of in zip(runs, scores, strict=True)]
    data = report_data(
        shown,
        protocol=protocol if no_scores is None else None,
        note=caveat(scores[0][-1]) if no_scores is None else None,
        commands=[_command(runs, out, protocol)],
        tell=display.say,
    )
    write_report(out, data)
    display.say(f"Report: {out}")


def usual_protocol(run: Run) -> Protocol:
    """That of `sfa evaluate` where none is named."""
    protocol: Protocol = resolve("protocol", default_protocol(level_of(run.graph)))
    return protocol


def why_not(runs: Sequence[Run], protocol: Protocol) -> str | None:
    """Labels are optional: why these data cannot be scored so, if they cannot."""
    try:
        for one in runs:
            protocol.check(one.graph)
    except InputError as error:
        return str(error)
    return None


def _command(runs: Sequence[Run], out: Path, protocol: Protocol) -> str:
    """What makes the same page again."""
    paths = [str(one.folder.path) for one in runs]
    asked = [] if protocol == usual_protocol(runs[0]) else ["--protocol", protocol.name]
    elsewhere = [] if out == runs[0].folder.path / REPORT else ["--out", str(out)]
    return shlex.join(["sfa", "report", *paths, *asked, *elsewhere])


def _require_different(paths: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise InputError(f"{path} is given twice: name each run once.")
        seen.add(path.resolve())


def _require_something_to_show(path: Path) -> None:
    """Raise if there is no checkpoint, or if the log is damaged: before anything is scored."""
    folder = RunFolder.open(path)
    history(folder)
    if not folder.checkpoint.exists():
        raise InputError(
            f"The run in {path} has no checkpoint yet, and so no embeddings to show: wait for its first, or go on with "
            f"it by `sfa train --resume --out {shlex.quote(str(path))}`."
        )
