"""Score a run beside baselines that need no training, or compare runs with the first of them, over the same splits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import Classification, Difference, Protocol, Score, possible, score_difference
from sfa.evaluate.baselines import SupervisedModel, can_be_supervised, supervised_score
from sfa.evaluate.scores import FORMATS
from sfa.registry import resolve
from sfa.report.page import finite
from sfa.run import score_cache
from sfa.run.display import Display, Rows, Shown, counted, display_of, make_table
from sfa.run.health import Health
from sfa.run.run import Run, open_runs, set_threads
from sfa.tasks import ITEMS, item_word, task_of

ALL = "all"


@dataclass(frozen=True, repr=False)
class Scores(Shown):
    """Scores of a run and of its baselines."""

    of: Mapping[str, Sequence[Score]]  # of all embeddings, the run's own last, by protocol
    records: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # the files in the run folder
    refused: Mapping[str, str] = field(default_factory=dict)  # why other protocols are not possible
    remarks: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with the value of every split."""
        records = list(self.records.values())
        if len(records) == 1 and not self.refused:
            return records[0]
        return {"protocols": records, "not possible": dict(self.refused)}

    def _columns(self) -> dict[tuple[str, str], dict[str, str]]:
        """Return the text of each score by protocol and metric, and by embedding."""
        empty = {score.name: "" for scores in self.of.values() for score in scores}
        return {
            (protocol, metric): {**empty, **{score.name: score.text(metric) for score in scores}}
            for protocol, scores in self.of.items()
            for metric in scores[0].values
        }

    def table(self) -> tuple[Sequence[str], Rows]:
        columns = self._columns()
        headings = [metric if len(self.of) == 1 else f"{protocol}\n{metric}" for protocol, metric in columns]
        names = next(iter(columns.values()), {})
        return ["embedding", *headings], [[name, *(texts[name] for texts in columns.values())] for name in names]

    def notes(self) -> list[str]:
        return list(self.remarks)

    def rich_table(self, console: Console) -> Table:
        """Return the table; its transpose, if the terminal is too narrow for it."""
        wide, columns = super().rich_table(console), self._columns()
        if console.measure(wide, options=console.options.update(width=10_000)).maximum <= console.width:
            return wide
        rows = [[*names, *texts.values()] for names, texts in columns.items()]
        headings = ["protocol", "metric", *next(iter(columns.values()), {})]
        return make_table(headings, rows, 2, padding=0)  # 80 columns hold four embeddings


def evaluate_run(
    run: Run | str | Path,
    *,
    protocol: str | Sequence[str] | None = None,
    supervised: bool = False,
    data: Any = None,
    features: str | Path | None = None,
    labels: Any = None,
    data_root: str | Path | None = None,
    threads: int | None = None,
    progress: bool | Display = False,
) -> Scores | Health:
    """Score a run's embeddings beside baselines without training: features, raw or propagated, the untrained encoder.

    The values of every split are kept in the run folder. Without labels it has :meth:`Run.health` instead.

    Args:
        protocol: The name of a protocol, or several; ``all`` is every one that these data allow. By default
            ``honest-10-10-80`` for nodes, ``tu-svm-10fold`` for graphs, ``image-linear`` for images, and
            ``ridge-60-20-20`` for targets that are no whole numbers.
        supervised: Add an MLP and a GCN that learn from the labels of each split.
        data: The data of training, and with ``features`` those of its nodes, if they have moved or were in memory.
        labels: Ids and labels, if it was trained without: a table in a file, a Series, or a mapping.
        data_root: Folder of data sets, in place of the one of training.
        progress: Show progress on standard error.
    """
    set_threads(threads)
    asked = list(dict.fromkeys([protocol] if isinstance(protocol, str) else protocol or []))
    named = [resolve("protocol", name) for name in asked if name != ALL]
    display = display_of(progress)
    (run,) = open_runs([run], data=data, features=features, labels=labels, data_root=data_root)
    if not asked and not supervised and run.data.get("y") is None:
        run.tell_if_unfinished(display)
        return run.health()
    named = named if asked else [score_cache.usual_protocol(run.data)]
    allowed, refused = possible(run.data) if ALL in asked else ([], {})
    chosen = [*named, *(one for one in allowed if one not in named)]
    others = [name for name in refused if task_of(run.data) not in resolve("protocol", name).tasks]
    if not chosen:
        reason = next(reason for name, reason in refused.items() if name not in others)
        raise InputError(f"No protocol is possible here: {reason}")
    _check(chosen, supervised, run.data)
    run.tell_if_unfinished(display)
    for one in chosen:
        score_cache.tell_if_trained_anew(run, one, display)
    scores, records = {}, {}
    for one in chosen:
        try:
            scores[one.name] = _score(run, one, supervised, display)
        except InputError as error:
            if one in named:
                raise
            refused[one.name] = str(error)  # the other protocols are still scored
            continue
        records[one.name] = score_cache.keep_scores(run, one, scores[one.name], display)
    refused = {name: reason for name, reason in refused.items() if name not in scores}
    others = [name for name in others if name in refused]
    alike = {reason: [name for name in refused if refused[name] == reason] for reason in refused.values()}
    remarks = [
        *(f"{one.name}: {one.description}" for one in chosen if one.name in scores),
        *(f"not here, {', '.join(names)}: {reason}" for reason, names in alike.items() if names[0] not in others),
        *([_of_other_tasks(others)] if others else []),
    ]
    return Scores(scores, records, refused, remarks)


def _check(chosen: Sequence[Protocol], supervised: bool, data: Data) -> None:
    """Raise, before any long work, what these data do not allow."""
    for protocol in chosen:
        protocol.check(data)
    if supervised and task_of(data) != "node":
        this = f"this is a set of {item_word(data)}"
        raise InputError(f"--supervised trains an MLP and a GCN on the nodes of one graph, and {this}.")
    if supervised and not any(can_be_supervised(protocol, data) for protocol in chosen):
        names = ", ".join(protocol.name for protocol in chosen)
        raise InputError(f"--supervised needs splits with a validation part, as honest-10-10-80 has; {names} has none.")


def _score(run: Run, protocol: Protocol, supervised: bool, display: Display) -> list[Score]:
    """Score the baselines, the untrained encoder, the run itself and, if asked for, supervised networks."""
    scores = score_cache.score_run(run, protocol, display)
    if supervised and isinstance(protocol, Classification) and can_be_supervised(protocol, run.data):
        with display.progress(f"training MLP and GCN, {protocol.name}", 2 * protocol.count(run.data)) as tracker:
            models: dict[SupervisedModel, str] = {"mlp": "MLP, supervised", "gcn": "GCN, supervised"}
            for model, name in models.items():
                scores.append(supervised_score(run.data, protocol, model, name=name, on_split=tracker.step))
    return scores


def _of_other_tasks(names: Sequence[str]) -> str:
    """Return, for instance, "not here, 10 protocols for the nodes of one graph or whole graphs: …"."""
    tasks = {task for name in names for task in resolve("protocol", name).tasks}
    scored = " or ".join(what for task, what in ITEMS.items() if task in tasks)
    return f"not here, {counted(len(names), 'protocol')} for {scored}: {', '.join(names)}"


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
                form = "+" + FORMATS.get(metric, ".2f")
                cells = [f"{difference.mean:{form}}", "–", "–"] if number else [""] * 3
                if number and not math.isnan(difference.low):
                    cells[1:] = [f"[{difference.low:{form}}, {difference.high:{form}}]", f"{difference.p_value:.2g}"]
                rows.append([str(path), score.name, metric, score.text(metric), *cells])
        return ["run", "", "metric", "score", "difference", "95 % interval", "p (Wilcoxon)"], rows

    def notes(self) -> list[str]:
        protocol = f"{self.protocol.name}: {self.protocol.description}"
        return [protocol, f"Differences are from {self.paths[0]}. {caveat(self.scores[0])}"]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with the value of every split."""
        first, *others = [
            {"run": str(path), "score": score.as_dict()} for path, score in zip(self.paths, self.scores, strict=True)
        ]
        for row, found in zip(others, self.differences[1:], strict=True):
            differences = {metric: difference.as_dict() for metric, difference in found.items()}
            row["differences"] = finite(differences)
        return {"protocol": self.protocol.name, "note": caveat(self.scores[0]), "baseline": first, "others": others}


def compare_runs(
    *runs: Run | str | Path,
    protocol: str | None = None,
    data: Any = None,
    features: str | Path | None = None,
    labels: Any = None,
    data_root: str | Path | None = None,
    threads: int | None = None,
    progress: bool | Display = False,
) -> Comparison:
    """Compare runs with the first of them, split by split: mean difference, 95 % interval, Wilcoxon's p.

    Scores kept in the run folders are used again where they fit. The arguments are as for
    :func:`~sfa.run.evaluate_run`.
    """
    set_threads(threads)
    asked, display = None if protocol is None else resolve("protocol", protocol), display_of(progress)
    if len(runs) < 2:
        raise InputError("Say at least two runs to compare: the first is what the others are compared with.")
    opened = open_runs(runs, data=data, features=features, labels=labels, data_root=data_root)
    chosen = asked or score_cache.usual_protocol(opened[0].data)
    for run in opened:
        chosen.check(run.data)
    score_cache.require_same_splits(opened, chosen)
    for run in opened:
        run.tell_if_unfinished(display)
    scores = [score_cache.score_together([run], chosen, display, baselines=False)[0][0] for run in opened]
    differences = [{metric: score_difference(score, scores[0], metric) for metric in score.values} for score in scores]
    return Comparison(chosen, [run.path for run in opened], scores, differences)
