"""The page of a run, or of several side by side."""

import shlex
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from sfa.errors import InputError
from sfa.evaluate import Score
from sfa.registry import resolve
from sfa.report import ReportedRun, check_report, report_data, write_report
from sfa.report.collect import history
from sfa.run.display import Display, display_of, open_page
from sfa.run.evaluate import caveat
from sfa.run.health import Health
from sfa.run.run import Run, open_runs, set_threads
from sfa.run.score_cache import require_same_splits, score_together, usual_protocol
from sfa.train import RunFolder

REPORT = "report.html"  # the page of a run, in its folder


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
    data: Any = None,
    features: str | Path | None = None,
    labels: Any = None,
    data_root: str | Path | None = None,
    threads: int | None = None,
    progress: bool | Display = False,
) -> Report:
    """Write one page that shows runs: curves, spectra, scores beside baselines, a map of the embeddings, confusion.

    The first of several runs on the same data is the baseline. Scores kept in the run folders are used again where they
    fit. The arguments that are not named here are as for :func:`~sfa.run.evaluate_run`.

    Args:
        out: The page. Default: ``report.html`` in the first run folder.
        no_scores: Do not score, and say why not in this sentence.
        show: Open the page in the browser.
    """
    set_threads(threads)
    asked, display = None if protocol is None else resolve("protocol", protocol), display_of(progress)
    paths = [run.path if isinstance(run, Run) else Path(run) for run in runs]
    if not paths:
        raise InputError("Say at least one run to report on.")
    for number, path in enumerate(paths):
        if path.resolve() in [other.resolve() for other in paths[:number]]:
            raise InputError(f"{path} is given twice: name each run once.")
        folder = RunFolder.open(path)
        history(folder)  # raises if the log is damaged
        if not folder.checkpoint.exists():
            resume = f"sfa train --resume --out {shlex.quote(str(path))}"
            raise InputError(f"The run in {path} has no checkpoint yet: wait for its first, or go on by `{resume}`.")
    target = paths[0] / REPORT if out is None else Path(out)
    check_report(target)
    opened = open_runs(runs, data=data, features=features, labels=labels, data_root=data_root)
    usual = usual_protocol(opened[0].data)
    chosen = asked or usual
    healths: list[Health | None] = [None] * len(opened)
    if no_scores is None:
        try:
            for run in opened:
                chosen.check(run.data)
        except InputError as error:  # labels are optional
            if asked is not None:
                raise
            no_scores = str(error)
            display.say(f"No scores: {no_scores}")
            healths = [run.scores if isinstance(run.scores, Health) else run.health() for run in opened]
    for run in opened:
        run.tell_if_unfinished(display)
    scores: list[list[Score]] = [[] for _ in opened]
    if no_scores is None:
        require_same_splits(opened, chosen)
        scores = score_together(opened, chosen, display)
    words = ["sfa", "report", *map(str, paths), *([] if chosen == usual else ["--protocol", chosen.name])]
    is_file = isinstance(labels, str | Path)
    words += [] if labels is None else ["--labels", str(labels) if is_file else "labels.csv"]
    words += [] if target == paths[0] / REPORT else ["--out", str(target)]
    of_runs = zip(opened, scores, healths, strict=True)
    shown = [ReportedRun(str(run.path), run, own, no_scores, health) for run, own, health in of_runs]
    page = report_data(
        shown,
        protocol=chosen if no_scores is None else None,
        note=caveat(scores[0][-1]) if no_scores is None else None,
        commands=[shlex.join(words)],  # that make the same page again
        tell=display.say,
    )
    write_report(target, page)
    display.say(f"Report: {target}")
    if show:
        open_page(target, display)
    return Report(target)
