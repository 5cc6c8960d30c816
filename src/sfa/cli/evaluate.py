"""``sfa evaluate``: scores of a run beside those that cost nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor
from torch_geometric.data import Data

from sfa.cli.score_table import print_scores
from sfa.errors import InputError
from sfa.evaluate import Classification, Protocol, Score, possible
from sfa.evaluate.protocols import Embedder, default_protocol
from sfa.evaluate.supervised import Yardstick, can_be_supervised, supervised_score
from sfa.evaluate.untrained import UNTRAINED
from sfa.levels import ITEMS, Level, item_word, level_of
from sfa.registry import registered, resolve
from sfa.run.display import Display, results_console
from sfa.run.score_cache import keep_scores, scores_record
from sfa.run.source import Run, counted, open_run, set_threads, tell_if_unfinished
from sfa.train import LambdaCallback, train

ALL = "all"
YARDSTICKS: dict[Yardstick, str] = {"mlp": "MLP, supervised", "gcn": "GCN, supervised"}


def run(
    path: Path,
    *,
    protocols: Sequence[str],
    supervised: bool,
    as_json: bool,
    data_root: Path | None,
    threads: int | None,
    quiet: bool,
) -> None:
    """Score a run, print the table and keep the values of every split in the run folder."""
    set_threads(threads)
    named = [resolve("protocol", name) for name in dict.fromkeys(protocols) if name != ALL]
    display = Display(quiet)
    opened = open_run(path, data_root=data_root)
    named = named if protocols else [resolve("protocol", default_protocol(level_of(opened.graph)))]
    allowed, refused = possible(opened.graph) if ALL in protocols else ([], {})
    chosen = [*named, *(protocol for protocol in allowed if protocol not in named)]
    if not chosen:
        own, _ = _by_level(refused, level_of(opened.graph))
        raise InputError(f"No protocol is possible here: {next(iter(own.values()))}")
    for protocol in chosen:
        protocol.check(opened.graph)
    if supervised and level_of(opened.graph) != "node":
        this = f"this is a set of {item_word(opened.graph)}"
        raise InputError(f"--supervised trains an MLP and a GCN on the nodes of one graph, and {this}.")
    if supervised and not any(can_be_supervised(protocol, opened.graph) for protocol in chosen):
        raise InputError(
            "--supervised trains classifiers on splits with a validation part, for instance those of "
            f"honest-10-10-80; {', '.join(protocol.name for protocol in chosen)} has none."
        )
    tell_if_unfinished(opened, display)
    for protocol in chosen:
        tell_if_trained_anew(opened, protocol, display)
    scores = {}
    for protocol in chosen:
        try:
            scores[protocol.name] = evaluate_run(opened, protocol, display, supervised)
        except InputError as error:  # one of all that fails late does not take the others with it
            if protocol in named:
                raise
            refused[protocol.name] = str(error)
    chosen = [protocol for protocol in chosen if protocol.name in scores]
    refused = {name: reason for name, reason in refused.items() if name not in scores}
    if as_json:
        records = [scores_record(opened, protocol, scores[protocol.name]) for protocol in chosen]
        alone = len(named) == 1 and ALL not in protocols
        print(json.dumps(records[0] if alone else {"protocols": records, "not possible": refused}, indent=2))
    else:
        own, others = _by_level(refused, level_of(opened.graph))
        print_scores(scores, {protocol.name: protocol.description for protocol in chosen}, own)
        if others:
            results_console().print(_of_other_levels(others), markup=False)


def _by_level(refused: Mapping[str, str], level: Level) -> tuple[dict[str, str], list[str]]:
    """Protocols that are for such data, but not for these, and why; and those that are for other data."""
    levels = _levels()
    others = [name for name in refused if level not in levels[name]]
    return {name: reason for name, reason in refused.items() if name not in others}, others


def _of_other_levels(protocols: Sequence[str]) -> str:
    """As in "not here, 10 protocols for the nodes of one graph or whole graphs: …"."""
    levels = _levels()
    scored = [what for level, what in ITEMS.items() if any(level in levels[name] for name in protocols)]
    return f"not here, {counted(len(protocols), 'protocol')} for {' or '.join(scored)}: {', '.join(protocols)}"


def _levels() -> dict[str, Sequence[Level]]:
    """Return what each registered protocol can score."""
    return {protocol.name: protocol.levels for protocol in registered("protocol").values()}


def evaluate_run(run: Run, protocol: Protocol, display: Display, supervised: bool = False) -> list[Score]:
    """What needs no training, the untrained encoder and the run itself, on the same splits; kept in the run folder."""
    protocol.check(run.graph)
    scores = [*score_all(baselines_of(run), run.graph, protocol, display), score_run(run, protocol, display)]
    if supervised:
        scores += _supervised(run.graph, protocol, display)
    keep_scores(run, protocol, scores, display)
    return scores


def baselines_of(run: Run) -> dict[str, Embedder]:
    """What a run is measured against: embeddings that need no training, by their names."""
    return {**UNTRAINED[level_of(run.graph)], "untrained encoder": run.untrained().embed}


def score_run(run: Run, protocol: Protocol, display: Display) -> Score:
    """The score of a run alone. Where edges are held out, its recipe is trained anew without them."""
    if protocol.needs != "edges":
        (score,) = score_all({run.name: run.method.embed}, run.graph, protocol, display)
        return score
    return protocol.evaluate(_trained_anew(run, display), run.graph, name=run.name)


def tell_if_trained_anew(run: Run, protocol: Protocol, display: Display) -> None:
    """Say so before anything starts: it takes as long as the run took, several times."""
    if protocol.needs == "edges":
        display.say(
            f"{protocol.name}: {run.name} is trained anew {counted(protocol.repeats, 'time')}, up to "
            f"{counted(run.recipe.training.epochs, 'epoch')} each, as its embeddings must not have seen "
            "the edges that are held out."
        )


def score_all(
    embeddings: Mapping[str, Tensor | Embedder], graph: Data, protocol: Protocol, display: Display
) -> list[Score]:
    """Score several embeddings on the same splits, showing progress."""
    with display.progress(f"scoring, {protocol.name}", len(embeddings) * protocol.count(graph)) as tracker:
        return [protocol.evaluate(z, graph, name=name, on_split=tracker.step) for name, z in embeddings.items()]


def _supervised(graph: Data, protocol: Protocol, display: Display) -> list[Score]:
    """Networks that learn from the labels, on the splits of the protocol; none, if those leave no validation part."""
    if not isinstance(protocol, Classification) or not can_be_supervised(protocol, graph):
        return []
    with display.progress(f"training MLP and GCN, {protocol.name}", 2 * protocol.count(graph)) as tracker:
        return [
            supervised_score(graph, protocol, model, name=name, on_split=tracker.step)
            for model, name in YARDSTICKS.items()
        ]


def _trained_anew(run: Run, display: Display) -> Embedder:
    """What trains the run's recipe on a graph, from its first epoch, and embeds it."""
    recipe = run.recipe

    def embed(graph: Data) -> Tensor:
        method = recipe.build_for(graph)
        with display.progress("training without edges held out", recipe.training.epochs) as tracker:
            shown = LambdaCallback(
                on_step_end=lambda state: tracker.step(state.epochs_done, of=state.num_steps, loss=state.loss)
            )
            settings = {**recipe.training.arguments, "diagnose_every": 0}
            train(method, graph, **settings, sampler=recipe.make_sampler(), callbacks=[shown])
        return method.cpu().eval().embed(graph)

    return embed
