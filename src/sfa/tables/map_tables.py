"""Tables that compare settings and rivals of SFA in one method."""

from __future__ import annotations

from sfa.studies.definitions import ITERATIONS, KAPPAS, NOISES
from sfa.tables.definition import (
    GRAPHS,
    HONEST,
    Definition,
    Line,
    labelled,
    sets_by_noise,
    sets_by_variants,
    variants_by_sets,
)

SPECTRAL_MAPS = {
    "sfa": "sfa",
    "maxexp": "maxexp",
    "maxexp-no-noise": "maxexp, no noise",
    "power-norm-star": "power-norm*",
    "power-norm": "power-norm",
    "power-norm-no-noise": "power-norm, no noise",
    "grassmann": "grassmann",
    "grassmann-no-noise": "grassmann, no noise",
    "grassmann-random-svd": "grassmann, randomised",
    "precondition": "precondition",
}
"""The study's labels by the paper's keys."""


def _ablation() -> Definition:
    variants = {
        "none": "none",
        "graph": "A_G",
        "spectral": "A_F*",
        "graph-spectral": "A_G + A_F*",
        "graph-feature": "A_G + A_F",
        "graph-feature-spectral": "A_G + A_F + A_F*",
    }
    return Definition(
        number=7,
        study="ablation",
        protocol=HONEST,
        datasets=("computers", "cora", "citeseer"),
        more_datasets=GRAPHS,
        lines={
            **labelled(variants),
            "feature": Line("A_F", "A_F"),
        },
        layout=variants_by_sets,
        notes=("GRACE by its own recipe. A_F and A_F* together are applied in this order, in one slot.",),
    )


def _iterations() -> Definition:
    return Definition(
        number=8,
        study="iterations",
        protocol=HONEST,
        datasets=("computers", "cora", "citeseer"),
        more_datasets=GRAPHS,
        lines=labelled({f"k{k}": f"k = {k}" for k in ITERATIONS}),
        layout=variants_by_sets,
        notes=("GRACE by its own recipe, with SFA of k iterations. Differences are from k = 0, a random direction.",),
    )


def _noisy_features() -> Definition:
    variants = {f"{noise:g}": f"ε = {noise:g}" for noise in NOISES}
    return Definition(
        number=9,
        study="noisy-features",
        protocol=HONEST,
        datasets=("cora", "citeseer"),
        more_datasets=GRAPHS,
        lines=labelled({**variants, **{f"{key}-sfa": f"{variant}, SFA" for key, variant in variants.items()}}),
        layout=sets_by_noise,
        notes=("GRACE by its own recipe; the noise is added before rows are normalised.",),
    )


def _spectral_maps() -> Definition:
    return Definition(
        number=10,
        study="spectral-maps",
        protocol=HONEST,
        datasets=("computers", "cora", "citeseer"),
        more_datasets=GRAPHS,
        lines={
            **labelled(SPECTRAL_MAPS),
            "none": Line("none", "no map"),
            "pca": Line("pca", "PCA (κ = 20)"),
            "noise": Line("noise", "Gaussian noise"),
            "costa": Line("costa", "COSTA's sketch"),
            "whiten": Line("whiten", "Whitening"),
        },
        layout=variants_by_sets,
        notes=("GRACE by its own recipe with each map. Differences are from GRACE without a map.",),
    )


def _preconditioning() -> Definition:
    kept = {key: SPECTRAL_MAPS[key] for key in ("precondition", "grassmann-no-noise")}
    return Definition(
        number=16,
        study="spectral-maps",
        protocol=HONEST,
        datasets=("cora", "citeseer", "pubmed"),
        more_datasets=GRAPHS,
        lines={**labelled({**kept, "pca": "pca", "sfa-infonce": "sfa"}), "none": Line("none", "no map")},
        layout=variants_by_sets,
        notes=("GRACE by its own recipe with each map. Differences are from GRACE without a map.",),
    )


def _kappa() -> Definition:
    return Definition(
        number=17,
        study="kappa",
        protocol=HONEST,
        datasets=("cora",),
        more_datasets=GRAPHS,
        lines=labelled({**{str(kappa): f"κ = {kappa}" for kappa in KAPPAS}, "sfa-infonce": "sfa"}),
        layout=sets_by_variants,
        notes=(
            "GRACE by its own recipe, whose feature maps on Cora have 128 columns: κ = 250 keeps them all. Differences "
            "are from SFA.",
        ),
    )


MAP_TABLES = (
    _ablation(),
    _iterations(),
    _noisy_features(),
    _spectral_maps(),
    _preconditioning(),
    _kappa(),
)
