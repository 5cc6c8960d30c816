"""Diagnostics of a step's feature maps before and after the spectral map: spectrum, alignment, uniformity."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from sfa.evaluate.spectrum import effective_rank, singular_values, to_float64

UNIFORMITY_ROWS = 1024
"""Rows that uniformity looks at; all pairs of a large graph's nodes would need memory quadratic in their number."""


@dataclass(frozen=True)
class Diagnostics:
    """Numbers of one training step; ``tilde`` marks those after the spectral map. Of one view, where one is enough.

    Singular values ``sigma`` fall; ``alignment`` (:func:`view_distance`) is ``None`` if the method has a single view.
    """

    sigma: list[float]
    sigma_tilde: list[float]
    effective_rank: float
    effective_rank_tilde: float
    uniformity: float
    uniformity_tilde: float
    alignment: float | None
    alignment_tilde: float | None
    alignment_relative: float | None
    alignment_relative_tilde: float | None


def diagnose(
    h_alpha: Tensor, h_beta: Tensor | None, h_tilde_alpha: Tensor, h_tilde_beta: Tensor | None
) -> Diagnostics | None:
    """Compute all diagnostics of one step, each a plain number of 7 significant digits.

    The feature maps ``(n, d)`` are those of the encoder and, ``tilde``, those after the spectral map, which may change
    the number of rows; ``beta`` is ``None`` if there is but one view. Returns ``None`` if some number is not finite:
    there is nothing to learn from it, and training says so itself.
    """
    before, after = _numbers(h_alpha, h_beta), _numbers(h_tilde_alpha, h_tilde_beta)
    result = Diagnostics(**before, **{f"{name}_tilde": value for name, value in after.items()})
    values = asdict(result).values()
    flat = [number for value in values for number in (value if isinstance(value, list) else [value])]
    return result if all(number is None or math.isfinite(number) for number in flat) else None


def view_distance(h_alpha: Tensor, h_beta: Tensor) -> float:
    r"""Compute the squared distance of two views' feature maps (the paper's alignment figure); lower is better.

    .. math::
        \lVert H^\alpha - H^\beta \rVert_F^2

    It falls when the maps shrink, whether or not the views come closer: see :func:`relative_view_distance`.
    """
    return float((to_float64(h_alpha) - to_float64(h_beta)).square().sum())


def relative_view_distance(h_alpha: Tensor, h_beta: Tensor) -> float:
    r"""Compute the squared distance of two views over their mean squared size: from 0 (aligned) to 4 (opposite).

    .. math::
        \frac{\lVert H^\alpha - H^\beta \rVert_F^2}
             {\tfrac12 \big( \lVert H^\alpha \rVert_F^2 + \lVert H^\beta \rVert_F^2 \big)}

    Independent maps of mean zero have 2. Scaling both views leaves it as it is; two zero maps are aligned.
    """
    alpha, beta = to_float64(h_alpha), to_float64(h_beta)
    size = float(alpha.square().sum() + beta.square().sum()) / 2
    return view_distance(alpha, beta) / size if size else 0.0


def uniformity(h: Tensor, *, rows: int = UNIFORMITY_ROWS) -> float:
    r"""Compute how evenly rows spread over directions (Wang and Isola, 2020): 0 if all point one way, lower is better.

    .. math::
        \log \operatorname*{mean}_{i \neq j} \, e^{-2 \lVert x_i - x_j \rVert_2^2}, \qquad
        x_i = h_i / \lVert h_i \rVert_2

    Args:
        h: Feature map ``(n, d)``; rows of zeros have no direction and are left out.
        rows: At most so many rows, evenly spaced, stand for all.
    """
    count = min(len(h), rows)
    h = to_float64(h[torch.arange(count, device=h.device) * len(h) // count] if count else h)
    length = torch.linalg.vector_norm(h, dim=1, keepdim=True)
    x = (h / length)[length.squeeze(1) != 0]
    if len(x) < 2:
        return 0.0
    potential = (x @ x.mT).sub_(1).mul_(4).exp_().fill_diagonal_(0)  # unit rows: -2 |x - y|² = 4 (x·y - 1)
    return float((potential.sum() / (len(x) * (len(x) - 1))).log())


def _numbers(h_alpha: Tensor, h_beta: Tensor | None) -> dict[str, Any]:
    sigma = singular_values(h_alpha)
    return {
        "sigma": [_round(value) for value in sigma.tolist()],
        "effective_rank": _round(effective_rank(sigma)),
        "uniformity": _round(uniformity(h_alpha)),
        "alignment": None if h_beta is None else _round(view_distance(h_alpha, h_beta)),
        "alignment_relative": None if h_beta is None else _round(relative_view_distance(h_alpha, h_beta)),
    }


def _round(value: float) -> float:
    return float(f"{value:.7g}")
