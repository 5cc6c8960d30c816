"""The page of a run, or of several side by side."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from sfa.errors import InputError
from sfa.evaluate import Protocol, Score
from sfa.registry import resolve
from sfa.run.compare import caveat
from sfa.run.display import Display, display_of, open_page
from sfa.run.run import Run, open_runs, set_threads
from sfa.run.scoring import require_same_splits, score_together, usual_protocol
from sfa.train import RunFolder

REPORT = "report.html"
"""The page of a run, in its folder."""


@dataclass(frozen=True)
class Report:
    """A page that was written: it needs no network and no other file."""

    path: Path

    def _repr_html_(self) -> str:
        return f'<p>Report: <a href="{escape(self.path.resolve().as_uri())}">{escape(str(self.path))}</a></p>'


def report_run(
    *runs: Run | str | Path,
    out: str | Path | None = None,
    protocol: str | None = None,
    no_scores: str | None = None,
    show: bool = False,
    data_root: str | Path | None = None,
    threads: int | None = None,
    progress: bool | Display = False,
) -> Report:
    """Write one page that shows runs: curves, spectra, scores beside baselines, a map of the embeddings, confusion.

    Scores kept in the run folders are used again where they fit.

    Args:
        *runs: Runs on the same data, or their folders; the first is the baseline.
        out: The page. Default: ``report.html`` in the first run folder.
        protocol: To score by; by default that of :func:`~sfa.run.evaluate_run`.
        no_scores: Do not score, and say why not in this sentence.
        show: Open the page in the browser.
        data_root: Folder of data sets, in place of the one of training.
        threads: CPU threads.
        progress: Show progress on standard error.
    """
    from sfa.report import check_report

    set_threads(threads)
    asked, display = None if protocol is None else resolve("protocol", protocol), display_of(progress)
    paths = [run.path if isinstance(run, Run) else Path(run) for run in runs]
    if not paths:
        raise InputError("Say at least one run to report on.")
    _require_different(paths)
    for path in paths:
        _require_something_to_show(path)
    target = paths[0] / REPORT if out is None else Path(out)
    check_report(target)
    opened = open_runs(runs, data_root=data_root)
    chosen = asked or usual_protocol(opened[0].data)
    impossible = no_scores or _why_not(opened, chosen)
    if impossible is not None and asked is not None:
        raise InputError(impossible)
    for run in opened:
        run.tell_if_unfinished(display)
    if impossible is not None and no_scores is None:
        display.say(f"No scores: {impossible}")
    make_report(opened, target, protocol=chosen, no_scores=impossible, display=display)
    if show:
        open_page(target, display)
    return Report(target)


def make_report(
    runs: Sequence[Run], out: Path, *, protocol: Protocol, no_scores: str | None = None, display: Display
) -> None:
    """Write the page of runs on the same data, and say where it is; ``no_scores`` says why they are not scored."""
    from sfa.report import ReportedRun, report_data, write_report

    scores: list[list[Score]] = [[] for _ in runs]
    if no_scores is None:
        require_same_splits(runs, protocol)
        scores = score_together(runs, protocol, display)
    shown = [ReportedRun(str(run.path), run, own, no_scores) for run, own in zip(runs, scores, strict=True)]
    data = report_data(
        shown,
        protocol=protocol if no_scores is None else None,
        note=caveat(scores[0][-1]) if no_scores is None else None,
        commands=[_command(runs, out, protocol)],
        tell=display.say,
    )
    write_report(out, data)
    display.say(f"Report: {out}")


def _why_not(runs: Sequence[Run], protocol: Protocol) -> str | None:
    """Return why these data cannot be scored, if they cannot: labels are optional."""
    try:
        for run in runs:
            protocol.check(run.data)
    except InputError as error:
        return str(error)
    return None


def _command(runs: Sequence[Run], out: Path, protocol: Protocol) -> str:
    """Return what makes the same page again."""
    paths = [str(run.path) for run in runs]
    asked = [] if protocol == usual_protocol(runs[0].data) else ["--protocol", protocol.name]
    elsewhere = [] if out == runs[0].path / REPORT else ["--out", str(out)]
    return shlex.join(["sfa", "report", *paths, *asked, *elsewhere])


def _require_different(paths: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise InputError(f"{path} is given twice: name each run once.")
        seen.add(path.resolve())


def _require_something_to_show(path: Path) -> None:
    """Raise if there is no checkpoint, or if the log is damaged: before anything is scored."""
    from sfa.report.facts import history

    folder = RunFolder.open(path)
    history(folder)
    if not folder.checkpoint.exists():
        raise InputError(
            f"The run in {path} has no checkpoint yet, and so no embeddings to show: wait for its first, or go on with "
            f"it by `sfa train --resume --out {shlex.quote(str(path))}`."
        )
