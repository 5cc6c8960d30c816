"""Spectral feature augmentation by incomplete power iteration (Algorithm 1 of the paper)."""

import math

import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.ranges import FewCount, FewNatural, check_whole
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import check_feature_map, narrow, normal
from sfa.spectral.passes import gram_pays, is_large, make_passes, subtract_projection, turn_in_blocks, unit


def algorithm_1(
    h: Tensor, iterations: int, strength: float, detach: bool, generator: torch.Generator | None = None
) -> Tensor:
    """Subtract from ``h`` ``(..., n, d)`` its projection on a random direction near the leading one (Algorithm 1).

    ``r`` is normalized in every step, which changes nothing in exact arithmetic and keeps entries of ``1e±20`` finite.
    """
    source = h.detach() if detach else h
    r = normal((*h.shape[:-2], h.shape[-1], 1), h, generator)  # r⁽⁰⁾, (..., d, 1)
    for _ in range(iterations):
        if is_large(source, is_constant=detach):
            r = turn_in_blocks(source, r)  # the same, at the speed of memory
        else:
            r = unit(source.mT @ unit(source @ unit(r)))  # r⁽ⁱ⁾ = HᵀH r⁽ⁱ⁻¹⁾
    r = unit(r)
    return subtract_projection(h, r.mT, r.mT, strength, is_constant=detach)  # H - s H r rᵀ


def power_iteration(
    h: Tensor,
    iterations: int = 1,
    *,
    strength: float = 1.0,
    detach: bool = True,
    directions: int = 1,
    passes: int = 1,
    across_processes: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Flatten and perturb the leading singular values of a feature map (Algorithm 1, Eq. 3).

    Starting from a random direction, a few power iterations turn ``r`` towards the leading right singular vector of
    ``h``; stopped early, it stays random. The part of ``h`` along ``r`` is then subtracted:

    .. math::
        r^{(0)} \sim \mathcal{N}(0, I), \qquad
        r^{(k)} = H^\top H\, r^{(k-1)}, \qquad
        \widetilde{H} = H - s\, \frac{H r^{(k)} r^{(k)\top}}{\lVert r^{(k)} \rVert_2^2}

    The cost is ``2 k + 1`` products of ``h`` with a vector, and one in backward: no ``d × d`` Gram matrix, no SVD. Half
    precision is accumulated in float32; across processes ``r`` is computed in float64.

    Args:
        iterations: ``k ≥ 0``. One or two balance the spectrum; ``0`` removes a random direction, many the leading one.
        strength: ``s``, the fraction of the projection that is subtracted. ``1`` is the paper's.
        detach: Treat ``r`` as a constant, as an augmentation (default), or differentiate through the iteration. The
            paper leaves this open; with the gradient through ``r`` an encoder learns to feed it a spare direction.
        directions: ``q < d``, how many orthonormal directions are removed together: ``s H Q Qᵀ`` is subtracted, which
            flattens about the ``q`` leading singular values. ``1`` is the paper's.
        passes: ``p``, how often all of it is repeated on what is left. Many passes of a ``strength`` below 1 level the
            top of the spectrum with little noise (:func:`sfa.theory.leveled`). ``1`` is the paper's.
        across_processes: The rows of ``h`` on all processes are one map; some processes may hold none.
    """
    check_feature_map(h)
    for name, value, least in (("iterations", iterations, 0), ("directions", directions, 1), ("passes", passes, 1)):
        check_whole(name, value, least)
    if not abs(strength) < math.inf:  # NaN too
        raise InputError(f"strength must be a finite number, not {strength!r}.")
    spread = across_processes and distributed.world_size() > 1
    if 0 in ((*h.shape[:-2], h.shape[-1]) if spread else h.shape):
        return h
    _check_width(directions, h.shape[-1])
    with torch.autocast(h.device.type, enabled=False):
        wide = h.to(torch.float64 if h.dtype == torch.float64 else torch.float32)
        if directions == passes == 1 and not spread:
            return narrow(algorithm_1(wide, iterations, strength, detach, generator), h.dtype)
        starts = [normal((*h.shape[:-2], h.shape[-1], directions), wide, generator) for _ in range(passes)]
        source = wide.detach() if detach else wide
        rows = None if spread else h.shape[-2]
        on_gram = detach and directions == 1 and gram_pays(rows, h.shape[-1], iterations, passes)
        product = make_passes(source, starts, iterations, strength, on_gram=on_gram, spread=spread)
        return narrow(subtract_projection(wide, *product, is_constant=detach), h.dtype)


@register("spectral", "sfa")
class SpectralFeatureAugmentation(SpectralMap, function=power_iteration, spans_processes=True):
    """Flattens and perturbs the leading singular values while training; the identity in ``eval()``.

    Put it between encoder and projector, and call it once for each view. :meth:`gentle` makes the layer that we
    recommend, :meth:`paper` the one of the paper.

    >>> layer = SpectralFeatureAugmentation.gentle()
    >>> layer(torch.randn(100, 16)).shape
    torch.Size([100, 16])

    Args:
        iterations: Number of power iterations, 0 or more; ``k`` in the paper. One or two flatten the spectrum, many
            remove only the leading direction.
        strength: Fraction of the projection that is subtracted. ``1`` is the paper's.
        detach: Treat the direction as a constant in the backward pass. With ``False`` the layer does not help.
        directions: How many orthogonal directions are subtracted at once, fewer than the features.
        passes: How often the layer is applied in a row. Many passes with a small ``strength`` flatten the spectrum with
            less noise. ``1`` is the paper's.
    """

    deterministic = False
    min_rows = 2
    directions: int

    def __init__(
        self,
        iterations: FewNatural = 1,
        strength: float = 1.0,
        detach: bool = True,
        directions: FewCount = 1,
        passes: FewCount = 1,
    ) -> None:
        self.set_options(iterations=iterations, strength=strength, detach=detach, directions=directions, passes=passes)

    @classmethod
    def gentle(cls) -> "SpectralFeatureAugmentation":
        """Make the layer that we recommend: 64 gentle passes flatten the spectrum with little noise."""
        return cls(strength=0.125, passes=64)

    @classmethod
    def paper(cls) -> "SpectralFeatureAugmentation":
        """Make the layer of the paper: one power iteration and one pass of full strength (Algorithm 1)."""
        return cls(iterations=1)

    def check_width(self, features: int) -> None:
        _check_width(self.directions, features)


def _check_width(directions: int, features: int) -> None:
    if 1 < directions >= features:
        raise InputError(f"directions must be below the number of features, {features}, not {directions}.")
