"""Spectral feature augmentation by incomplete power iteration (Algorithm 1 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from sfa import processes
from sfa.errors import InputError
from sfa.ranges import Count, Natural, check_whole
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import check_feature_map, normal
from sfa.spectral.many_passes import many_passes, pays
from sfa.spectral.removal import Removal, unit


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

    The cost is ``2 k + 1`` products of ``h`` with a vector, and one in backward: no ``d × d`` Gram matrix, no SVD.
    ``r`` is normalised in every step, which changes nothing in exact arithmetic and keeps many ``iterations`` and
    entries of ``1e±20`` finite.

    More ``directions`` than one, ``q``, are the block form: ``q`` random starts, kept orthonormal, whose part
    ``s H Q Qᵀ`` is subtracted. It balances more of a slowly falling spectrum in one step: about the ``q`` leading
    singular values give way instead of one, and ``q`` of ``H~`` are zero instead of one.

    More ``passes`` than one, ``p``, repeat all of it on what is left, from a new random start each time:
    ``H W`` with ``W = (I - s r₁ r₁ᵀ) ⋯ (I - s r_p r_pᵀ)``. Many gentle passes, of a ``strength`` below 1, level the top
    of the spectrum as far as one likes, with as little noise as one likes (:func:`sfa.theory.levelled`). A pass costs
    ``2 k`` products of ``h`` with a vector: ``W`` is kept in a compact form (:mod:`sfa.spectral.removal`) and
    multiplied with once. Where there are many passes for the width, and ``r`` is a constant, they are made on the Gram
    matrix instead (:mod:`sfa.spectral.many_passes`), and ``h`` is read twice, however many they are.

    Across processes, each of which holds some rows of one map, every one gets the ``r`` of the whole map: ``r⁽⁰⁾`` is
    that of rank 0, and a step is one all-reduce of ``d q`` numbers, :math:`r^{(k)} = \sum_i H_i^\top H_i r^{(k-1)}`; of
    many passes the Gram matrix is reduced, once.

    Args:
        h: Feature map(s) of shape ``(..., n, d)``; every map of a batch gets directions of its own.
        iterations: ``k ≥ 0``. One or two balance the spectrum; ``0`` removes a random direction; many remove the
            leading one alone.
        strength: ``s``, the share of the projection that is subtracted. ``1`` is the paper's.
        detach: Treat ``r`` as a constant, as an augmentation (default), or differentiate through the iteration. The
            paper leaves this open; with the gradient through ``r`` an encoder learns to feed it a spare direction.
        directions: ``q``, how many directions are removed together, below ``d``. ``1`` is the paper's Algorithm 1.
        passes: ``p``, how often it is done in turn. ``1`` is the paper's.
        across_processes: The rows of ``h`` on all processes are one map (:mod:`sfa.processes`); some may hold none.
        generator: Source of ``r⁽⁰⁾``, on the device of ``h``; the global one if not given.

    Returns:
        ``h_tilde`` with the shape and dtype of ``h``. Half precision is accumulated in float32; across processes ``r``
        is made in float64.
    """
    check_feature_map(h)
    _check(iterations, strength, directions, passes)
    spread = across_processes and processes.count() > 1
    if 0 in ((*h.shape[:-2], h.shape[-1]) if spread else h.shape):
        return h
    _check_width(directions, h.shape[-1])
    dtype = torch.float64 if h.dtype == torch.float64 else torch.float32
    with torch.autocast(h.device.type, enabled=False):
        h_wide = h.to(dtype)
        source = h_wide.detach() if detach else h_wide
        starts = (normal((*h.shape[:-2], h.shape[-1], directions), h_wide, generator) for _ in range(passes))
        if detach and directions == 1 and pays(h.shape[-1], iterations, passes):
            removal = many_passes(source, torch.cat(list(starts), dim=-1), iterations, strength, spread=spread)
        else:
            removal = _one_by_one(source, starts, iterations, strength, spread=spread)
        return removal.applied_to(h_wide, is_constant=detach).to(h.dtype)


def _one_by_one(h: Tensor, starts: Iterable[Tensor], iterations: int, strength: float, *, spread: bool) -> Removal:
    """What passes remove that turn their starts ``(..., d, q)`` by products with the map itself."""
    turn, removal = _turn_across_processes if spread else _turn, Removal()
    for r in starts:
        removal = removal.followed_by(_orthonormal(turn(h, r, iterations, removal)), strength)
    return removal


def _turn(h: Tensor, r: Tensor, iterations: int, removal: Removal) -> Tensor:
    """``r⁽⁰⁾`` turned towards the leading right singular vectors of what a removal leaves of ``h``."""
    for _ in range(iterations):
        r = _orthonormal(removal.transposed_times(h.mT @ _orthonormal(h @ removal.times(_orthonormal(r)))))
    return r


def _turn_across_processes(h: Tensor, r: Tensor, iterations: int, removal: Removal) -> Tensor:
    """:func:`_turn` for the map whose rows are those of all processes.

    To normalise ``H r`` as well would take communication of its own. Float64 stands in for that: it has the range for
    the squares of the entries, and the digits for the squares of the singular values, of which more than the leading
    one count where there are more directions. Of a map that is float64 itself, singular values below ``2e-7`` of the
    leading one count as zero.
    """
    negligible = max((_NEGLIGIBLE * torch.finfo(h.dtype).eps) ** 2, _NEGLIGIBLE * torch.finfo(torch.float64).eps)
    wide, removal, turned = h.double(), removal.to(torch.float64), processes.shared(_orthonormal(r)).double()
    for _ in range(iterations):
        product = processes.all_reduce_sum(wide.mT @ (wide @ removal.times(turned)))
        turned = _orthonormal(removal.transposed_times(product), negligible)
    return turned.to(h.dtype)


_NEGLIGIBLE = 100
"""What is left of a unit vector, in units of rounding, that is no direction: its gradient would explode."""


def _orthonormal(vectors: Tensor, negligible: float | None = None) -> Tensor:
    """``(..., m, q)`` columns made orthonormal by Gram–Schmidt; one that depends on those before becomes zero."""
    negligible = _NEGLIGIBLE * torch.finfo(vectors.dtype).eps if negligible is None else negligible
    if vectors.shape[-1] == 1:
        return unit(vectors)
    basis = unit(vectors[..., :1])
    for j in range(1, vectors.shape[-1]):
        column = unit(vectors[..., j : j + 1])
        for _ in range(2):  # Twice is enough (Kahan and Parlett): the second removes what rounding left of the first.
            column = column - basis @ (basis.mT @ column)
            length = torch.linalg.vector_norm(column.detach(), dim=-2, keepdim=True)
            column = unit(torch.where(length < negligible, 0, column))
        basis = torch.cat([basis, column], dim=-1)
    return basis


class SpectralFeatureAugmentation(SpectralMap, spans_processes=True):
    """Flattens and perturbs the leading singular values while training; the identity in ``eval()``.

    The layer between encoder and projector; it stores its arguments and calls :func:`power_iteration`.

    >>> layer = SpectralFeatureAugmentation(iterations=1)
    >>> layer(torch.randn(100, 16)).shape
    torch.Size([100, 16])
    """

    def __init__(
        self,
        iterations: Natural = 1,
        strength: float = 1.0,
        detach: bool = True,
        directions: Count = 1,
        passes: Count = 1,
    ) -> None:
        super().__init__()
        _check(iterations, strength, directions, passes)
        self.iterations = iterations
        self.strength = strength
        self.detach = detach
        self.directions = directions
        self.passes = passes

    def check_width(self, features: int) -> None:
        _check_width(self.directions, features)

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return power_iteration(
            h,
            self.iterations,
            strength=self.strength,
            detach=self.detach,
            directions=self.directions,
            passes=self.passes,
            across_processes=self.across_processes,
            generator=generator,
        )


def _check_width(directions: int, features: int) -> None:
    if 1 < directions >= features:
        raise InputError(f"directions must be below the number of features, {features}, not {directions}.")


def _check(iterations: int, strength: float, directions: int, passes: int) -> None:
    check_whole("iterations", iterations, 0)
    check_whole("directions", directions, 1)
    check_whole("passes", passes, 1)
    if not abs(strength) < math.inf:  # NaN too
        raise InputError(f"strength must be a finite number, not {strength!r}.")
