"""What many gentle passes make of a spectrum: the expected map, over and over."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sfa.errors import InputError
from sfa.law.shares import moments
from sfa.law.spectra import Array, checked_iterations, checked_spectrum


def levelled(sigma: ArrayLike, iterations: int = 1, *, strength: float = 1.0, passes: int = 1) -> Array:
    r"""The spectrum after so many passes of the expected map, each of which takes the expected share of every value.

    .. math::
        \sigma_i \leftarrow \sigma_i \big(1 - s\, \lambda_i(\sigma; k)\big)

    One pass of strength 1 is the push-forward function. Many gentle ones follow the flow
    :math:`\dot\sigma_i = -\sigma_i \lambda_i(\sigma; k)` for the time ``strength · passes``: the leading values come
    down, ever more of them together, and the rest stay. Single draws of ``power_iteration(h, k, strength=s, passes=p)``
    gather around that: what they take has a variance of the order ``s²`` a pass, and of ``s`` in all, so that the
    same levelling can be had with as little noise as one likes, for more passes.

    Args:
        sigma: Singular values ``(..., d)``, in any order, of any scale.
        iterations: Power iterations ``k ≥ 0``.
        strength: ``s``, from 0 to 1.
        passes: How often.

    Returns:
        The new values ``(..., d)``, each in the place of its own.

    >>> levelled([8.0, 4.0, 2.0, 1.0, 0.1], strength=0.1, passes=40).round(2)
    array([1.12, 1.11, 1.04, 0.83, 0.1 ])
    """
    values, k = checked_spectrum(sigma), checked_iterations(iterations)
    if not 0 <= strength <= 1:
        raise InputError(f"The strength of a pass is from 0 to 1, not {strength!r}.")
    if isinstance(passes, bool) or not isinstance(passes, int | np.integer) or passes < 0:
        raise InputError(f"passes must be a whole number, 0 or more, not {passes!r}.")
    for _ in range(passes):
        shares = moments(values, k, "exact")
        values = values * (shares.complement + (1 - strength) * shares.mean)
    return values
