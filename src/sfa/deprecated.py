"""Old import paths, which work for one more release and warn."""

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MODULES: dict[str, tuple[str, ...]] = {
    "sfa.estimators.embedders": ("sfa.estimators",),
    "sfa.evaluate.masked_splits": ("sfa.evaluate.splits",),
    "sfa.evaluate.supervised": ("sfa.evaluate.baselines",),
    "sfa.evaluation": ("sfa.evaluate",),
    "sfa.evaluation.probes": ("sfa.evaluate.probes",),
    "sfa.evaluation.splits": ("sfa.evaluate.splits",),
    "sfa.evaluation.untrained": ("sfa.evaluate.baselines",),
    "sfa.figures": ("sfa.plots", "sfa.paper.figures"),
    "sfa.graph.weisfeiler_lehman": ("sfa.graph.histograms",),
    "sfa.ledger": ("sfa.paper", "sfa.paper.results", "sfa.paper.results_files"),
    "sfa.levels": ("sfa.tasks",),
    "sfa.methods.joao_v2": ("sfa.methods.graphcl",),
    "sfa.nn.momentum": ("sfa.methods.bgrl", "sfa.methods.graphcl"),
    "sfa.processes": ("sfa.distributed",),
    "sfa.recipes": ("sfa.run",),
    "sfa.recipes.run": ("sfa.run.train_recipe",),
    "sfa.studies": ("sfa.paper.plans", "sfa.paper.runner", "sfa.paper.summary"),
    "sfa.paper.cells": ("sfa.paper.plans",),
    "sfa.studies.variants": ("sfa.paper.plans",),
    "sfa.tables": ("sfa.paper.tables.make", "sfa.paper.tables.model", "sfa.paper.tables.selection"),
    "sfa.tables.render": ("sfa.paper.tables.formats",),
    "sfa.training": ("sfa.train",),
    "sfa.training.loggers": ("sfa.train.loggers",),
}
"""Old modules, and where their names are now."""

NAMES = {
    "Ask": "Selection",
    "Level": "Task",
    "NeighbourProbe": "KNNProbe",
    "SETTINGS": "SUPERVISED_SETTINGS",
    "UNTRAINED": "BASELINES",
    "agreed": "broadcast_object",
    "count": "world_size",
    "leave": "barrier_and_destroy",
    "shared": "broadcast",
    "synchronise": "enable_cross_rank",
}
"""Old names, and what they are called now."""


def find_old_name(module: str, name: str, renamed: Mapping[str, Any]) -> Any:
    """Return what a module once called ``name``, and warn; for a module's ``__getattr__``."""
    if name not in renamed:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warnings.warn(f"{module}.{name} is now {renamed[name].__name__}.", DeprecationWarning, stacklevel=3)
    return renamed[name]


class OldModules(MetaPathFinder, Loader):
    """Import an old module as one whose names are looked up where they are now."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name in MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        """Let the module look names up where they are now, and warn."""
        places = MODULES[module.__name__]
        warnings.warn(f"{module.__name__} is now {places[0]}.", DeprecationWarning, stacklevel=2)

        def find(name: str) -> Any:
            # `inspect` asks every loaded module for names such as `__file__`: import nothing for them.
            for place in () if name.startswith("__") else map(import_module, places):
                for candidate in (name, NAMES.get(name, name)):
                    if hasattr(place, candidate):
                        return getattr(place, candidate)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__getattr__ = find  # type: ignore[method-assign]


def install() -> None:
    """Let Python find the old modules."""
    if not any(isinstance(finder, OldModules) for finder in sys.meta_path):
        sys.meta_path.append(OldModules())
