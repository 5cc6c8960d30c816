"""From a name to a study."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sfa.errors import unknown_name
from sfa.studies import definitions
from sfa.studies.variants import Base, Variant

RUN_TIME = "run-time"
"""The protocol under which the ledger holds seconds per epoch."""


@dataclass(frozen=True)
class Study:
    """A named study."""

    name: str
    variants: Callable[[Base], Iterator[Variant]]
    protocols: tuple[str, ...] = ()
    """Those it is scored under if no others are asked for; if there are none, that of the data's level."""
    epochs: int | None = None
    """Epochs where none are asked for; as many as the recipe has, if ``None``."""
    many_methods: bool = False
    """Whether it compares methods, rather than settings of one."""

    @property
    def description(self) -> str:
        """What it compares, in a line."""
        return (inspect.getdoc(self.variants) or "").splitlines()[0]


STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study("ablation", definitions.ablation),
        Study("iterations", definitions.iterations),
        Study("passes", definitions.passes),
        Study("noisy-features", definitions.noisy_features),
        Study("noisy-edges", definitions.noisy_edges),
        Study("spectral-maps", definitions.spectral_maps),
        Study("kappa", definitions.kappa),
        Study("clustering", definitions.clustering, protocols=("clustering",), many_methods=True),
        Study(RUN_TIME, definitions.run_time, protocols=(RUN_TIME,), epochs=50),
        Study("run-time-k", definitions.run_time_by_iterations, protocols=(RUN_TIME,), epochs=50),
        Study("map-run-time", definitions.map_run_time, protocols=(RUN_TIME,), epochs=50),
        Study("methods", definitions.methods, many_methods=True),
    )
}


def resolve(name: str) -> Study:
    """The study called ``name``."""
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    return STUDIES[name]
