"""The Schatten penalty: what SFA does to a feature map in the mean, as a term of the loss."""

from typing import Annotated, Any

import torch
from annotated_types import Interval
from torch import Tensor

from sfa.errors import InputError
from sfa.ranges import NonNegative, check_number, check_whole
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import check_feature_map, on_unit_scale, trace

LARGEST = 16  # the smallest trace of a power, d to the power -2k, still is a number


def schatten_penalty(h: Tensor, k: int = 1) -> Tensor:
    r"""Measure how steep the spectrum of a feature map ``(..., n, d)`` is, whatever its scale.

    .. math::
        \frac{\log \operatorname{tr} G^{2k+1}}{2k+1} - \log \operatorname{tr} G
        = 2 \log \frac{\|H\|_{4k+2}}{\|H\|_2}, \qquad G = H^\top H

    with Schatten norms, the :math:`\ell_p` norms of the singular values. It is 0 for a map of rank one, and
    :math:`-\frac{2k}{2k+1} \log r` for ``r`` equal singular values. Of a map that is zero it is 0 without a gradient.
    The result ``(...)`` is in float32 or float64.
    """
    check_whole("k", k, 1)
    if k > LARGEST:
        raise InputError(f"k must be {LARGEST} or less, not {k}.")
    check_feature_map(h)
    if h.numel() == 0:
        return h.new_zeros(h.shape[:-2])

    def measure(unit: Tensor, scale: Tensor) -> Tensor:
        gram = unit.mT @ unit if unit.shape[-2] >= unit.shape[-1] else unit @ unit.mT
        # The inverse of a number below the smallest normal one is no number.
        zero = scale <= torch.finfo(h.dtype).tiny
        zero = zero | (trace(gram.detach()) == 0)
        share = gram / trace(gram).where(~zero, 1)  # of unit trace
        half = torch.linalg.matrix_power(share, k)
        power = (half @ share * half).sum((-2, -1), keepdim=True)  # tr G^(2k+1), one product fewer than the power
        penalty: Tensor = power.where(~zero, 1).log() / (2 * k + 1)
        return penalty

    wide = h.to(torch.promote_types(h.dtype, torch.float32))
    return on_unit_scale(wide, measure)[..., 0, 0]


class _WithTerm(torch.autograd.Function):
    """The first of two tensors, whose backward pass acts as if the second, a number, were added to the loss."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, term: Tensor) -> Tensor:
        ctx.save_for_backward(torch.ones_like(term))
        return h.view_as(h)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        return grads[0], ctx.saved_tensors[0]


def add_schatten_gradient(h: Tensor, weight: float = 0.1, k: int = 1) -> Tensor:
    """Return ``h``, and add ``weight`` times the gradient of :func:`schatten_penalty` to its gradient."""
    check_number("weight", weight)
    result: Tensor = _WithTerm.apply(h, weight * schatten_penalty(h, k).sum())  # type: ignore[no-untyped-call]
    return result


@register("spectral", "schatten-penalty")
class SchattenPenalty(SpectralMap, function=add_schatten_gradient):
    """Leave the feature map as it is, and add the gradient of the Schatten penalty: levelling as a term of the loss."""

    def __init__(self, weight: NonNegative = 0.1, k: Annotated[int, Interval(ge=1, le=LARGEST)] = 1) -> None:
        self.set_options(weight=weight, k=k)
