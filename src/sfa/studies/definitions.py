"""The studies of the paper, and some beside them, each a function from where it starts to the variants it compares."""

from __future__ import annotations

from collections.abc import Iterator

from sfa.errors import InputError
from sfa.evaluate.untrained import UNTRAINED
from sfa.registry import registered
from sfa.run import Recipe
from sfa.studies.variants import Base, Variant

ITERATIONS = (0, 1, 2, 4, 8)
NOISES = (1e-4, 1e-3, 1e-2, 1e-1)
EDGE_NOISES = (0.05, 0.1, 0.2, 0.4)
PASSES = (8, 16, 64)
LEVELLING = 8.0
"""Directions' worth that so many passes take together, whatever the strength of one."""
KAPPAS = (2, 5, 10, 15, 20, 30, 50, 100, 250)


def ablation(base: Base) -> Iterator[Variant]:
    """Graph augmentation A_G (dropped edges, masked features), channel noise A_F and SFA, A_F*, alone and together.

    "Ablations on Augmentations".
    """
    augmented = base.recipe
    bare = without_graph_augmentation(augmented)
    for graph, recipe in (("", bare), ("A_G", augmented)):
        for feature, spectral in (("", "none"), ("A_F", "noise"), ("A_F*", "sfa")):
            label = " + ".join(part for part in (graph, feature) if part) or "none"
            baseline = graph if graph and feature else "none"
            yield Variant(label, _with_map(recipe, spectral), baseline=None if label == "none" else baseline)
    both = augmented.updated({"spectral": ["noise", _with_map(augmented, "sfa").spectral]})
    yield Variant("A_G + A_F + A_F*", both, baseline="A_G")


def iterations(base: Base) -> Iterator[Variant]:
    """Power iterations k of SFA; k = 0 subtracts a random direction.

    "Effect of Number of Iterations".
    """
    for k in ITERATIONS:
        recipe = _with_map(base.recipe, "sfa", iterations=k)
        yield Variant(f"k = {k}", recipe, baseline=None if k == 0 else "k = 0")


def passes(base: Base) -> Iterator[Variant]:
    """What SFA balances and what it disturbs, apart: the same levelling by gentler passes, and without chance.

    Not in the paper. One pass, then so many that 8 directions' worth are taken: the more, the less noise.
    """
    yield Variant("none", _with_map(base.recipe, "none"))
    for count, total in ((1, 1.0), *((count, LEVELLING) for count in PASSES)):
        gentle = {"passes": count, "strength": total / count}
        words = f"{count} pass{'es' if count > 1 else ''} of {total / count:g}"
        yield Variant(f"sfa, {words}", _with_map(base.recipe, "sfa", **gentle), baseline="none")
        if count in (1, PASSES[-1]):
            yield Variant(f"expectation, {words}", _with_map(base.recipe, "expectation", **gentle), baseline="none")


def noisy_features(base: Base) -> Iterator[Variant]:
    """Noise ε N(0, I) added to the features, without and with SFA.

    "Robustness to Noisy Features".
    """
    for noise in NOISES:
        noisy = base.recipe.updated({"feature_noise": noise})
        plain = f"ε = {noise:g}"
        yield Variant(plain, _with_map(noisy, "none"))
        yield Variant(f"{plain}, SFA", _with_map(noisy, "sfa"), baseline=plain)


def noisy_edges(base: Base) -> Iterator[Variant]:
    """A share of the edges replaced by random ones, without and with SFA.

    Not in the paper, whose claim of robustness is of features.
    """
    for noise in EDGE_NOISES:
        noisy = base.recipe.updated({"edge_noise": noise})
        plain = f"{100 * noise:g} % random edges"
        yield Variant(plain, _with_map(noisy, "none"))
        yield Variant(f"{plain}, SFA", _with_map(noisy, "sfa"), baseline=plain)


def spectral_maps(base: Base) -> Iterator[Variant]:
    """Every spectral map, the paper's rivals also without their noise.

    "Other Variants of Spectral Augmentation" and "Matrix Preconditioning".
    """
    for name in registered("spectral"):
        yield Variant(name, _with_map(base.recipe, name), baseline=None if name == "none" else "none")
    for name in ("maxexp", "power-norm", "grassmann"):
        yield Variant(f"{name}, no noise", _with_map(base.recipe, name, noise=0.0), baseline="none")
    yield Variant("grassmann, randomised", _with_map(base.recipe, "grassmann", method="randomised"), baseline="none")


def kappa(base: Base) -> Iterator[Variant]:
    """The κ singular values that Grassmann feature maps keep, without noise, beside SFA.

    "Matrix Preconditioning", the table of the impact of the subspace size.
    """
    yield Variant("sfa", _with_map(base.recipe, "sfa"))
    for count in KAPPAS:
        recipe = _with_map(base.recipe, "grassmann", kappa=count, noise=0.0)
        yield Variant(f"κ = {count}", recipe, baseline="sfa")


def clustering(base: Base) -> Iterator[Variant]:
    """k-means on the embeddings of methods without and with SFA, and on what needs no training.

    "Node Clustering".
    """
    yield from _untrained(base)
    yield from _each_method(base)


def methods(base: Base) -> Iterator[Variant]:
    """Methods without and with SFA, beside what needs no training and, of nodes, what learns from the labels.

    "Node Classification", Table 1, and "Graph Classification".
    """
    yield from _untrained(base)
    yield Variant("untrained encoder", base.recipe, kind="untrained encoder")
    if base.level == "node":
        yield Variant("supervised MLP", base.recipe, kind="supervised mlp")
        yield Variant("supervised GCN", base.recipe, kind="supervised gcn")
    yield from _each_method(base)


def run_time(base: Base) -> Iterator[Variant]:
    """Seconds per epoch without and with SFA, measured by turns so that both see the same machine.

    "Runtimes".
    """
    yield Variant("without SFA", _with_map(base.recipe, "none"), kind="timed")
    yield Variant("with SFA", _with_map(base.recipe, "sfa"), baseline="without SFA", kind="timed")


def run_time_by_iterations(base: Base) -> Iterator[Variant]:
    """Seconds per epoch without SFA and with each number of power iterations k, measured by turns.

    "Runtimes", the figure.
    """
    yield Variant("without SFA", _with_map(base.recipe, "none"), kind="timed")
    for k in (count for count in ITERATIONS if count > 0):
        yield Variant(f"k = {k}", _with_map(base.recipe, "sfa", iterations=k), baseline="without SFA", kind="timed")


def map_run_time(base: Base) -> Iterator[Variant]:
    """Seconds per epoch of SFA beside Grassmann feature maps by SVD and by randomised SVD, measured by turns.

    "Runtimes", the table of SVD.
    """
    yield Variant("none", _with_map(base.recipe, "none"), baseline="sfa", kind="timed")
    yield Variant("sfa", _with_map(base.recipe, "sfa"), kind="timed")
    for method in ("svd", "randomised"):
        recipe = _with_map(base.recipe, "grassmann", method=method)
        yield Variant(f"grassmann, {method}", recipe, baseline="sfa", kind="timed")


def without_graph_augmentation(recipe: Recipe) -> Recipe:
    """Return the recipe with views that are the data themselves."""
    section = recipe.augmentation if isinstance(recipe.augmentation, dict) else {}
    nothing = {"kinds": "identity", "strength": "identity", "edge_drop": [0.0, 0.0], "feature_drop": [0.0, 0.0]}
    options = [key for key in nothing if key in section]
    if section.get("kinds") in (None, "all") and section.get("name") not in ("uniform", "adaptive", "image"):
        raise InputError(f"The graph augmentation of {recipe.method['name']} is part of it, and cannot be taken away.")
    if "kinds" in section:
        options = ["kinds"]
    return recipe.updated({f"augmentation.{key}": nothing[key] for key in options})


def _untrained(base: Base) -> Iterator[Variant]:
    yield from (Variant(name, base.recipe, kind=name) for name in UNTRAINED[base.level])


def _each_method(base: Base) -> Iterator[Variant]:
    for name in base.methods:
        recipe = base.recipe_of(name)
        yield Variant(name, _with_map(recipe, "none"))
        yield Variant(f"{name} + SFA", _with_map(recipe, "sfa"), baseline=name)


def _with_map(recipe: Recipe, spectral: str, **options: object) -> Recipe:
    """The recipe with another spectral map; what it says of that map already holds on."""
    own = recipe.spectral if isinstance(recipe.spectral, dict) and recipe.spectral_name == spectral else {}
    return recipe.updated({"spectral": {**own, "name": spectral, **options}})
