"""The paper's two guarantees as numbers: Theorem 1 (generalisation) and Proposition 4 (bounded noise)."""

from __future__ import annotations

import math

from sfa.errors import InputError


def generalisation_bound(alignment: float, *, epsilon: float, sigma: float) -> float:
    r"""The bound on the downstream error of a nearest-neighbour classifier (Theorem 1).

    .. math::
        \mathrm{Err} \le (1 - \sigma) + R_\varepsilon, \qquad
        R_\varepsilon = P(\lVert f(x_1) - f(x_2) \rVert \ge \varepsilon)
        \le \min\Big(1, \tfrac{\sqrt{2 - 2\mathcal{L}_a}}{\varepsilon}, \tfrac{2 - 2\mathcal{L}_a}{\varepsilon^2}\Big)

    The paper prints the square root; its proof, Markov's inequality for the squared distance, gives the other term,
    which is the smaller one whenever either says anything.

    The lemma behind it asks for more than that proof gives: a classifier that is right on the main part of each class
    wherever *all* views of a sample are close, and :math:`R_\varepsilon` the chance that they are not. Markov's
    inequality speaks of one random pair. The number bounds the error only as far as the two agree.

    Args:
        alignment: :math:`\mathcal{L}_a`, the mean inner product of the two views of a sample, **with embeddings of
            length 1** and ``tau = 1``: from -1 to 1. (With other lengths the theorem does not apply.)
        epsilon: How close two views of a sample count as close.
        sigma: The share of each class that its augmentations hold together, from the (σ, δ)-augmentation.

    Returns:
        The bound, at most ``2 - sigma``; above 1 it says nothing.
    """
    if not abs(alignment) <= 1 + 1e-9:
        raise InputError(f"The alignment of embeddings of length 1 is between -1 and 1, not {alignment}.")
    if not epsilon > 0 or not 0 < sigma <= 1:
        raise InputError(f"epsilon is above 0 and sigma in (0, 1], not {epsilon} and {sigma}.")
    share = min(1.0, math.sqrt(max(0.0, 2 - 2 * alignment)) / epsilon)
    return (1 - sigma) + share * share


def elementwise_bound(epsilon: float, gap: float, n: int, d: int | None = None) -> float:
    r"""How large every entry of :math:`\widetilde H - H` may be without turning the leading direction (Proposition 4).

    .. math::
        |\widetilde H_{ij} - H_{ij}| \le \eta = \frac{2 \varepsilon\, \Delta\tilde\sigma_{12}}{n (\pi + 2\varepsilon)}
        \quad\Longrightarrow\quad \lVert V - \widetilde V \rVert_2 \le \varepsilon

    This is the appendix's form; the main text has ``nπ + 2ε`` below the line, which does not follow from the proof.
    Both state the converse, that a small turn bounds the entries; the proof, a sin-theta theorem for self-adjoint maps,
    gives the direction above. SFA itself is no such small perturbation: it removes one direction entirely.

    Args:
        epsilon: The turn allowed, :math:`\lVert V - \widetilde V \rVert_2`.
        gap: :math:`\Delta\tilde\sigma_{12} = \tilde\sigma_1 - \tilde\sigma_2`.
        n: Rows of the map.
        d: Its columns; a square map if not given. The spectral norm of an ``(n, d)`` map is at most ``√(nd)`` times
            its largest entry.
    """
    if not epsilon > 0 or not gap >= 0 or n < 1 or (d is not None and d < 1):
        raise InputError(f"epsilon is above 0, gap not below, n and d at least 1; not {epsilon}, {gap}, {n}, {d}.")
    size = math.sqrt(n * (n if d is None else d))
    return gap / (size * (math.pi / (2 * epsilon) + 1))
