"""The linear probe: logistic regression on frozen embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from sfa.evaluation.splits import Split


@dataclass(frozen=True)
class ProbeResult:
    """Accuracies in per cent, and what was chosen."""

    test: float
    validation: float
    c: float


def logistic_probe(
    z: NDArray[np.float64], y: NDArray[np.int64], split: Split, cs: Sequence[float], max_iterations: int = 5000
) -> ProbeResult:
    """L2-regularised logistic regression; ``C`` is chosen on validation, and the test part is read once.

    Of equally good values the smallest ``C``, the strongest regularisation, is taken.
    """
    best: tuple[float, float, LogisticRegression] | None = None
    classifier = LogisticRegression(max_iter=max_iterations, warm_start=True)
    with threadpool_limits(1):  # on matrices of this size a second BLAS thread costs twenty times what it saves
        for c in sorted(cs):
            classifier.set_params(C=c).fit(z[split.train], y[split.train])
            accuracy = 100 * float(classifier.score(z[split.validation], y[split.validation]))
            if best is None or accuracy > best[0]:
                best = accuracy, c, _frozen(classifier)
        assert best is not None, "at least one C"
        validation, c, chosen = best
        return ProbeResult(100 * float(chosen.score(z[split.test], y[split.test])), validation, c)


def _frozen(classifier: LogisticRegression) -> LogisticRegression:
    """The classifier as it is now: the next warm-started fit replaces arrays, and does not write into them."""
    copy = LogisticRegression()
    copy.classes_, copy.coef_, copy.intercept_ = classifier.classes_, classifier.coef_, classifier.intercept_
    return copy
