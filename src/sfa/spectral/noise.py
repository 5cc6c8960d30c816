"""Gaussian noise on the features, the plainest alternative to SFA."""

import torch
from torch import Tensor

from sfa import distributed
from sfa.ranges import NonNegative, check_number
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import check_feature_map, normal, on_unit_scale


def add_noise(
    h: Tensor, strength: float = 0.1, *, across_processes: bool = False, generator: torch.Generator | None = None
) -> Tensor:
    r"""Add Gaussian noise to every entry of a feature map: :math:`\mathcal{A}_F` of the paper's ablation study.

    From `"Spectral Feature Augmentation for Graph Contrastive Learning and Beyond" <https://arxiv.org/abs/2212.01026>`_
    (Zhang et al., AAAI 2023), where it is called :math:`A_F`.

    .. math::
        \widetilde{H} = H + s \operatorname{rms}(H)\, E, \qquad E_{ij} \sim \mathcal{N}(0, 1)

    The root mean square is a constant in backward. The spectrum is not balanced: in expectation
    ``H~ᵀH~ = HᵀH + s² ‖H‖²/d · I``. If ``across_processes``, the rows on all processes are one map, and each process
    draws noise of its own from any generator.
    """
    check_number("strength", strength)
    if not (across_processes and distributed.world_size() > 1):

        def augment(unit: Tensor, scale: Tensor) -> Tensor:
            rms = unit.detach().square().mean(dim=(-2, -1), keepdim=True).sqrt()
            return (unit + strength * rms * normal(unit.shape, unit, generator)) * scale

        return on_unit_scale(h, augment)

    check_feature_map(h)
    squares = h.detach().double().square().sum(dim=(-2, -1), keepdim=True)  # float64 has the range
    entries = torch.full_like(squares, h.shape[-2] * h.shape[-1])
    squares, entries = distributed.all_reduce_sum(torch.stack([squares, entries]))
    rms = (squares / entries).sqrt()  # (..., 1, 1), of the rows of all processes
    seed = torch.randint(2**62, (), generator=generator, device=h.device)
    own = torch.Generator(h.device).manual_seed(int(seed) + distributed.rank())
    return on_unit_scale(h, lambda unit, scale: unit * scale + strength * rms * normal(unit.shape, unit, own))


@register("spectral", "noise")
class GaussianNoise(SpectralMap, function=add_noise, spans_processes=True):
    """Gaussian noise on every feature, in proportion to the size of the map; the spectrum is not balanced."""

    deterministic = False

    def __init__(self, strength: NonNegative = 0.1) -> None:
        self.set_options(strength=strength)
