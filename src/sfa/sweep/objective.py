"""What a trial is worth: the validation accuracy of its recipe, as a mean over seeds of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfa.errors import InputError
from sfa.ledger import Ledger
from sfa.run import Recipe
from sfa.studies import Runner, Watcher
from sfa.sweep.cells import ScoredData, cell_of, plan_of
from sfa.sweep.space import Space
from sfa.sweep.trials import Trials

if TYPE_CHECKING:
    from optuna.trial import Trial


@dataclass(frozen=True)
class Objective:
    """Trains the recipe of a trial with each seed and enters what comes of it, in the ledger and with the trial.

    Attributes:
        name: Of the search, by which the ledger calls its trials.
        data: With no labels but those of the development part, and the protocol that validates.
        seeds: Of training.
        ledger: Holds every run; one that it has already is not made again.
        device: Where methods are trained.
        strict: Raise what makes a trial fail, instead of entering it and going on.
        watcher: Is told how the runs of a trial go.
    """

    name: str
    data: ScoredData
    seeds: tuple[int, ...]
    ledger: Ledger
    device: str = "auto"
    strict: bool = False
    watcher: Watcher | None = None

    def attempt(self, trials: Trials, arm: str, space: Space, trial: Trial) -> None:
        """Bring a trial to its end, whatever that is."""
        try:
            recipe = space.with_values(space.values(lambda found: found.suggest(trial)))
        except InputError as error:  # settings that are allowed, but not together
            trials.fail(arm, trial, str(error))
            return
        label, values = f"{self.name}{arm and ', '}{arm}: trial {trial.number}", list[float]()
        for seed in self.seeds:
            value, failure = self.value(recipe, seed, label)
            if value is None:
                trials.fail(arm, trial, failure)
                return
            values.append(value)
            trial.set_user_attr("values", values)
            if len(values) < len(self.seeds) and trials.give_up(arm, trial, values):
                return
        trials.finish(arm, trial, sum(values) / len(values))

    def value(self, recipe: Recipe, seed: int, label: str) -> tuple[float | None, str]:
        """The validation accuracy of a recipe trained with a seed, in per cent; ``None`` and why, if that failed."""
        cell, (protocol,) = cell_of(self.data, recipe, seed, label), self.data.protocols
        runner = Runner(self.ledger, device=self.device, strict=self.strict, watcher=self.watcher or Watcher())
        runner.run(plan_of([cell], self.data))
        if cell.title in runner.failures:
            return None, runner.failures[cell.title]
        entry = self.ledger.get(cell.key)
        score = None if entry is None else entry.score_under(protocol.name, self.data.digest(protocol.name))
        assert score is not None
        return score.mean(), ""
