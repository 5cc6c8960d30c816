"""The trials of a search in Optuna's SQLite storage: claimed by one process at a time, and gone on with if it dies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sfa.atomic import locked
from sfa.errors import InputError
from sfa.sweep.sampler import SamplerName, make_sampler

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""
REPORT = "report.json"
"""Of a search's folder; once it is there, no trial is taken up."""

PrunerName = Literal["none", "median"]
PRUNERS: tuple[PrunerName, ...] = ("none", "median")

State = Literal["done", "pruned", "failed", "running", "waiting"]
STATES: dict[str, State] = {
    "COMPLETE": "done",
    "PRUNED": "pruned",
    "FAIL": "failed",
    "RUNNING": "running",
    "WAITING": "waiting",
}


@dataclass(frozen=True)
class Record:
    """What is known of a trial."""

    arm: str
    number: int
    state: State
    value: float | None
    """Mean validation accuracy over the seeds, in per cent."""
    params: Mapping[str, Any]
    """As Optuna has them: of choices their texts."""
    values: tuple[float, ...]
    """The accuracy of each seed."""
    seconds: float | None
    failure: str | None


def check_installed() -> None:
    """Raise unless Optuna is there."""
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise InputError("A sweep needs the extra `sweep`: pip install 'sfa[sweep]'.") from error


class Trials:
    """The storage of a search's folder, open; use it as a context.

    Args:
        folder: Of the search.
        sampler: What proposes trials.
        seed: Of the sampler.
        pruner: ``median`` gives up a trial whose mean over the seeds so far is below the median of the others'.
    """

    def __init__(
        self, folder: Path, *, sampler: SamplerName = "tpe", seed: int = 0, pruner: PrunerName = "none"
    ) -> None:
        check_installed()
        self.folder, self.path = folder, folder / "trials.sqlite"
        self.sampler, self.seed, self.pruner = sampler, seed, pruner
        self._studies: dict[str, Study] = {}
        with self.at_rest():  # two processes must not both make the tables
            self._storage = _open(self.path)

    def __enter__(self) -> Trials:
        return self

    def __exit__(self, *_: object) -> None:
        self._storage.remove_session()
        self._storage.engine.dispose()

    @contextmanager
    def claimed(self, arm: str, total: int, points: Sequence[Mapping[str, Any]] = ()) -> Iterator[Trial | None]:
        """Inside, a trial that is this process's: one that was left behind, or the next; ``None`` if there are enough.

        Args:
            arm: Of the search.
            total: Trials that are wanted in all.
            points: Of a grid, which are tried in order.

        Raises:
            InputError: There is a trial to take up, and the search has been reported on.
        """
        study = self._study(arm)
        with ExitStack() as until_the_end:
            with self.at_rest():
                trial = self._left_behind(arm, study) or self._next(study, total, points)
                if trial is not None:
                    until_the_end.enter_context(locked(self._lock(arm, trial.number), wait=False))
            yield trial

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Inside, no process takes up a trial."""
        with locked(self.folder / ".claim.lock", wait=True):
            yield

    def finish(self, arm: str, trial: Trial, value: float) -> None:
        """The trial came to its end with this value."""
        self._study(arm).tell(trial, value)

    def fail(self, arm: str, trial: Trial, sentence: str) -> None:
        """The trial failed, and this is why."""
        from optuna.trial import TrialState

        trial.set_user_attr("failure", sentence)
        self._study(arm).tell(trial, state=TrialState.FAIL)

    def give_up(self, arm: str, trial: Trial, values: Sequence[float]) -> bool:
        """Whether the pruner gives up a trial with these values of its first seeds; if so, that is entered."""
        from optuna.trial import TrialState

        step = len(values) - 1
        if step not in self._storage.get_trial(trial._trial_id).intermediate_values:  # of a trial gone on with
            trial.report(sum(values) / len(values), step)
        if not trial.should_prune():
            return False
        self._study(arm).tell(trial, state=TrialState.PRUNED)
        return True

    def records(self, arm: str) -> list[Record]:
        """All trials of an arm, by number; those of a grid that were not taken up are left out."""
        found = (_record(arm, trial) for trial in self._study(arm).get_trials(deepcopy=False))
        return [record for record in found if record.state != "waiting"]

    def busy(self, arm: str) -> list[int]:
        """Numbers of the trials that other processes are at; ask while the search is :meth:`at_rest`."""
        busy = []
        for record in self.records(arm):
            if record.state == "running":
                with locked(self._lock(arm, record.number), wait=False) as ours:
                    busy += [] if ours else [record.number]
        return busy

    def _study(self, arm: str) -> Study:
        import optuna

        if arm not in self._studies:
            median = self.pruner == "median"
            self._studies[arm] = optuna.create_study(
                storage=self._storage,
                study_name=f"sweep {arm}".strip(),
                direction="maximize",
                sampler=make_sampler(self.sampler, self.seed),
                pruner=optuna.pruners.MedianPruner() if median else optuna.pruners.NopPruner(),
                load_if_exists=True,
            )
        return self._studies[arm]

    def _left_behind(self, arm: str, study: Study) -> Trial | None:
        """A trial that is under way in no process: whoever was at it has ended."""
        import optuna

        running = optuna.trial.TrialState.RUNNING
        for trial in study.get_trials(deepcopy=False, states=(running,)):
            with locked(self._lock(arm, trial.number), wait=False) as ours:
                # Whoever was at it may have finished since the list was made, and let go of it by that.
                if ours and self._storage.get_trial(trial._trial_id).state == running:
                    self._require_unreported()
                    return optuna.trial.Trial(study, trial._trial_id)
        return None

    def _next(self, study: Study, total: int, points: Sequence[Mapping[str, Any]]) -> Trial | None:
        trials = study.get_trials(deepcopy=False)
        if sum(STATES[trial.state.name] != "waiting" for trial in trials) >= total:
            return None
        self._require_unreported()
        for point in points[len(trials) :]:  # all of them at first, or what an interruption left out
            study.enqueue_trial(dict(point))
        return study.ask()

    def _require_unreported(self) -> None:
        if (self.folder / REPORT).exists():
            raise InputError(
                f"The search in {self.folder} has been reported on: whoever goes on with it chooses after the test "
                "labels were read. Search in another --out."
            )

    def _lock(self, arm: str, number: int) -> Path:
        name = "".join(letter if letter.isalnum() else "-" for letter in arm)
        return self.folder / f".trial{name and '-'}{name}-{number}.lock"


def _open(path: Path) -> RDBStorage:
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if "?" in str(path):
        raise InputError(f"The folder {path.parent} has a question mark in its name, which SQLite's addresses forbid.")
    try:
        return optuna.storages.RDBStorage(
            f"sqlite:///{path.absolute()}", engine_kwargs={"connect_args": {"timeout": PATIENCE}}
        )
    except (SQLAlchemyError, RuntimeError, ValueError, AssertionError) as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())[:200]
        raise InputError(
            f"{path} cannot be used as the storage of a search ({reason}): search in another --out."
        ) from error


def _record(arm: str, trial: FrozenTrial) -> Record:
    state = STATES[trial.state.name]
    failure = trial.user_attrs.get("failure")
    return Record(
        arm=arm,
        number=trial.number,
        state=state,
        value=trial.value if state == "done" else None,
        params=dict(trial.params),
        values=tuple(trial.user_attrs.get("values", ())),
        seconds=None if trial.duration is None else trial.duration.total_seconds(),
        failure=None if failure is None else str(failure),
    )
