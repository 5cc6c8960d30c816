"""Sections of a recipe are names and keyword arguments, of parts that sfa has and of a user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.augment import Compose
from sfa.errors import InputError
from sfa.methods import TwoViewMethod
from sfa.run import Recipe, load_recipe
from sfa.run.identity import recipe_hash
from sfa.run.run import describe
from sfa.run.sections import complete, options_of, takes_anything
from sfa.spectral import GaussianNoise, SpectralFeatureAugmentation
from sfa.spectral.base import Sequential
from sfa.tasks import settings_of
from sfa.train import train
from tests.parts import replace_part

PARTS = "tests.recipes.my_parts"
GAT = {"name": "torch_geometric.nn:GAT", "hidden_channels": 8, "num_layers": 2}


def trained(recipe: Recipe, graph: Data) -> torch.Tensor:
    method = recipe.build_for(graph)
    settings = {**recipe.training.arguments, "epochs": 2}
    train(method, recipe.prepare(graph), **settings, sampler=recipe.make_sampler(), device="cpu")
    return method.embed(recipe.prepare(graph))


def test_options_of_a_class_are_those_that_a_recipe_gives() -> None:
    from tests.recipes.my_parts import Linear, Scaled, Untyped

    options = options_of(Scaled, "method")
    assert options["factor"] == (float, ...)
    assert {"tau", "projection", "intraview"} <= options.keys(), "what it hands on to GRACE"
    assert not {"encoder", "augmentation", "spectral", "self", "options"} & options.keys()
    assert not takes_anything(Scaled), "GRACE names all that it takes"
    assert options_of(Untyped, "encoder") == {"out_channels": (Any, ...), "bias": (Any, True)}
    assert options_of(Linear, "encoder") == {"width": (Any, 5)}
    assert takes_anything(Linear)
    assert not takes_anything(Untyped)


def test_a_class_with_a_required_option(planted: Data) -> None:
    with pytest.raises(InputError, match="key 'factor' is missing"):
        Recipe.parse({"method": f"{PARTS}:Scaled"})
    recipe = Recipe.parse({"method": {"name": f"{PARTS}:Scaled", "factor": 0.5, "tau": 0.9}})
    assert (recipe.method["factor"], recipe.method["tau"], recipe.method["projection"]) == (0.5, 0.9, 128)
    built = recipe.build_for(planted)
    assert (built.factor, built.tau) == (0.5, 0.9)
    assert Recipe.parse(recipe.as_dict()) == recipe
    assert recipe.updated({"method.factor": 2}).method["factor"] == 2
    with pytest.raises(InputError, match=r"Method key 'factor': .*not 'much'"):
        recipe.updated({"method.factor": "much"})
    with pytest.raises(InputError, match="did you mean 'factor'"):
        recipe.updated({"method.factr": 1})


def test_a_method_of_ones_own_has_its_settings(planted: Data) -> None:
    recipe = Recipe.parse({"method": f"{PARTS}:Mine"})
    assert (recipe.encoder["name"], recipe.encoder["hidden"], recipe.training.epochs) == ("gcn", 6, 3)
    assert recipe.augmentation == Recipe.parse({}).augmentation
    assert describe(recipe) == f"{PARTS}:Mine + sfa (64 passes)"
    assert trained(recipe, planted).shape == (60, 6)
    assert Recipe.parse({}).updated({"method.name": f"{PARTS}:Mine"}) == recipe


@pytest.mark.parametrize("name", ["Linear", "Untyped"])
def test_an_encoder_whose_annotations_are_no_types(planted: Data, name: str) -> None:
    options = {"width": 4, "whatever": [1, 2]} if name == "Linear" else {"out_channels": 4}
    recipe = Recipe.parse({"encoder": {"name": f"{PARTS}:{name}", **options}})
    assert options.items() <= recipe.encoder.items()
    assert Recipe.parse(recipe.as_dict()) == recipe
    assert trained(recipe, planted).shape == (60, 4)


def test_a_required_option_of_an_encoder() -> None:
    with pytest.raises(InputError, match="key 'out_channels' is missing"):
        Recipe.parse({"encoder": f"{PARTS}:Untyped"})
    with pytest.raises(InputError, match="did you mean 'out_channels'"):
        Recipe.parse({"encoder": {"name": f"{PARTS}:Untyped", "out_channels": 4, "out_channel": 3}})


def test_an_encoder_of_pyg(planted: Data, tmp_path: Path) -> None:
    recipe = Recipe.parse({"encoder": GAT})
    assert GAT.items() <= recipe.encoder.items()
    path = tmp_path / "gat.yaml"
    path.write_text(yaml.safe_dump(recipe.as_dict()))
    assert load_recipe(path) == recipe
    assert recipe_hash(load_recipe(path).as_dict()) == recipe_hash(recipe.as_dict())
    z = trained(recipe, planted)
    assert z.shape == (60, 8)
    assert torch.equal(z, trained(load_recipe(path), planted))
    with pytest.raises(InputError, match="Encoder key 'hidden_channels' is missing"):
        Recipe.parse({"encoder": {"name": GAT["name"], "num_layers": 2}})
    wider = recipe.updated({"encoder.hidden_channels": 4})
    assert wider.build_for(planted).width == 4
    assert recipe.updated({"encoder": "gcn"}).encoder == Recipe.parse({}).encoder, "another name drops the options"


def test_several_maps_in_order(planted: Data) -> None:
    recipe = Recipe.parse({"spectral": ["noise", {"name": "sfa", "iterations": 2}]})
    assert [one["name"] for one in recipe.spectral] == ["noise", "sfa"]
    assert (recipe.spectral[1]["iterations"], recipe.spectral[1]["passes"]) == (2, 1)
    assert (recipe.spectral_name, describe(recipe)) == ("noise + sfa", "grace + noise + sfa")
    slot = recipe.build_for(planted).spectral
    assert isinstance(slot, Sequential)
    assert [type(one) for one in slot.maps] == [GaussianNoise, SpectralFeatureAugmentation]
    assert trained(recipe, planted).isfinite().all()
    changed = recipe.updated({"spectral.1.strength": 0.5, "spectral.0.strength": 0.25})
    assert (changed.spectral[0]["strength"], changed.spectral[1]["strength"], changed.spectral[1]["iterations"]) == (
        0.25,
        0.5,
        2,
    )
    assert recipe.as_dict()["spectral"] == recipe.spectral
    assert Recipe.parse(recipe.as_dict()) == recipe
    hashes = [
        recipe_hash(Recipe.parse({"spectral": maps}).as_dict()) for maps in (["noise", "sfa"], ["sfa", "noise"], "sfa")
    ]
    assert len(set(hashes)) == 3


def test_several_maps_are_changed_by_their_place() -> None:
    recipe = Recipe.parse({"spectral": ["noise", "sfa"]})
    assert recipe.updated({"spectral": "none"}).spectral_name == "none"
    assert recipe.updated({"spectral.name": "sfa"}) == Recipe.parse({"spectral": "sfa"})
    assert recipe.updated({"spectral.0.name": "whiten"}).spectral_name == "whiten + sfa"
    assert Recipe.parse({}).updated({"spectral": ["noise", "gentle"]}).spectral[1]["passes"] == 64
    assert recipe.updated({"method.name": "g-bt"}).spectral == recipe.spectral
    assert Recipe.parse({"spectral": []}).spectral_name == "none"
    for path in ("spectral.2.strength", "spectral.x.strength"):
        with pytest.raises(InputError, match=f"Unknown recipe key '{path}'"):
            recipe.updated({path: 1})
    with pytest.raises(InputError, match=r"'spectral\.strength': there are several"):
        recipe.updated({"spectral.strength": 1})
    with pytest.raises(InputError, match="did you mean 'noise'"):
        recipe.updated({"spectral.0.name": "nois"})


def test_a_key_without_its_section_is_found() -> None:
    for key, path in {"tau": "method.tau", "layers": "encoder.layers", "batch_size": "sampler.batch_size"}.items():
        with pytest.raises(InputError, match=f"did you mean '{path}'"):
            Recipe.parse({}).updated({key: 1})
    with pytest.raises(InputError, match="Unknown recipe key 'nonsense'"):
        Recipe.parse({}).updated({"nonsense": 1})


def test_several_augmentations_in_order(planted: Data) -> None:
    drop, jitter = {"name": "uniform", "feature_drop": [0.0, 0.0]}, {"name": f"{PARTS}:Jitter", "scale": 0.1}
    recipe = Recipe.parse({"augmentation": [drop, jitter]})
    assert [one["name"] for one in recipe.augmentation] == ["uniform", f"{PARTS}:Jitter"]
    assert tuple(recipe.augmentation[0]["edge_drop"]) == (0.2, 0.4)
    built = recipe.build_for(planted)
    assert isinstance(built.augmentation, Compose)
    alpha, beta = built.augmentation(planted, torch.Generator().manual_seed(0))
    assert not torch.equal(alpha.x, beta.x)
    assert (alpha.edge_weight == 0).any()
    assert trained(recipe, planted).isfinite().all()
    assert recipe.updated({"augmentation.1.scale": 0.5}).augmentation[1]["scale"] == 0.5
    assert Recipe.parse(recipe.as_dict()) == recipe
    assert recipe.updated({"augmentation": "none"}).augmentation == {"name": "identity"}


def test_steps_are_names_or_mappings(planted: Data) -> None:
    named = Recipe.parse({"postprocess": ["propagate", "concat-features"]})
    mapped = Recipe.parse(
        {"postprocess": [{"name": "propagate", "hops": 1}, {"name": "concat-features", "weight": 1.0}]}
    )
    assert named == mapped == Recipe.parse({"smoothing": 1, "own_features": 1.0})
    assert Recipe.parse({"postprocess": "propagate"}).postprocess == [{"name": "propagate", "hops": 1, "concat": False}]
    assert Recipe.parse({"postprocess": None}).postprocess == Recipe.parse({"postprocess": []}).postprocess == []
    turned = Recipe.parse({"postprocess": ["concat-features", {"name": "propagate", "hops": 2}]})
    assert [type(step).__name__ for step in turned.build_for(planted).postprocess] == ["ConcatFeatures", "Propagate"]
    assert turned.updated({"postprocess.1.hops": 3}).postprocess[1]["hops"] == 3
    with pytest.raises(InputError, match="'postprocess' is a name"):
        Recipe.parse({"postprocess": [3]})
    with pytest.raises(InputError, match="Postprocess key 'hops'"):
        Recipe.parse({"postprocess": [{"name": "propagate", "hops": 0}]})


@pytest.mark.parametrize("method", ["deepwalk", "node2vec"])
def test_what_has_no_encoder_is_given_none(method: str) -> None:
    said = rf"^{method} has weights for each node and no encoder: leave out encoder\.$"
    with pytest.raises(InputError, match=said):
        Recipe.parse({"method": method, "encoder": "gcn"})
    with pytest.raises(InputError, match=said):
        Recipe.parse({"method": method}).updated({"encoder": "gcn"})
    assert Recipe.parse({"method": method}).encoder is None
    assert Recipe.parse({"method": method, "encoder": None}) == Recipe.parse({"method": method, "encoder": "none"})


@pytest.mark.parametrize("method", ["gae", "vgae", "sugrl", "deepwalk", "simgrace", "infograph"])
def test_what_makes_no_views_is_given_no_augmentation(method: str) -> None:
    said = rf"^{method} makes no views of its data: leave out augmentation\.$"
    with pytest.raises(InputError, match=said):
        Recipe.parse({"method": method, "augmentation": "uniform"})
    with pytest.raises(InputError, match=said):
        Recipe.parse({"method": method}).updated({"augmentation": "uniform"})
    assert Recipe.parse({"method": method}).augmentation is None


@pytest.mark.parametrize(
    ("method", "augmentation", "said"),
    [
        ("grace", "image", "The augmentation image is of a set of images, and grace embeds the nodes of one graph"),
        ("grace", "random-choice", "is of a set of graphs, and grace embeds the nodes"),
        ("graphcl", "uniform", "The augmentation uniform is of one graph, and graphcl embeds whole graphs"),
        ("simclr", "diffusion", "is of one graph, and simclr embeds images"),
        ("grace", ["uniform", "image"], "The augmentation image is of a set of images"),
        ("graphcl", f"{PARTS}:Jitter", "my_parts:Jitter is of one graph, and graphcl embeds whole graphs"),
    ],
)
def test_an_augmentation_of_something_else(method: str, augmentation: Any, said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        Recipe.parse({"method": method, "augmentation": augmentation})
    assert "\n" not in str(raised.value)


def test_every_kind_of_part_can_be_ones_own(planted: Data) -> None:
    recipe = Recipe.parse(
        {
            "method": {"name": f"{PARTS}:Scaled", "factor": 2},
            "encoder": {"name": f"{PARTS}:Untyped", "out_channels": 3},
            "augmentation": {"name": f"{PARTS}:Jitter", "scale": 0.1},
            "spectral": {"name": f"{PARTS}:Halve", "by": 4},
            "postprocess": [{"name": f"{PARTS}:Shift", "by": 1.5}],
            "sampler": f"{PARTS}:Everything",
        }
    )
    method = recipe.build_for(planted)
    assert [type(part).__name__ for part in (method, method.augmentation, method.spectral, method.postprocess[0])] == [
        "Scaled",
        "Jitter",
        "Halve",
        "Shift",
    ]
    assert (method.spectral.by, method.postprocess[0].by) == (4, 1.5)
    assert type(recipe.make_sampler()(planted)).__name__ == "Everything"
    torch.testing.assert_close(method.embed(planted), method.embeddings(planted) + 1.5)
    assert trained(recipe, planted).shape == (60, 3)
    assert Recipe.parse(recipe.as_dict()) == recipe
    assert describe(recipe) == f"{PARTS}:Scaled + {PARTS}:Halve"


@pytest.mark.parametrize("kind", ["method", "encoder", "augmentation", "spectral", "sampler", "postprocess"])
def test_a_path_to_nothing(kind: str) -> None:
    for name, said in ((f"{PARTS}:Scaledd", "did you mean 'Scaled'"), ("no_such_module:Thing", "cannot be imported")):
        with pytest.raises(InputError, match=said) as raised:
            Recipe.parse({kind: [name] if kind == "postprocess" else name})
        assert "\n" not in str(raised.value)


def test_a_path_to_something_else() -> None:
    with pytest.raises(InputError, match=r"is no subclass of sfa\.methods\.Method"):
        Recipe.parse({"method": f"{PARTS}:Halve"})
    for kind in ("encoder", "augmentation", "spectral", "postprocess"):
        with pytest.raises(InputError, match=f"{PARTS}:NUMBER"):
            Recipe.parse({kind: [f"{PARTS}:NUMBER"] if kind == "postprocess" else f"{PARTS}:NUMBER"})


def test_a_section_that_is_none() -> None:
    for kind in ("method", "encoder", "augmentation", "spectral", "sampler"):
        with pytest.raises(InputError, match=f"'{kind}' is a name or a mapping with a name") as raised:
            Recipe.parse({kind: 3})
        assert "\n" not in str(raised.value)


def test_completing_is_quick_the_second_time() -> None:
    first = complete({"name": "sfa"}, "spectral")
    assert complete({"name": "sfa"}, "spectral") == first
    assert complete({"name": "sfa"}, "spectral") is not first


@pytest.mark.parametrize("kind", ["method", "encoder", "augmentation", "spectral", "sampler", "postprocess"])
def test_a_recipe_calls_nothing_that_is_no_part_of_its_kind(kind: str) -> None:
    """``subprocess:Popen`` would start a process."""
    section: Any = {"name": "subprocess:Popen", "args": ["true"]} if kind != "method" else "subprocess:Popen"
    with pytest.raises(InputError, match=r"subprocess:Popen'? is no (subclass|class whose)"):
        Recipe.parse({kind: [section] if kind == "postprocess" else section})


def test_augmentations_of_a_list_have_the_methods_settings() -> None:
    several = Recipe.parse({"method": "g-bt", "augmentation": ["uniform", "none"]}).augmentation
    alone = Recipe.parse({"method": "g-bt"}).augmentation
    assert several == [alone, {"name": "identity"}]


def test_a_list_of_one_is_built_as_the_part_itself() -> None:
    method = Recipe.parse({"method": "mvgrl", "augmentation": ["diffusion"]}).build(5)
    assert type(method.augmentation).__name__ == "Diffusion"
    assert Recipe.parse({"spectral": []}) == Recipe.parse({"spectral": "none"})


def test_steps_after_a_wider_one_are_not_held_to_the_encoders_width() -> None:
    steps = ["concat-features", {"name": "remove-top-pcs", "count": 6}]
    recipe = Recipe.parse({"encoder": {"hidden": 4}, "postprocess": steps})
    assert len(recipe.build(5).postprocess) == 2
    with pytest.raises(InputError, match="width 4"):
        recipe.updated({"postprocess": steps[1:]}).build(5)


def test_settings_of_an_unknown_section_are_refused() -> None:
    class Typo(TwoViewMethod):
        defaults = {"trainig": {"lr": 3}}  # noqa: RUF012

        def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
            return z_alpha.sum()

    with pytest.raises(InputError, match="'trainig': did you mean 'training'"):
        settings_of(Typo)


def test_a_constructor_without_the_parts_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Narrow(TwoViewMethod):
        def __init__(self, encoder: nn.Module) -> None:
            super().__init__(encoder)

        def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
            return z_alpha.sum()

    replace_part(monkeypatch, "method", "narrow", Narrow)
    with pytest.raises(InputError, match="take encoder, augmentation, spectral"):
        Recipe.parse({"method": "narrow"})
