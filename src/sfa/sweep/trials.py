"""The trials of a search in Optuna's SQLite storage, shared by processes and retried when one of them dies."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

from filelock import FileLock

from sfa.atomic import locked
from sfa.errors import InputError
from sfa.seeding import derive_seed
from sfa.train import Interrupted

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.storages import RDBStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

HEARTBEAT = 15  # seconds between two heartbeats of a process that runs a trial
GRACE = 60  # seconds without a heartbeat after which the trial is retried
LOCK, STORAGE = ".claim.lock", "trials.sqlite"  # files in a search's folder
REPORT = "report.json"  # the report in a search's folder; once it is there, no trial begins

SamplerName = Literal["tpe", "random", "grid"]
PrunerName = Literal["none", "median"]
STATES = {"COMPLETE": "done", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "running", "WAITING": "waiting"}


class TrialFailed(Exception):
    """A trial failed, and the search goes on."""


@dataclass(frozen=True)
class Record:
    """A trial of an arm of a search, as it is stored."""

    arm: str
    number: int  # its place in the arm; a retry has the number of the trial that it repeats
    state: str  # ``done``, ``pruned``, ``failed`` or ``running``
    value: float | None  # mean validation accuracy over the seeds, in per cent
    params: Mapping[str, Any]  # the values that it tried, as Optuna stores them
    values: tuple[float, ...]  # the accuracy of each seed
    seconds: float | None
    failure: str | None  # why it failed

    @property
    def name(self) -> str:
        return f"{self.arm} trial {self.number}".strip()


def best_of(records: Iterable[Record]) -> Record | None:
    """Return the finished trial of the highest value, of equal ones the first; ``None`` if none is finished."""
    finished = [record for record in records if record.state == "done" and record.value is not None]
    return min(finished, key=lambda record: (-(record.value or 0.0), record.number), default=None)


def best_of_each(records: Sequence[Record]) -> dict[str, Record]:
    """Return the best trial of every arm that has a finished one."""
    arms = dict.fromkeys(record.arm for record in records)
    found = {arm: best_of(record for record in records if record.arm == arm) for arm in arms}
    return {arm: best for arm, best in found.items() if best is not None}


def check_installed() -> None:
    """Raise unless Optuna is installed."""
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise InputError("A sweep needs the extra `sweep`: pip install 'sfa[sweep]'.") from error


class Trials(AbstractContextManager["Trials"]):
    """The open storage of a search's folder.

    A process that runs a trial sends heartbeats. When they stop, Optuna fails the trial, and a copy of it with the same
    values is the next to begin, in whichever process. While ``lock`` is held, no other process begins a trial.
    """

    def __init__(
        self, folder: Path, *, sampler: SamplerName = "tpe", seed: int = 0, pruner: PrunerName = "none"
    ) -> None:
        check_installed()
        self.folder, self.sampler, self.seed, self.pruner = folder, sampler, seed, pruner
        self.lock = FileLock(folder / LOCK)
        self._studies: dict[str, Study] = {}
        with locked(folder / LOCK, wait=True):  # two processes must not both make the tables
            self._storage = _open_storage(folder / STORAGE)

    def __exit__(self, *_: object) -> None:
        self._storage.remove_session()
        self._storage.engine.dispose()

    def run_next(
        self, arm: str, total: int, objective: Callable[[Trial, int], float], points: Sequence[Mapping[str, Any]] = ()
    ) -> int | None:
        """Run the next trial of an arm to its end, one that another process left behind or a new one.

        Return its number, or ``None`` if there are ``total`` trials. ``objective`` computes the value of a trial, given
        it and its number; ``points`` of a grid are tried in order.
        """
        study, numbers = self._study(arm), list[int]()

        def begin(trial: Trial) -> float:
            numbers.extend([trial.number, _place(study, trial.number)])
            trial.set_user_attr("heartbeat", True)
            self.lock.release()
            return objective(trial, numbers[1])

        self.lock.acquire()
        try:
            if not self._prepare(study, total, points):
                return None
            study.optimize(begin, n_trials=1, catch=(TrialFailed,))
        except (KeyboardInterrupt, Interrupted):
            if numbers:
                _retry(study, study.get_trials()[numbers[0]])
            raise
        finally:
            self.lock.release()
        return numbers[1]

    def records(self, arm: str) -> list[Record]:
        """Return all trials of an arm that have begun, by number; of one that was retried, the last try."""
        study = self._study(arm)
        trials = study.get_trials(deepcopy=False)
        retried = {number for trial in trials for number in _history(trial)}
        found = [
            Record(
                arm=arm,
                number=_place(study, trial.number),
                state=STATES[trial.state.name],
                value=trial.value if trial.state.name == "COMPLETE" else None,
                params=dict(trial.params),
                values=tuple(trial.user_attrs.get("values", ())),
                seconds=None if trial.duration is None else trial.duration.total_seconds(),
                failure=trial.user_attrs.get("failure"),
            )
            for trial in trials
            if trial.number not in retried and trial.state.name != "WAITING"
        ]
        return sorted(found, key=lambda record: record.number)

    def _study(self, arm: str) -> Study:
        import optuna

        if arm not in self._studies:
            self._studies[arm] = optuna.create_study(
                storage=self._storage,
                study_name=f"sweep {arm}".strip(),
                direction="maximize",
                sampler=_make_sampler(self.sampler, self.seed),
                pruner=optuna.pruners.MedianPruner() if self.pruner == "median" else optuna.pruners.NopPruner(),
                load_if_exists=True,
            )
        return self._studies[arm]

    def _prepare(self, study: Study, total: int, points: Sequence[Mapping[str, Any]]) -> bool:
        """Queue the next trial if there is one to begin; return whether there is."""
        import optuna

        optuna.storages.fail_stale_trials(study)
        for trial in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
            if "heartbeat" not in trial.user_attrs:  # begun by a version of sfa that sent none
                study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
                _retry(study, trial)
        trials = study.get_trials(deepcopy=False)
        originals = sum(not _history(trial) for trial in trials)
        waiting = any(trial.state.name == "WAITING" for trial in trials)
        if originals >= total and not waiting:
            return False
        if (self.folder / REPORT).exists():
            raise InputError(
                f"The search in {self.folder} has been reported on: whoever goes on with it chooses after the test "
                "labels were read. Search in another --out."
            )
        if points and not waiting:
            study.enqueue_trial(dict(points[originals]))
        return True


def _open_storage(path: Path) -> RDBStorage:
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)  # heartbeats and retries are such
    try:
        return optuna.storages.RDBStorage(
            f"sqlite:///{path.absolute()}",
            engine_kwargs={"connect_args": {"timeout": 60.0}},  # seconds to wait for another process that is writing
            heartbeat_interval=HEARTBEAT,
            grace_period=GRACE,
            heartbeat_stale_trial_callback=_retry,
        )
    except (SQLAlchemyError, RuntimeError, ValueError, AssertionError) as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())[:200]
        raise InputError(f"{path} cannot be used as the storage of a search ({reason}): take another --out.") from error


def _retry(study: Study, trial: FrozenTrial) -> None:
    """Queue a trial again, with its values and the seeds that are done."""
    import optuna

    optuna.storages.RetryHeartbeatStaleTrialCallback(inherit_intermediate_values=True)(study, trial)


def _history(trial: FrozenTrial) -> list[int]:
    """Return the numbers of the trials that this one retries."""
    return list(trial.system_attrs.get("retry_history", []))


def _place(study: Study, number: int) -> int:
    """Return the number of a trial without counting retries, so that an interruption changes nothing."""
    trials = study.get_trials(deepcopy=False)
    first = (_history(trials[number]) or [number])[0]
    return first - sum(bool(_history(trial)) for trial in trials[:first])


def _make_sampler(name: SamplerName, seed: int) -> BaseSampler:
    """Return Optuna's sampler, seeded anew for each trial and key: a restarted one would repeat its first draws."""
    import optuna

    def fresh(study: Study, trial: FrozenTrial, *key: int) -> BaseSampler:
        own = derive_seed(seed, _place(study, trial.number), *key) % 2**32
        return optuna.samplers.TPESampler(seed=own) if name == "tpe" else optuna.samplers.RandomSampler(seed=own)

    class SeededPerTrial(optuna.samplers.BaseSampler):
        def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, Any]:
            self.joint = fresh(study, trial)
            return self.joint.infer_relative_search_space(study, trial)

        def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, Any]) -> dict[str, Any]:
            return self.joint.sample_relative(study, trial, search_space)

        def sample_independent(self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: Any) -> Any:
            alone = fresh(study, trial, crc32(param_name.encode()))
            return alone.sample_independent(study, trial, param_name, param_distribution)

    return SeededPerTrial()
