"""What every spectral map keeps to, whichever it is; a new map in the registry is tested here without more ado.

A map has tests of its own in ``tests/spectral/test_<name>.py``, or those of ``sfa/spectral/<module>.py`` in
``tests/spectral/test_<module>.py``. They may hold ``VARIANTS``, layers to check beside the one with default arguments,
and ``WRONG``, arguments that must be refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import sfa
from sfa.registry import register, registered, resolve
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, Whiten
from sfa.testing import check_spectral_map
from tests.cases import each
from tests.spectral.maps import random_map

MAPS: dict[str, type[SpectralMap]] = dict(registered("spectral"))


def module_of_tests(made: type[SpectralMap]) -> str:
    """Return the module of tests with the name of the map or else, for tests of several, with that of its module."""
    names = [name.replace("-", "_") for name, one in MAPS.items() if one is made]
    own = [f"tests.spectral.test_{name}" for name in (*names, made.__module__.rpartition(".")[2])]
    return next((module for module in own if find_spec(module)), own[-1])


OWN_TESTS: dict[str, ModuleType] = {
    name: import_module(module_of_tests(made)) for name, made in MAPS.items() if find_spec(module_of_tests(made))
}


def layers() -> Iterator[SpectralMap]:
    """Every map with its defaults, with the other value of ``detach``, and in the variants that its tests ask for."""
    for made in MAPS.values():
        yield made()
        if (detach := inspect.signature(made).parameters.get("detach")) is not None:
            yield made(detach=not detach.default)  # type: ignore[call-arg]
    for tests in dict.fromkeys(OWN_TESTS.values()):
        yield from getattr(tests, "VARIANTS", [])


@each("name", [name for name, made in MAPS.items() if made is not SpectralMap])
def test_values_are_tested_in_the_tests_of_the_map(name: str) -> None:
    made, own = MAPS[name], OWN_TESTS.get(name)
    tests = [] if own is None else [*vars(own), *(test for one in vars(own).values() for test in dir(one))]
    assert any(test.startswith("test_value") for test in tests), (
        f"Nothing compares the values of {made.__name__} with a reference: write a test called test_value… in "
        f"{module_of_tests(made).replace('.', '/')}.py, for instance in a subclass of "
        "tests.spectral.operator_tests.OperatorTests."
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # dynamo's own business
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # and its graph breaks'
@pytest.mark.parametrize("layer", list(layers()), ids=repr)
def test_conforms(layer: SpectralMap) -> None:
    check_spectral_map(layer)


@each("name", MAPS)
def test_has_no_state_and_changes_the_map_unless_it_is_none(name: str) -> None:
    layer, h = MAPS[name](), random_map(60, 30)
    assert not layer.state_dict()
    assert (layer(h) is h) == (name == "none")


class TestAMapOfOnesOwn:
    """The same checks serve a map outside the package, and say what to change."""

    class Own(SpectralMap):
        def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
            if not h.is_floating_point() or h.dim() < 2:
                raise sfa.InputError("This is no feature map.")
            return h * torch.rand(*h.shape[:-2], 1, 1, generator=generator, dtype=torch.float64).to(h.dtype)

    @pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
    def test_passes_with_the_right_attributes(self) -> None:
        class Right(self.Own):  # type: ignore[misc, name-defined]
            deterministic = False

        register("spectral", "test-right", Right)
        try:
            check_spectral_map(resolve("spectral", "test-right")())
        finally:
            sfa.registry._parts["spectral"].pop("test-right")

    @each(
        ("attributes", "sentence"),
        [
            ({}, "Set `deterministic = False` on the class"),
            ({"deterministic": False, "shares_draws": True}, "Set `shares_draws = False` on the class"),
            ({"deterministic": False, "homogeneity": 0}, "The `homogeneity` of .* is not 0"),
        ],
    )
    def test_is_told_which_attribute_is_wrong(self, attributes: dict[str, Any], sentence: str) -> None:
        with pytest.raises(AssertionError, match=sentence):
            check_spectral_map(type("Wrong", (self.Own,), attributes)())


def test_every_name_is_listed_with_a_sentence_of_its_own() -> None:
    sentences = {(made.__doc__ or "").splitlines()[0] for made in MAPS.values()}
    assert len(sentences) == len(MAPS)
    assert all(sentence.endswith((".", ";", "``none``.")) and len(sentence) > 40 for sentence in sentences)


@each("name", MAPS)
def test_a_recipe_builds_it_and_checks_its_options(name: str) -> None:
    recipe = Recipe.parse({"spectral": {"name": name}})
    layer = recipe.build(8).spectral
    assert type(layer) is MAPS[name]
    assert set(recipe.spectral) == {"name", *inspect.signature(type(layer)).parameters}
    with pytest.raises(sfa.InputError, match="Unknown spectral key 'ettta'"):
        Recipe.parse({"spectral": {"name": name, "ettta": 1}})


@each(
    ("made", "options", "message"),
    [wrong for tests in dict.fromkeys(OWN_TESTS.values()) for wrong in getattr(tests, "WRONG", [])],
)
def test_wrong_arguments_are_named_by_layer_function_and_recipe(
    made: type[SpectralMap], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(sfa.InputError, match=message):
        made(**options)
    changed = made()
    for key, value in options.items():
        setattr(changed, key, value)
    with pytest.raises(sfa.InputError, match=message):
        changed(random_map(6, 4))
    (name,) = (name for name, other in MAPS.items() if other is made)
    with pytest.raises(sfa.InputError, match=next(iter(options))):
        Recipe.parse({"spectral": {"name": name, **options}})


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_one_compilation_serves_maps_of_all_lengths() -> None:
    torch._dynamo.reset()
    layer = Whiten()
    graphs = []

    def counting(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(layer, fullgraph=True, backend=counting, dynamic=True)
    for n in (12, 20, 31):
        h = random_map(n, 5)
        torch.testing.assert_close(compiled(h), layer(h))
    assert len(graphs) == 1


def test_numbers_of_numpy_are_numbers() -> None:
    assert resolve("spectral", "maxexp")(eta=np.int64(3), noise=np.float32(0.5)).eta == 3
    assert SpectralFeatureAugmentation(iterations=np.int64(2)).iterations == 2
    with pytest.raises(sfa.InputError, match="iterations"):
        SpectralFeatureAugmentation(iterations=True)
    h = random_map(6, 4)
    assert torch.isfinite(resolve("spectral", "expectation")(iterations=np.int64(2), strength=np.float64(0.5))(h)).all()
