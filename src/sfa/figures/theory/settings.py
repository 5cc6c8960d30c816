"""The toy spectrum of the paper's figures, and the colours of the numbers of iterations."""

from __future__ import annotations

import numpy as np

from sfa.theory.spectra import Array

OTHERS = (1.5, 0.9, 0.2, 0.01)
"""The values σ₂ … σ₅ of the caption; σ₁ is varied."""

ITERATIONS = {1: "#c8452f", 2: "#228833", 4: "#4477aa", 8: "#aa3377"}
"""The numbers of power iterations k of the caption, and their colours."""

SIGMA = "$\\sigma_1$"


def leading_values(count: int, low: float = 0.0, high: float = 3.0) -> Array:
    """``count`` values of σ₁ over the caption's range."""
    return np.linspace(low, high, count)


def spectra(leading: Array) -> Array:
    """The toy spectrum ``(m, 5)`` for each σ₁ of ``leading``."""
    return np.column_stack([leading, np.tile(OTHERS, (len(leading), 1))])
