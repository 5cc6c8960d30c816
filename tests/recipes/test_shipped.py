"""The shipped recipes say what the paper's table says."""

from __future__ import annotations

import re

import pytest
import torch
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.methods import available_methods
from sfa.run import Recipe, load_recipe, shipped_recipes
from sfa.run.parsing import GENTLE
from sfa.run.shipped import read_recipe

# hidden, projection, lr, epochs, k, tau, activation of the table; edge and feature drop rates of the two views.
PAPER = {
    "cora": (256, 256, 1e-4, 1000, 1, 0.4, "relu", (0.2, 0.4), (0.3, 0.4)),
    "citeseer": (256, 256, 1e-3, 500, 2, 0.9, "relu", (0.2, 0.0), (0.3, 0.2)),
    "computers": (128, 128, 1e-2, 2000, 1, 0.2, "rrelu", (0.6, 0.3), (0.2, 0.3)),
    "photo": (256, 64, 0.1, 2000, 1, 0.3, "relu", (0.3, 0.5), (0.1, 0.1)),
    "wikics": (256, 256, 1e-2, 3000, 1, 0.4, "prelu", (0.2, 0.3), (0.1, 0.1)),
}


IMAGES = {"cifar10": 1000, "cifar100": 1000, "imagenet-100": 400}
"""Epochs of the paper's supplementary material."""


@pytest.mark.parametrize("dataset", IMAGES)
@pytest.mark.parametrize("method", ["simclr", "barlow-twins", "simsiam", "swav"])
def test_the_papers_images(dataset: str, method: str) -> None:
    """Each method's own settings, with SFA of one iteration."""
    recipe, own = load_recipe("paper", dataset, method), load_recipe(f"{method}/{dataset}")
    assert (recipe.spectral["name"], recipe.spectral["iterations"], own.spectral["name"]) == ("sfa", 1, "none")
    assert recipe.updated({"spectral": "none"}) == own
    assert recipe.training.epochs == IMAGES[dataset]
    assert recipe.encoder["name"].startswith("resnet18")
    assert recipe.encoder["hidden"] == 64


@pytest.mark.parametrize("dataset", PAPER)
def test_the_papers_table(dataset: str) -> None:
    recipe = load_recipe(f"paper/{dataset}")
    method, training = recipe.method, recipe.training
    assert (method["name"], recipe.spectral["name"]) == ("grace", "sfa")
    assert (
        recipe.encoder["hidden"],
        method["projection"],
        training.lr,
        training.epochs,
        recipe.spectral["iterations"],
        method["tau"],
        recipe.encoder["activation"],
        tuple(recipe.augmentation["edge_drop"]),
        tuple(recipe.augmentation["feature_drop"]),
    ) == PAPER[dataset]


def test_the_paper_has_no_other_data_sets() -> None:
    names = {name for name in shipped_recipes() if name.startswith("paper/")}
    assert names == {f"paper/{key}" for key in (*PAPER, "pubmed", *IMAGES)}
    assert "not in the paper" in shipped_recipes()["paper/pubmed"]["about"]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(shipped_recipes()))
def test_every_recipe_can_be_built_and_written_down(name: str, planted: Data, molecules: Data, pictures: Data) -> None:
    recipe = load_recipe(name)
    data = {"node": planted, "graph": molecules, "image": pictures}[available_methods()[recipe.method["name"]].task]
    batch = recipe.make_sampler()(data)
    step = batch.batch(batch.plan(torch.Generator())[0], torch.Generator())
    assert recipe.build_for(data)(step).isfinite()
    assert Recipe.parse(recipe.as_dict()) == recipe


def test_every_recipe_says_what_it_is() -> None:
    assert all(recipe["about"] for recipe in shipped_recipes().values())


def test_the_dense_features_of_wikics_are_normalised_as_each_methods_authors_did() -> None:
    norms = {
        family: load_recipe(family, "wikics").feature_norm for family in ("grace", "gca", "g-bt", "costa", "paper")
    }
    assert set(norms.values()) == {"shifted-row"}
    assert load_recipe("bgrl", "wikics").feature_norm == "standard"


@pytest.mark.parametrize("method", [name for name, method in available_methods().items() if method.published])
def test_every_published_method_has_a_recipe_for_every_set_of_the_paper(method: str) -> None:
    sets = {"node": (*PAPER, "pubmed"), "graph": ("nci1", "proteins", "dd", "mutag"), "image": (*IMAGES, "digits")}
    for dataset in sets[available_methods()[method].task]:
        recipe = load_recipe(method, dataset)
        assert (recipe.method["name"], recipe.spectral["name"]) == (method, "none")


@pytest.mark.parametrize("dataset", ["cora", "Cora", "CORA"])
def test_a_family_is_resolved_by_the_data_set_in_any_case(dataset: str) -> None:
    """As `sfa train Cora` finds the data set, so it finds the recipe."""
    assert load_recipe("paper", dataset) == load_recipe("paper/cora")


def test_the_demo_pair_differs_in_augmentation_alone() -> None:
    without, augmented = load_recipe("demo/without-augmentation"), load_recipe("demo/with-augmentation")
    assert without.augmentation["edge_drop"] == without.augmentation["feature_drop"] == (0, 0)
    bare = {"augmentation.edge_drop": [0, 0], "augmentation.feature_drop": [0, 0]}
    assert augmented.updated({**bare, "spectral": "sfa"}) == without
    assert augmented.spectral == Recipe.parse({"spectral": GENTLE}).spectral


TUNED = {name for name in shipped_recipes() if name.startswith("tuned-")}


@pytest.mark.parametrize("name", sorted(TUNED))
def test_a_tuned_recipe_has_a_twin_without_sfa(name: str) -> None:
    family, dataset = name.split("/")
    off = family.endswith("-off")
    twin = f"{family.removesuffix('-off') if off else f'{family}-off'}/{dataset}"
    assert twin in TUNED
    recipe = load_recipe(name)
    assert recipe.method["name"] == family.removesuffix("-off").removeprefix("tuned-")
    if off:
        assert recipe.spectral["name"] == "none"
    else:
        assert recipe.spectral == Recipe.parse({"spectral": GENTLE}).spectral


@pytest.mark.parametrize("name", [name for name in shipped_recipes() if name.startswith("best/")])
def test_the_best_has_the_highest_accuracy_on_validation(name: str) -> None:
    def validation(recipe: str) -> float:
        return float(re.search(r"([\d.]+) % on validation", shipped_recipes()[recipe]["about"])[1])  # type: ignore[index]

    rivals = [recipe for recipe in TUNED if recipe.endswith(name.removeprefix("best"))]
    assert len(rivals) == 4
    assert validation(name) >= max(map(validation, rivals))


def test_a_misspelled_recipe_gets_a_short_list() -> None:
    with pytest.raises(InputError, match="did you mean 'grace'") as error:
        read_recipe("gracee")
    assert "grace/cora" not in str(error.value)
    with pytest.raises(InputError, match="did you mean 'grace/cora'") as error:
        read_recipe("grace/coraa")
    assert "bgrl/" not in str(error.value)
    with pytest.raises(InputError, match="sfa list recipes") as error:
        read_recipe("nothing/like-it")
    assert len(str(error.value)) < 100
