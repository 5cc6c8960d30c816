"""Loss functions: embeddings in, one number out.

Two views are rows ``(n, d)`` of the same nodes, graphs or images. With ``across_processes`` the rows of all processes
are one batch, and some processes may hold none.
"""

# isort: off
from sfa.losses.negative_sampling import jensen_shannon as jensen_shannon, multiplet as multiplet
from sfa.losses.negative_sampling import kl_to_standard_normal as kl_to_standard_normal, skip_gram as skip_gram
from sfa.losses.negative_sampling import local_global_jensen_shannon as local_global_jensen_shannon
from sfa.losses.negative_sampling import normalized_jensen_shannon as normalized_jensen_shannon
from sfa.losses.negative_sampling import reconstruction as reconstruction
from sfa.losses.nt_xent import info_nce as info_nce, nt_xent as nt_xent
from sfa.losses.without_negatives import barlow_twins as barlow_twins, bootstrap_latent as bootstrap_latent
from sfa.losses.without_negatives import cca as cca, scattering as scattering, sinkhorn as sinkhorn
from sfa.losses.without_negatives import swapped_prediction as swapped_prediction
from sfa.spectral.schatten import schatten_penalty as schatten_penalty
