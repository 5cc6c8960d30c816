"""What tests of all methods need, read off the registry and the recipes: narrow methods, their data, short runs.

A method has tests of its own in ``tests/methods/test_<name>.py``, or those of ``sfa/methods/<module>.py`` in
``tests/methods/test_<module>.py``. They compare its loss with a reference, in a test called ``test_the_loss…``, and may
hold ``SHORT_RUN``: what a run of a few seconds, that already learns something, changes in the method's recipe.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import torch
from torch_geometric.data import Data

from sfa.methods import Method, available_methods
from sfa.run import Recipe
from sfa.spectral import SpectralMap
from sfa.tasks import Task
from sfa.train import BatchPlan

NARROW: dict[str, Any] = {
    "hidden": 8,
    "inner": 16,
    "hops": 0,
    "latent": 8,
    "projection": 16,
    "head_hidden": 32,
    "head_width": 16,
    "prediction": 16,
    "prototypes": 12,
    "queue": 0,
}
"""Options that make a method small, where it or its encoder has them."""
SHORT: dict[str, Any] = {"encoder.hidden": 64, "training.epochs": 15, "training.lr": 5e-3}
"""What a short run changes where a method's own tests say nothing."""


def built_in(task: Task | None = None) -> dict[str, type[Method]]:
    """The methods of the package itself that learn something, whatever else is installed."""
    methods = available_methods(task).items()
    return {name: one for name, one in methods if one.learns and one.__module__.startswith("sfa.methods.")}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def narrow_recipe(name: str, **changes: Any) -> Recipe:
    """The method's own recipe without a spectral map, narrow; changes are sections."""
    recipe = Recipe.parse({"method": name, "spectral": "none", **changes})
    sections = {"method": recipe.method, "encoder": recipe.encoder or {}}
    return recipe.updated(
        {f"{part}.{key}": value for part, keys in sections.items() for key, value in NARROW.items() if key in keys}
    )


def build(name: str, data: Data, spectral: SpectralMap | None = None, **changes: Any) -> Method:
    """A narrow method, always with the same weights; without a spectral map unless one is given."""
    parts = {} if spectral is None else {"spectral": spectral}
    method = narrow_recipe(name, **changes).build(data.num_features, data.num_nodes, parts=parts)
    if spectral is not None:
        method.spectral = spectral  # itself and not a copy, for tests that look at what it has seen
    return method


def first_batch(data: Data, recipe: Recipe) -> Data:
    """The batch of the first step, with the method's own sampler."""
    steps = BatchPlan(data, recipe.make_sampler(), recipe.training.seed)
    return next(steps.parts(0, 0, steps.plan(0)[0])).batch


def module_of_tests(method: type[Method]) -> str:
    """Return the module of tests with the name of the method or else, for tests of several, with that of its module."""
    names = [name.replace("-", "_") for name, one in available_methods().items() if one is method]
    own = [f"tests.methods.test_{name}" for name in (*names, method.__module__.rpartition(".")[2])]
    return next((module for module in own if find_spec(module)), own[-1])


def own_tests(method: type[Method]) -> ModuleType | None:
    """The method's own tests, if there are any."""
    module = module_of_tests(method)
    return import_module(module) if find_spec(module) else None


def require_own_tests(method: type[Method]) -> None:
    """Fail unless the loss of a method is tested in the file that is meant for it."""
    own = own_tests(method)
    assert any(test.startswith("test_the_loss") for test in vars(own or object)), (
        f"Nothing compares the loss of {method.__name__} with a reference: write a test called test_the_loss… in "
        f"{module_of_tests(method).replace('.', '/')}.py."
    )


def short_recipe(name: str, spectral: str) -> Recipe:
    """The method's own recipe for a run of a few seconds."""
    recipe = Recipe.parse({"method": name, "spectral": spectral})
    own = getattr(own_tests(available_methods()[name]), "SHORT_RUN", None)
    return recipe.updated(own if own is not None else {path: SHORT[path] for path in SHORT if _has(recipe, path)})


def _has(recipe: Recipe, path: str) -> bool:
    part, key = path.split(".")
    return key in (recipe.as_dict()[part] or {})
