"""Score a run beside baselines that need no training."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import Classification, Protocol, Score, possible
from sfa.evaluate.supervised import SupervisedModel, can_be_supervised, supervised_score
from sfa.registry import registered, resolve
from sfa.run.display import Display, Rows, Shown, counted, display_of
from sfa.run.run import Run, open_runs, set_threads
from sfa.run.score_cache import keep_scores, score_with_baselines, tell_if_trained_anew, usual_protocol
from sfa.tasks import ITEMS, item_word, task_of

ALL = "all"


@dataclass(frozen=True, repr=False)
class Scores(Shown):
    """Scores of a run and of its baselines: ``of`` has those of all embeddings, the run's own last, by protocol.

    ``records`` are the files in the run folder, and ``refused`` the reasons why other protocols are not possible.
    """

    of: Mapping[str, Sequence[Score]]
    records: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    alone: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with the value of every split."""
        records = list(self.records.values())
        return records[0] if self.alone else {"protocols": records, "not possible": dict(self.refused)}

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
        tall = Table("protocol", "metric", padding=0)  # 80 columns hold four embeddings
        for name in next(iter(columns.values()), {}):
            tall.add_column(name, justify="right")
        for (protocol, metric), texts in columns.items():
            tall.add_row(protocol, metric, *texts.values())
        return tall


def evaluate_run(
    run: Run | str | Path,
    *,
    protocol: str | Sequence[str] | None = None,
    supervised: bool = False,
    data_root: str | Path | None = None,
    threads: int | None = None,
    progress: bool | Display = False,
) -> Scores:
    """Score a run's embeddings beside baselines without training: features, raw or propagated, the untrained encoder.

    The values of every split are kept in the run folder.

    Args:
        run: A run, or its folder.
        protocol: The name of a protocol, or several; ``all`` is every one that these data allow. By default
            ``honest-10-10-80`` for nodes, ``tu-svm-10fold`` for graphs, ``image-linear`` for images.
        supervised: Add an MLP and a GCN that learn from the labels of each split.
        data_root: Folder of data sets, in place of the one of training.
        threads: CPU threads.
        progress: Show progress on standard error.
    """
    set_threads(threads)
    asked = list(dict.fromkeys([protocol] if isinstance(protocol, str) else protocol or []))
    named = [resolve("protocol", name) for name in asked if name != ALL]
    display = display_of(progress)
    (run,) = open_runs([run], data_root=data_root)
    named = named if asked else [usual_protocol(run.data)]
    allowed, refused = possible(run.data) if ALL in asked else ([], {})
    chosen = [*named, *(one for one in allowed if one not in named)]
    _check(chosen, refused, supervised, run.data)
    run.tell_if_unfinished(display)
    for one in chosen:
        tell_if_trained_anew(run, one, display)
    scores, records = {}, {}
    for one in chosen:
        try:
            scores[one.name] = _score(run, one, supervised, display)
        except InputError as error:
            if one in named:
                raise
            refused[one.name] = str(error)  # the other protocols are still scored
            continue
        records[one.name] = keep_scores(run, one, scores[one.name], display)
    refused = {name: reason for name, reason in refused.items() if name not in scores}
    others = _for_other_tasks(refused, run.data)
    remarks = [
        *(f"{one.name}: {one.description}" for one in chosen if one.name in scores),
        *(f"not here, {name}: {reason}" for name, reason in refused.items() if name not in others),
        *([_of_other_tasks(others)] if others else []),
    ]
    return Scores(scores, records, refused, remarks, alone=len(named) == 1 and ALL not in asked)


def _check(chosen: Sequence[Protocol], refused: Mapping[str, str], supervised: bool, data: Data) -> None:
    """Raise, before any long work, what these data do not allow."""
    if not chosen:
        others = _for_other_tasks(refused, data)
        reason = next(reason for name, reason in refused.items() if name not in others)
        raise InputError(f"No protocol is possible here: {reason}")
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
    scores = score_with_baselines(run, protocol, display, {})
    if supervised and isinstance(protocol, Classification) and can_be_supervised(protocol, run.data):
        with display.progress(f"training MLP and GCN, {protocol.name}", 2 * protocol.count(run.data)) as tracker:
            models: dict[SupervisedModel, str] = {"mlp": "MLP, supervised", "gcn": "GCN, supervised"}
            for model, name in models.items():
                scores.append(supervised_score(run.data, protocol, model, name=name, on_split=tracker.step))
    return scores


def _for_other_tasks(names: Iterable[str], data: Data) -> list[str]:
    """Return the protocols that are for data of other tasks."""
    tasks = {protocol.name: protocol.tasks for protocol in registered("protocol").values()}
    return [name for name in names if task_of(data) not in tasks[name]]


def _of_other_tasks(names: Sequence[str]) -> str:
    """Return, for instance, "not here, 10 protocols for the nodes of one graph or whole graphs: …"."""
    tasks = {task for protocol in registered("protocol").values() if protocol.name in names for task in protocol.tasks}
    scored = " or ".join(what for task, what in ITEMS.items() if task in tasks)
    return f"not here, {counted(len(names), 'protocol')} for {scored}: {', '.join(names)}"
