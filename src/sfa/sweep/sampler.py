"""What proposes trials: each depends on the seed and the trials before it alone, however often a search is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

from sfa.seeding import derive_seed

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study
    from optuna.trial import FrozenTrial

SamplerName = Literal["tpe", "random", "grid"]
SAMPLERS: tuple[SamplerName, ...] = ("tpe", "random", "grid")


def make_sampler(name: SamplerName, seed: int) -> BaseSampler:
    """Optuna's sampler of that name, seeded anew for each trial and key: one begun again would repeat its numbers.

    Points of a grid are laid down beforehand, and leave nothing to draw.
    """
    import optuna

    def fresh(*path: int) -> BaseSampler:
        own = derive_seed(seed, *path) % 2**32
        if name != "tpe":
            return optuna.samplers.RandomSampler(seed=own)
        return optuna.samplers.TPESampler(seed=own)

    return _anew_for_each(fresh)


def _anew_for_each(fresh: Callable[..., BaseSampler]) -> BaseSampler:
    import optuna

    class AnewForEach(optuna.samplers.BaseSampler):
        def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
            self.jointly = fresh(trial.number)
            return self.jointly.infer_relative_search_space(study, trial)

        def sample_relative(
            self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
        ) -> dict[str, Any]:
            return self.jointly.sample_relative(study, trial, search_space)

        def sample_independent(
            self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
        ) -> Any:
            alone = fresh(trial.number, crc32(param_name.encode()))
            return alone.sample_independent(study, trial, param_name, param_distribution)

    return AnewForEach()
