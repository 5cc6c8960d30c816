"""The studies of the paper, and some beside them; the first line of a docstring is shown by ``sfa list studies``."""

from collections.abc import Callable, Iterator
from typing import Any

from sfa.errors import InputError
from sfa.evaluate.baselines import BASELINES
from sfa.paper.plans import RUN_TIME, Base, Study, Variant
from sfa.registry import register, registered
from sfa.run import Recipe

ITERATIONS = (0, 1, 2, 4, 8)
NOISES = (1e-4, 1e-3, 1e-2, 1e-1)
EDGE_NOISES = (0.05, 0.1, 0.2, 0.4)
PASSES = (8, 16, 64)
TOTAL_STRENGTH = 8.0  # strength of all passes together
KAPPAS = (2, 5, 10, 15, 20, 30, 50, 100, 250)

TIMED: dict[str, Any] = {"protocols": (RUN_TIME,), "epochs": 50}  # settings of studies of run time

Maps = dict[str, tuple[str, dict[str, Any]]]  # spectral maps and their options, by label


def _study(name: str, **settings: Any) -> Callable[[Any], Any]:
    """Make a function from the starting point to variants a study, and register it."""
    return lambda variants: register("study", name, Study(name, variants, **settings))


def _with_map(recipe: Recipe, spectral: str, **options: object) -> Recipe:
    """Return the recipe with another spectral map; its own options of that map are kept."""
    own = recipe.spectral if isinstance(recipe.spectral, dict) and recipe.spectral_name == spectral else {}
    return recipe.updated({"spectral": {**own, "name": spectral, **options}})


def _with_maps(recipe: Recipe, maps: Maps, *, baseline: str, kind: str = "trained") -> Iterator[Variant]:
    """Yield the recipe with each of the maps; all but the baseline are compared with it."""
    for label, (spectral, options) in maps.items():
        changed = _with_map(recipe, spectral, **options)
        yield Variant(label, changed, baseline=None if label == baseline else baseline, kind=kind)


def _without_and_with_sfa(recipe: Recipe, label: str, separator: str) -> Iterator[Variant]:
    yield from _with_maps(recipe, {label: ("none", {}), f"{label}{separator}SFA": ("sfa", {})}, baseline=label)


@_study("ablation")
def ablation(base: Base) -> Iterator[Variant]:
    """Graph augmentation A_G (dropped edges, masked features), channel noise A_F and SFA, A_F*, alone and together."""
    augmented = base.recipe
    bare = without_graph_augmentation(augmented)
    for graph, recipe in (("", bare), ("A_G", augmented)):
        for feature, spectral in (("", "none"), ("A_F", "noise"), ("A_F*", "sfa")):
            label = " + ".join(part for part in (graph, feature) if part) or "none"
            baseline = graph if graph and feature else "none"
            yield Variant(label, _with_map(recipe, spectral), baseline=None if label == "none" else baseline)
    both = augmented.updated({"spectral": ["noise", _with_map(augmented, "sfa").spectral]})
    yield Variant("A_G + A_F + A_F*", both, baseline="A_G")


def without_graph_augmentation(recipe: Recipe) -> Recipe:
    """Return the recipe with views that are the data themselves."""
    section = recipe.augmentation if isinstance(recipe.augmentation, dict) else {}
    nothing = {"kinds": "identity", "strength": "identity", "edge_drop": [0.0, 0.0], "feature_drop": [0.0, 0.0]}
    options = ["kinds"] if "kinds" in section else [key for key in nothing if key in section]
    if section.get("kinds") in (None, "all") and section.get("name") not in ("uniform", "adaptive", "image"):
        raise InputError(f"The graph augmentation of {recipe.method['name']} is part of it, and cannot be taken away.")
    return recipe.updated({f"augmentation.{key}": nothing[key] for key in options})


@_study("iterations")
def iterations(base: Base) -> Iterator[Variant]:
    """Power iterations k of SFA; k = 0 subtracts a random direction."""
    maps: Maps = {f"k = {k}": ("sfa", {"iterations": k}) for k in ITERATIONS}
    return _with_maps(base.recipe, maps, baseline="k = 0")


@_study("passes")
def passes(base: Base) -> Iterator[Variant]:
    """Compare the same leveling by ever gentler passes, and without chance: what SFA balances, and what it disturbs."""
    maps: Maps = {"none": ("none", {})}  # not in the paper
    for count, total in ((1, 1.0), *((count, TOTAL_STRENGTH) for count in PASSES)):
        for name in ("sfa", "expectation") if count in (1, PASSES[-1]) else ("sfa",):
            label = f"{name}, {count} pass{'es' if count > 1 else ''} of {total / count:g}"
            maps[label] = name, {"passes": count, "strength": total / count}
    return _with_maps(base.recipe, maps, baseline="none")


@_study("noisy-features")
def noisy_features(base: Base) -> Iterator[Variant]:
    """Noise ε N(0, I) added to the features, without and with SFA."""
    for noise in NOISES:
        yield from _without_and_with_sfa(base.recipe.updated({"feature_noise": noise}), f"ε = {noise:g}", ", ")


@_study("noisy-edges")
def noisy_edges(base: Base) -> Iterator[Variant]:
    """Replace a fraction of the edges by random ones, without and with SFA."""
    for noise in EDGE_NOISES:  # not in the paper
        noisy = base.recipe.updated({"edge_noise": noise})
        yield from _without_and_with_sfa(noisy, f"{100 * noise:g} % random edges", ", ")


@_study("spectral-maps")
def spectral_maps(base: Base) -> Iterator[Variant]:
    """Every spectral map, the paper's rivals also without their noise."""
    maps: Maps = {name: (name, {}) for name in registered("spectral")}
    maps |= {f"{name}, no noise": (name, {"noise": 0.0}) for name in ("maxexp", "power-norm", "grassmann")}
    maps |= {"grassmann, randomised": ("grassmann", {"method": "randomised"})}
    return _with_maps(base.recipe, maps, baseline="none")


@_study("kappa")
def kappa(base: Base) -> Iterator[Variant]:
    """Vary the number κ of singular values that Grassmann feature maps keep, without noise, beside SFA."""
    maps: Maps = {f"κ = {count}": ("grassmann", {"kappa": count, "noise": 0.0}) for count in KAPPAS}
    return _with_maps(base.recipe, {"sfa": ("sfa", {}), **maps}, baseline="sfa")


@_study("clustering", protocols=("clustering",), many_methods=True)
def clustering(base: Base) -> Iterator[Variant]:
    """k-means on the embeddings of methods without and with SFA, and on what needs no training."""
    for name in BASELINES[base.task]:
        yield Variant(name, base.recipe, kind=name)
    for name in base.methods:
        yield from _without_and_with_sfa(base.recipe_of(name), name, " + ")


@_study(RUN_TIME, **TIMED)
def run_time(base: Base) -> Iterator[Variant]:
    """Seconds per epoch without and with SFA, measured by turns so that both see the same machine."""
    maps: Maps = {"without SFA": ("none", {}), "with SFA": ("sfa", {})}
    return _with_maps(base.recipe, maps, baseline="without SFA", kind="timed")


@_study("run-time-k", **TIMED)
def run_time_by_iterations(base: Base) -> Iterator[Variant]:
    """Seconds per epoch without SFA and with each number of power iterations k, measured by turns."""
    maps: Maps = {f"k = {k}": ("sfa", {"iterations": k}) for k in ITERATIONS if k > 0}
    return _with_maps(base.recipe, {"without SFA": ("none", {}), **maps}, baseline="without SFA", kind="timed")


@_study("map-run-time", **TIMED)
def map_run_time(base: Base) -> Iterator[Variant]:
    """Seconds per epoch of SFA beside Grassmann feature maps by SVD and by randomised SVD, measured by turns."""
    maps: Maps = {"none": ("none", {}), "sfa": ("sfa", {})}
    maps |= {f"grassmann, {method}": ("grassmann", {"method": method}) for method in ("svd", "randomised")}
    return _with_maps(base.recipe, maps, baseline="sfa", kind="timed")


@_study("methods", many_methods=True)
def methods(base: Base) -> Iterator[Variant]:
    """Methods without and with SFA, beside what needs no training and, of nodes, what learns from the labels."""
    for name in (*BASELINES[base.task], "untrained encoder"):
        yield Variant(name, base.recipe, kind=name)
    for name in ("MLP", "GCN") if base.task == "node" else ():
        yield Variant(f"supervised {name}", base.recipe, kind=f"supervised {name.lower()}")
    for name in base.methods:
        yield from _without_and_with_sfa(base.recipe_of(name), name, " + ")
