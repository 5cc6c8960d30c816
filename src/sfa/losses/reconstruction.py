"""The losses of graph auto-encoders (Kipf and Welling, 2016): the adjacency decoded, and the KL term."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import embedding, softplus

from sfa.errors import InputError


def reconstruction(z: Tensor, edges: Tensor, non_edges: Tensor) -> Tensor:
    r"""Cross-entropy of the inner-product decoder :math:`p(A_{ij} = 1) = \sigma(z_i^\top z_j)`.

    .. math::
        \tfrac{1}{2} \Big( \operatorname*{mean}_{A_{ij} = 1} -\log \sigma(z_i^\top z_j)
            + \operatorname*{mean}_{A_{ij} = 0} -\log \sigma(-z_i^\top z_j) \Big)

    This is the authors' weighted cross-entropy over all :math:`n^2` entries, in which the ones weigh together as much
    as the zeros, scaled by :math:`n^2 / (2 \cdot \#\{A_{ij} = 0\})`. With all ones and a uniform sample of the zeros
    its value and gradient are unbiased, and memory is linear in what is given.

    Args:
        z: ``(n, d)`` latent variables.
        edges: ``(2, m)`` pairs ``(i, j)`` with :math:`A_{ij} = 1`.
        non_edges: ``(2, k)`` pairs with :math:`A_{ij} = 0`; none only if there are none.
    """
    if z.dim() != 2 or edges.shape != (2, edges.shape[-1]) or edges.shape[1] == 0 or non_edges.shape[0] != 2:
        raise InputError(
            "Latent variables (n, d), edges (2, m ≥ 1) and non-edges (2, k) are needed, not "
            f"{tuple(z.shape)}, {tuple(edges.shape)} and {tuple(non_edges.shape)}."
        )
    ones = softplus(-_inner_products(z, edges)).mean()
    zeros = softplus(_inner_products(z, non_edges)).sum() / max(1, non_edges.shape[1])
    return (ones + zeros) / 2


def kl_to_standard_normal(mu: Tensor, log_sigma: Tensor) -> Tensor:
    r"""The mean over nodes of :math:`\mathrm{KL}\big(\mathcal{N}(\mu_i, \operatorname{diag} \sigma_i^2) \,\|\,
    \mathcal{N}(0, I)\big)`.

    .. math::
        \frac{1}{n} \sum_i \tfrac{1}{2} \sum_j \big( \mu_{ij}^2 + \sigma_{ij}^2 - 1 - 2 \log \sigma_{ij} \big)

    Args:
        mu: ``(n, d)`` means.
        log_sigma: ``(n, d)`` logarithms of the standard deviations.
    """
    divergence = (mu.square() + (2 * log_sigma).exp() - 1 - 2 * log_sigma) / 2
    return divergence.sum(1).mean()


def _inner_products(z: Tensor, pairs: Tensor) -> Tensor:
    return (embedding(pairs[0], z) * embedding(pairs[1], z)).sum(1)
