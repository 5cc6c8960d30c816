"""A search from its first trial to its last, one arm after another in turn."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from sfa.data import fingerprint
from sfa.errors import InputError
from sfa.evaluate import Classification
from sfa.experiments.results import Ledger
from sfa.experiments.runner import Watcher
from sfa.levels import level_of
from sfa.registry import resolve
from sfa.sweep.cells import ScoredData
from sfa.sweep.choose import write_choice
from sfa.sweep.development import development_part, hide_labels, unseen_protocol, validation_protocol
from sfa.sweep.objective import Objective
from sfa.sweep.settings import Settings
from sfa.sweep.space import Space
from sfa.sweep.trials import REPORT, Record, Trials


class SearchWatcher(Watcher):
    """Is told how a search goes; this one takes no notice."""

    def trial_begins(self, arm: str, number: int) -> None:
        """A trial is taken up."""

    def trial_ends(self, record: Record, best: Record | None) -> None:
        """A trial has come to its end; ``best`` is the best so far of its arm."""


@dataclass
class Search:
    """A search in a folder.

    Args:
        settings: All that decides it.
        graph: The data, with their labels. Of these the search itself is given the development part's alone.
        folder: Where it is kept: ``search.json``, ``trials.sqlite``, ``trials.csv`` and the winner, ``best.yaml``.
    """

    settings: Settings
    graph: Data
    folder: Path
    arms: dict[str, Space] = field(init=False)

    def __post_init__(self) -> None:
        if fingerprint(self.graph) != self.settings.fingerprint:
            raise InputError(f"The data have changed since the search in {self.folder} began: search in another --out.")
        self.arms = self.settings.arms()
        for space in self.arms.values():
            space.recipe.build_for(self.graph)
        self.data()

    @property
    def protocol(self) -> Classification:
        """Under which the winner is reported."""
        return classification(self.settings.protocol)

    def data(self) -> ScoredData:
        """What the search is given: data without the other labels, and the protocol that validates."""
        seen = development_part(self.protocol, self.graph)
        hidden = hide_labels(self.graph, seen)
        validates = validation_protocol(self.protocol, self.graph)
        validates.check(hidden)
        return self._scored(hidden, validates)

    def all_data(self) -> ScoredData:
        """What the winner is reported on: data with all labels, the protocol, and what of it no choice has seen."""
        unseen = unseen_protocol(self.protocol, self.graph)
        return self._scored(self.graph, self.protocol, *([] if unseen is None else [unseen]))

    def total(self, trials: int | None) -> int:
        """Trials of each arm: those asked for, or else all points of a grid."""
        if self.settings.sampler != "grid":
            return DEFAULT_TRIALS if trials is None else trials
        points = max(len(space.grid()) for space in self.arms.values())
        return points if trials is None else min(trials, points)

    def unfinished(self, records: Sequence[Record], trials: int | None) -> int:
        """How many of the trials asked for, in all arms, have not come to their end."""
        ended, total = Counter(record.arm for record in records if record.state != "running"), self.total(trials)
        return sum(max(0, self._wanted(space, total) - ended[arm]) for arm, space in self.arms.items())

    @property
    def is_reported(self) -> bool:
        """Whether its choice is frozen, by a report that is made or was begun."""
        return (self.folder / REPORT).exists()

    def run(
        self,
        ledger: Ledger,
        *,
        trials: int | None = None,
        timeout: float | None = None,
        device: str = "auto",
        strict: bool = False,
        watcher: SearchWatcher | None = None,
    ) -> list[Record]:
        """Try until there are so many trials in all; returns them. Stopped by whatever, it goes on from there.

        Of a search that has been reported on the trials are returned if there are enough; no further one is begun.

        Args:
            ledger: Where every run is entered.
            trials: Of each arm; 20 if not given, or all points of a grid.
            timeout: Seconds after which no further trial is begun.
            device: Where methods are trained.
            strict: Raise what makes a trial fail, instead of entering it and going on.
            watcher: Is told how it goes.
        """
        self.settings.settle(self.folder)
        watcher, started, total = watcher or SearchWatcher(), time.monotonic(), self.total(trials)
        objective = Objective(
            self.folder.name, self.data(), self.settings.seeds, ledger, device, strict, watcher=watcher
        )
        with self.trials() as opened:
            going_on = True
            while going_on:
                going_on = False
                for arm, space in self.arms.items():
                    if timeout is not None and time.monotonic() - started > timeout:
                        going_on = False
                        break
                    going_on |= self._one_more(opened, arm, space, total, objective, watcher)
            return self.records(opened)

    def trials(self) -> Trials:
        """The storage of its trials."""
        settings = self.settings
        return Trials(self.folder, sampler=settings.sampler, seed=settings.seed, pruner=settings.pruner)

    def records(self, trials: Trials) -> list[Record]:
        """Of all arms."""
        return [record for arm in self.arms for record in trials.records(arm)]

    def _one_more(
        self, trials: Trials, arm: str, space: Space, total: int, objective: Objective, watcher: SearchWatcher
    ) -> bool:
        points = _stored(space) if self.settings.sampler == "grid" else []
        with trials.claimed(arm, self._wanted(space, total), points) as trial:
            if trial is None:
                return False
            watcher.trial_begins(arm, trial.number)
            objective.attempt(trials, arm, space, trial)
        records = self.records(trials)
        chosen = write_choice(self.folder, self.settings, self.arms, records)
        ended = next(record for record in records if (record.arm, record.number) == (arm, trial.number))
        watcher.trial_ends(ended, chosen.get(arm))
        return True

    def _wanted(self, space: Space, total: int) -> int:
        """Trials of an arm, whose grid may have fewer points than another's."""
        return min(total, len(space.grid())) if self.settings.sampler == "grid" else total

    def _scored(self, graph: Data, *protocols: Classification) -> ScoredData:
        return ScoredData(
            str(graph.name),
            self.settings.fingerprint,
            self.settings.source,
            lambda: graph,
            level_of(graph),
            protocols=protocols,
        )


DEFAULT_TRIALS = 20


def classification(name: str) -> Classification:
    """The protocol of this name, if it scores by classification."""
    protocol = resolve("protocol", name)
    if not isinstance(protocol, Classification):
        raise InputError(f"A search is judged by classification, and {name} does something else.")
    return protocol


def _stored(space: Space) -> list[dict[str, Any]]:
    """The points of a grid as trials hold them."""
    by_key = {found.key: found for found in space.ranges}
    return [{key: by_key[key].stored(value) for key, value in point.items()} for point in space.grid()]
