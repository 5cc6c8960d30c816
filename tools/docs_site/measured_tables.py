"""The part of a method's page that tells what was measured of it, with protocol, seeds and budget."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from markdown_parts import folded, unbroken, yaml_value
from measured import PLAIN, SFA, Group, Pair, changes, groups, pairs

from sfa.paper.results_files import Entry
from sfa.paper.tables.selection import Selection, is_budget

FEATURES = ("raw features", "raw pixels", "label histogram")
"""What is scored with no encoder at all, at each task."""

Changes = Mapping[str, tuple[Any, Any]]


def measured_section(name: str, entries: Sequence[Entry]) -> list[str]:
    """The section in Markdown, part by part."""
    found = groups(entries, method=name)
    told = ["## What was measured"]
    if not found:
        return [*told, f"Nothing yet. `sfa study methods --method {name} --datasets …` measures it."]
    every = [(pair, changes(pair.any)) for pair in pairs(found)]
    main = [(pair, how) for pair, how in every if _is_main(pair, how)]
    rest = [(pair, how) for pair, how in every if not _is_main(pair, how)]
    told.append(
        "By its shipped recipe, without and with SFA. ± is the standard deviation over the training seeds of the means "
        "over splits; with one seed, over its splits. The difference is paired in the same way, with its 95 % interval."
    )
    told.append(_main_table(name, main, entries) if main else "Not by its shipped recipe as it is.")
    told += _correction([pair.any for pair, _ in every])
    if rest:
        told.append(folded("Other maps and settings", _other_table(rest)))
    return [*told, _made_by(name, main), _made_with(name, entries)]


def _correction(found: Sequence[Group]) -> list[str]:
    """What runs from before a correction of the method were made with."""
    before = [group.correction for group in found if group.correction]
    if not before:
        return []
    settings = ", ".join(f"`{path}={yaml_value(value)}`" for path, value in before[0].items())
    told = f"*Before its correction* means with {settings}, which sfa had before it did as the method's authors do."
    return [f"{told} With the corrected settings it was not measured yet." if len(before) == len(found) else told]


def _is_main(pair: Pair, how: Changes) -> bool:
    return pair.any.spectral in (PLAIN, SFA) and all(is_budget(path) for path in how)


def _main_table(name: str, main: Sequence[tuple[Pair, Changes]], entries: Sequence[Entry]) -> str:
    beside = [group for kind in FEATURES for group in groups(entries, method=None, kind=kind)]
    untrained = groups(entries, method=name, kind="untrained encoder")
    rows = [
        [
            pair.any.dataset,
            f"`{pair.any.protocol}`",
            metric,
            "" if pair.plain is None else pair.plain.text(metric),
            "" if pair.other is None else pair.other.text(metric),
            _difference(pair, metric),
            pair.any.budget,
            _seeds(pair),
            _beside(beside, pair.any, metric),
            _beside(untrained, pair.any, metric),
        ]
        for pair, _ in main
        for metric in pair.any.metrics
    ]
    heads = ["data", "protocol", "metric", "plain", "with SFA", "difference", "budget", "seeds", "features alone"]
    return unbroken([*heads, "untrained encoder"], rows)


def _other_table(rest: Sequence[tuple[Pair, Changes]]) -> str:
    rows = [
        [
            pair.any.dataset,
            _settings(how) or "as shipped",
            pair.any.spectral,
            f"`{pair.any.protocol}`",
            metric,
            pair.any.text(metric),
            _difference(pair, metric),
            pair.any.budget,
            _seeds(pair),
        ]
        for pair, how in rest
        for metric in pair.any.metrics[:1]
    ]
    heads = ["data", "settings", "map", "protocol", "metric", "value", "difference from no map", "budget", "seeds"]
    return unbroken(heads, rows)


def _settings(how: Changes) -> str:
    """What differs from the shipped recipe, but for the budget."""
    other = {path.removeprefix("method."): own for path, (own, _) in how.items() if not is_budget(path)}
    return ", ".join(f"`{path}={yaml_value(own)}`" for path, own in other.items())


def _seeds(pair: Pair) -> str:
    if pair.plain is None or pair.other is None or pair.plain.seeds == pair.other.seeds:
        return pair.any.seeds
    return f"{pair.plain.seeds}; with the map {pair.other.seeds}"


def _beside(found: Sequence[Group], group: Group, metric: str) -> str:
    same = (other for other in found if (other.dataset, other.splits) == (group.dataset, group.splits))
    return next((other.text(metric) for other in same if metric in other.metrics), "")


def _difference(pair: Pair, metric: str) -> str:
    found = None if pair.other is None else pair.other.summary(metric, pair.plain).difference
    return "" if found is None else str(found)


def _made_by(name: str, main: Sequence[tuple[Pair, Changes]]) -> str:
    """The commands, one for the data sets that were measured alike."""
    commands: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for pair, how in main:
        study = "clustering" if pair.any.protocol == "clustering" else "methods"
        protocol = () if study == "clustering" else ("--protocol", pair.any.protocol)
        seeds = {seed for group in (pair.plain, pair.other) if group is not None for seed in group.scores}
        spent = {path: own for path, (own, _) in how.items() if path != "training.warmup" and own is not None}
        spent |= pair.any.correction
        words = "--method", name, *protocol, *Selection(seeds=tuple(sorted(seeds)), changes=spent).words
        sets = commands.setdefault((study, words), [])
        if pair.any.dataset not in sets:
            sets.append(pair.any.dataset)
    lines = [
        shlex.join(["sfa", "study", study, "--datasets", *sets, *words]) for (study, words), sets in commands.items()
    ]
    return "Made by:\n\n```\n" + "\n".join(lines) + "\n```" if lines else ""


def _made_with(name: str, entries: Sequence[Entry]) -> str:
    own = [entry for entry in entries if entry.method == name and entry.failure is None]
    versions = sorted({f"sfa {entry.versions.get('sfa')}, torch {entry.versions.get('torch')}" for entry in own})
    days = sorted({entry.created[:10] for entry in own})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"With {'; '.join(versions)}, on the {own[0].device.upper()}, {when}."
