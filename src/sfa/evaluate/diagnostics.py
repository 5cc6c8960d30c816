"""Diagnostics of feature maps: spectrum, effective rank, alignment, uniformity, and what tells classes apart."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sfa.evaluate.inputs import Labels

UNIFORMITY_ROWS = 1024  # all pairs of a large graph's nodes would need memory quadratic in their number
NEGLIGIBLE = 4  # directions whose singular value is that of so many times the rounding of the entries have no signal


@dataclass(frozen=True)
class Diagnostics:
    """Numbers of one training step, of the first view; ``tilde`` marks those after the spectral map."""

    sigma: list[float]  # singular values, falling
    sigma_tilde: list[float]
    effective_rank: float
    effective_rank_tilde: float
    uniformity: float
    uniformity_tilde: float
    alignment: float | None  # view_distance; None if the method has a single view
    alignment_tilde: float | None
    alignment_relative: float | None
    alignment_relative_tilde: float | None

    @property
    def is_changed(self) -> bool:
        """Whether the spectral map changed the feature maps; a rotation keeps the spectrum."""
        return (self.sigma, self.alignment) != (self.sigma_tilde, self.alignment_tilde)


def diagnose(
    h_alpha: Tensor, h_beta: Tensor | None, h_tilde_alpha: Tensor, h_tilde_beta: Tensor | None
) -> Diagnostics | None:
    """Compute all diagnostics of one step from feature maps ``(n, d)``, each a plain number of 7 significant digits.

    Those after the spectral map, ``tilde``, may have another number of rows; ``beta`` is ``None`` if there is but one
    view. Returns ``None`` if some number is not finite.
    """
    before, after = _numbers(h_alpha, h_beta), _numbers(h_tilde_alpha, h_tilde_beta)
    result = Diagnostics(**before, **{f"{name}_tilde": value for name, value in after.items()})
    flat = [number for value in asdict(result).values() for number in (value if isinstance(value, list) else [value])]
    return result if all(number is None or math.isfinite(number) for number in flat) else None


def _numbers(h_alpha: Tensor, h_beta: Tensor | None) -> dict[str, Any]:
    sigma = singular_values(h_alpha)
    numbers = {"effective_rank": effective_rank(sigma), "uniformity": uniformity(h_alpha)}
    if h_beta is not None:
        numbers["alignment"] = view_distance(h_alpha, h_beta)
        numbers["alignment_relative"] = relative_view_distance(h_alpha, h_beta)
    rounded: dict[str, Any] = {name: float(f"{value:.7g}") for name, value in numbers.items()}
    rounded["sigma"] = [float(f"{value:.7g}") for value in sigma.tolist()]
    return {"alignment": None, "alignment_relative": None, **rounded}


def _to_float64(h: Tensor) -> Tensor:
    """Return ``h`` without its history, in float64; on its own device if that has the precision (Apple's has not)."""
    h = h.detach()
    return (h.cpu() if h.device.type == "mps" else h).double()


def view_distance(h_alpha: Tensor, h_beta: Tensor) -> float:
    r"""Compute :math:`\lVert H^\alpha - H^\beta \rVert_F^2`, the paper's alignment figure; lower is better.

    It falls when the maps shrink, whether or not the views come closer: see :func:`relative_view_distance`.
    """
    return float((_to_float64(h_alpha) - _to_float64(h_beta)).square().sum())


def relative_view_distance(h_alpha: Tensor, h_beta: Tensor) -> float:
    """Compute the squared distance of two views over their mean squared norm: from 0 (aligned) to 4 (opposite).

    Independent maps of mean zero have 2. Scaling both views leaves it as it is; two zero maps are aligned.
    """
    alpha, beta = _to_float64(h_alpha), _to_float64(h_beta)
    size = float(alpha.square().sum() + beta.square().sum()) / 2
    return view_distance(alpha, beta) / size if size else 0.0


def uniformity(h: Tensor, *, rows: int = UNIFORMITY_ROWS) -> float:
    r"""Compute how evenly rows spread over directions: 0 if all point one way, lower is better.

    From `"Understanding Contrastive Representation Learning through Alignment and Uniformity on the Hypersphere"
    <https://arxiv.org/abs/2005.10242>`_ (Wang and Isola, 2020):

    .. math::
        \log \operatorname*{mean}_{i \neq j} \, e^{-2 \lVert x_i - x_j \rVert_2^2}, \qquad
        x_i = h_i / \lVert h_i \rVert_2

    Rows of zeros are left out. At most ``rows`` rows of ``h`` ``(n, d)``, evenly spaced, stand for all.
    """
    count = min(len(h), rows)
    h = _to_float64(h[torch.arange(count, device=h.device) * len(h) // count] if count else h)
    length = torch.linalg.vector_norm(h, dim=1, keepdim=True)
    x = (h / length)[length.squeeze(1) != 0]
    if len(x) < 2:
        return 0.0
    potential = (x @ x.mT).sub_(1).mul_(4).exp_().fill_diagonal_(0)  # unit rows: -2 |x - y|² = 4 (x·y - 1)
    return float((potential.sum() / (len(x) * (len(x) - 1))).log())


def singular_values(h: Tensor) -> Tensor:
    r"""Compute the singular values of ``h`` ``(n, d)`` in falling order, float64, on the CPU; NaN if it is not finite.

    They are roots of eigenvalues of :math:`H^\top H` or :math:`H H^\top`; those below some ``1e-8 σ₁`` are rounding.
    """
    h = _to_float64(h)
    largest = h.abs().amax() if h.numel() else h.new_zeros(())
    if largest == 0 or not largest.isfinite():  # LAPACK would raise
        return torch.full((min(h.shape),), 0.0 if largest == 0 else torch.nan, dtype=torch.float64)
    h = h / largest  # squares of 1e±200 are no numbers
    gram = h.mT @ h if h.shape[0] >= h.shape[1] else h @ h.mT
    eigenvalues: Tensor = torch.linalg.eigvalsh(gram).flip(0).clamp_min(0)  # rounding makes some negative
    return (eigenvalues.sqrt() * largest).cpu()


def effective_rank(h: Tensor) -> float:
    r"""Compute how many directions a feature map uses, from 1 to min(n, d); 0 if it is zero (Roy and Vetterli, 2007).

    It is :math:`\exp\big( -\sum_i p_i \log p_i \big)` with :math:`p_i = \sigma_i / \sum_j \sigma_j`, of a feature map
    ``h`` ``(n, d)`` or of its singular values ``h`` where they are at hand.
    """
    sigma = h if h.dim() == 1 else singular_values(h)
    return float(torch.special.entr(sigma / sigma.sum()).sum().exp()) if sigma.sum() != 0 else 0.0


def label_signal(z: Tensor, y: Labels) -> Tensor:
    r"""Return the share of the differences between classes in each singular direction, the strongest one first.

    With the singular vectors :math:`U` of the centered embedding and the orthonormal basis :math:`Q` of all vectors
    that are constant on every class and have mean 0,

    .. math::
        s_i = \frac{\lVert Q^\top u_i \rVert^2}{C - 1}, \qquad \sum_i s_i \le 1,

    so that the sum over the first directions is the part of the class memberships that a linear model of these alone
    explains (the trace of Pillai and Bartlett over its maximum). A random direction has :math:`1 / (n - 1)`. The result
    of embeddings ``z`` ``(n, d)`` and their classes ``y`` ``(n,)`` is ``(min(n, d),)``, float64, on the CPU.
    """
    rounding = NEGLIGIBLE * torch.finfo(z.dtype).eps * (z.shape[0] ** 0.5 + z.shape[1] ** 0.5)
    z, signal = _to_float64(z).cpu(), torch.zeros(min(z.shape), dtype=torch.float64)
    if not z.numel():
        return signal
    z = z / z.abs().amax().clamp_min(1e-300)  # squares of 1e±200 are no numbers
    z = z - z.mean(0)
    classes, of_row, members = np.unique(y, return_inverse=True, return_counts=True)
    eigenvalues, directions = torch.linalg.eigh(z.mT @ z)
    eigenvalues, directions = eigenvalues.flip(0)[: len(signal)], directions.flip(1)[:, : len(signal)]
    kept = eigenvalues > rounding**2
    sums = torch.zeros(len(classes), z.shape[1], dtype=torch.float64)
    sums.index_add_(0, torch.from_numpy(of_row), z)
    # The class means times the root of their members: rows of Qᵀ Z up to a rotation, as Z is centered.
    between = sums / torch.from_numpy(members).double().sqrt()[:, None] @ directions[:, kept]
    signal[kept] = between.square().sum(0) / eigenvalues[kept] / (len(classes) - 1)
    return signal
