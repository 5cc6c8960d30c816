"""Loss functions: embeddings in, one number out.

Two views are rows ``(n, d)`` of the same nodes, graphs or images. With ``across_processes`` the rows of all processes
are one batch, and some processes may hold none.
"""

from sfa.losses.decorrelation import barlow_twins, cca
from sfa.losses.info_nce import info_nce
from sfa.losses.margin import multiplet
from sfa.losses.negative_sampling import (
    jensen_shannon,
    kl_to_standard_normal,
    local_global_jensen_shannon,
    normalized_jensen_shannon,
    reconstruction,
    skip_gram,
)
from sfa.losses.nt_xent import nt_xent
from sfa.losses.prediction import bootstrap_latent, swapped_prediction
from sfa.losses.simplex import sinkhorn
from sfa.spectral.schatten import schatten_penalty

__all__ = [
    "barlow_twins",
    "bootstrap_latent",
    "cca",
    "info_nce",
    "jensen_shannon",
    "kl_to_standard_normal",
    "local_global_jensen_shannon",
    "multiplet",
    "normalized_jensen_shannon",
    "nt_xent",
    "reconstruction",
    "schatten_penalty",
    "sinkhorn",
    "skip_gram",
    "swapped_prediction",
]
