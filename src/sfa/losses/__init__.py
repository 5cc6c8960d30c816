"""Embeddings in, one number out."""

from sfa.losses.barlow_twins import barlow_twins
from sfa.losses.bootstrap import bootstrap_latent
from sfa.losses.cca import cca
from sfa.losses.info_nce import info_nce
from sfa.losses.jensen_shannon import jensen_shannon, local_global_jensen_shannon
from sfa.losses.margin import multiplet
from sfa.losses.nt_xent import nt_xent
from sfa.losses.reconstruction import kl_to_standard_normal, reconstruction
from sfa.losses.sinkhorn import sinkhorn
from sfa.losses.skip_gram import skip_gram
from sfa.losses.swapped_prediction import swapped_prediction

__all__ = [
    "barlow_twins",
    "bootstrap_latent",
    "cca",
    "info_nce",
    "jensen_shannon",
    "kl_to_standard_normal",
    "local_global_jensen_shannon",
    "multiplet",
    "nt_xent",
    "reconstruction",
    "sinkhorn",
    "skip_gram",
    "swapped_prediction",
]
