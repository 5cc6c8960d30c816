"""Old import paths still lead somewhere, and warn."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module

import pytest

import sfa
from sfa.deprecated import MODULES

OLD = {
    "sfa.estimators.embedders": ["GraphEmbedder", "ImageEmbedder", "NodeEmbedder"],
    "sfa.evaluate.masked_splits": ["HeldOutSplits", "PublicSplits"],
    "sfa.evaluate.supervised": ["SETTINGS", "supervised", "supervised_score"],
    "sfa.evaluation": ["Classification", "effective_rank", "paired_difference", "singular_values"],
    "sfa.evaluation.probes": ["NeighbourProbe"],
    "sfa.evaluation.splits": ["RandomSplits"],
    "sfa.evaluation.untrained": ["UNTRAINED"],
    "sfa.figures": ["draw_maps", "find_figure", "save_figure"],
    "sfa.graph.weisfeiler_lehman": ["weisfeiler_lehman"],
    "sfa.ledger": ["Ledger", "Entry", "default_path"],
    "sfa.levels": ["Level"],
    "sfa.methods.joao_v2": ["JOAOv2"],
    "sfa.nn.momentum": ["make_target", "perturbed", "update_target_"],
    "sfa.paper.cells": ["Dataset", "Variant"],
    "sfa.processes": ["count", "synchronise"],
    "sfa.recipes": ["Recipe", "load_recipe"],
    "sfa.recipes.run": ["record_of", "train_recipe"],
    "sfa.studies": ["Dataset", "Runner", "Study", "make_plan"],
    "sfa.studies.variants": ["Variant"],
    "sfa.tables": ["Ask", "make_table"],
    "sfa.tables.render": ["render"],
    "sfa.training": ["Callback", "LambdaCallback", "LoggerCallback", "RunFolder", "train"],
    "sfa.training.loggers": ["Loggers"],
}
"""Names that the documentation of an older version imported."""


@pytest.mark.parametrize("module", MODULES)
def test_old_names_are_found_and_warn(module: str) -> None:
    for name in [name for name in MODULES if module.startswith(name)]:
        sys.modules.pop(name, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = import_module(module)
    assert f"{module} is now {MODULES[module][0]}." in [str(warning.message) for warning in caught]
    for name in OLD[module]:
        assert getattr(found, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        found.nothing  # noqa: B018


def test_old_parts_are_attributes_of_the_package() -> None:
    sys.modules.pop("sfa.processes", None)
    vars(sfa).pop("processes", None)
    with pytest.warns(DeprecationWarning, match="sfa.distributed"):
        assert sfa.processes.count() == 1
    with pytest.raises(ModuleNotFoundError):
        import_module("sfa.no_such_part")


def test_old_spellings_are_found_and_warn() -> None:
    with pytest.warns(DeprecationWarning, match="generalization_bound"):
        assert sfa.theory.generalisation_bound is sfa.theory.generalization_bound
    with pytest.warns(DeprecationWarning, match="leveled"):
        assert sfa.theory.levelled is sfa.theory.leveled
