"""The expectation of SFA as a deterministic map: its balancing without its noise."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from sfa.ranges import Count, Natural, Share, check_number, check_whole
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import on_unit_scale
from sfa.spectral.spectral_function import spectral_function


def expectation(h: Tensor, iterations: int = 1, *, strength: float = 1.0, passes: int = 1) -> Tensor:
    r"""Subtract from each singular value the fraction that SFA removes on average (Proposition 1).

    .. math::
        \mathbb{E}\,\widetilde H = U \operatorname{diag}\big((1 - s\,\lambda_i(k))\,\sigma_i\big) V^\top

    with the exact :math:`\lambda_i`, ``passes`` times (:func:`sfa.theory.leveled`). Not in the paper: compare it with
    :func:`~sfa.spectral.power_iteration`, which has the same arguments, to see what the noise of SFA is worth. It takes
    an SVD in float64 at each call, and the matrix ``W`` of ``h_tilde = h W`` is a constant in backward.
    """
    check_whole("iterations", iterations, 0)
    check_number("strength", strength, at_most=1)
    check_whole("passes", passes, 1)

    def push_forward(sigma: Tensor) -> tuple[Tensor, Tensor]:
        # All d directions count, also those in which a map of fewer rows has nothing.
        known = pad(sigma, (0, h.shape[-1] - sigma.shape[-1]))
        values = _leveled(known, int(iterations), float(strength), int(passes))[..., : sigma.shape[-1]]
        return values, torch.zeros_like(sigma)  # W is a constant: no slope is asked for

    return on_unit_scale(h, lambda unit, scale: scale * spectral_function(unit, push_forward, detach=True))


@torch.library.custom_op("sfa::leveled", mutates_args=())
def _leveled(sigma: Tensor, iterations: int, strength: float, passes: int) -> Tensor:
    """Compute :func:`sfa.theory.leveled`, which is NumPy's: one opaque step of a compiled graph."""
    from sfa.theory import leveled  # imports SciPy, which would be a third of the time that the layer's import takes

    return torch.from_numpy(leveled(sigma, iterations, strength=strength, passes=passes)).to(sigma)


_leveled.register_fake(lambda sigma, *_: torch.empty_like(sigma))


@register("spectral", "expectation")
class Expectation(SpectralMap, function=expectation):
    """The expectation of SFA: its balancing without its noise."""

    def __init__(self, iterations: Natural = 1, strength: Share = 1.0, passes: Count = 1) -> None:
        self.set_options(iterations=iterations, strength=strength, passes=passes)
