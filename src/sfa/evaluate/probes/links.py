"""The probe of link prediction: logistic regression on products of two nodes' embeddings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from torch import Tensor

from sfa.evaluate.links import Pairs
from sfa.evaluate.logistic_regression import logistic_regression
from sfa.matrices import unit_rows

ROWS_TOGETHER = 2**14
"""Pairs whose products are held at a time when they are scored."""


@dataclass(frozen=True)
class PairScores:
    """What the classifier chosen on validation says.

    Attributes:
        test: Score of each pair of the test part; the higher, the likelier an edge.
        chosen: Its ``C``.
        validation: Its area under the ROC curve there, in per cent.
    """

    test: NDArray[np.float64]
    chosen: float
    validation: float


def predict_links(z: Tensor, train: Pairs, validation: Pairs, test: Tensor, cs: Sequence[float]) -> PairScores:
    r"""Fit to the training pairs for every ``C``, choose the one with the largest area on validation, score the test.

    A pair ``{u, v}`` is described by its Hadamard product, and the classifier is that of
    :func:`~sfa.evaluate.logistic_regression.logistic_regression`:

    .. math::
        d \, \frac{z_u \odot z_v}{\lVert z_u \rVert \lVert z_v \rVert}

    Its entries have the mean size 1 for any width ``d``, and their mean is the cosine. Of equally good values the
    smallest ``C`` is taken.

    Args:
        z: Embeddings ``(n, d)``.
        train: Pairs to learn from.
        validation: Pairs to choose by.
        test: Pairs of nodes ``(2, m)`` to score; whether they are edges is not asked.
        cs: Inverse strengths of the penalty.
    """
    cs = sorted(cs)
    z = unit_rows(z) * math.sqrt(z.shape[1])
    rows, labels = _products(z, train.nodes), train.is_edge.long()
    (path,) = logistic_regression(rows, labels, [torch.arange(len(rows))], cs)
    weights = (path.coefficients[:, 1] - path.coefficients[:, 0]).mT
    areas = [100 * roc_auc_score(validation.is_edge, column) for column in _scores(z, validation.nodes, weights).mT]
    best = int(np.argmax(areas))
    scores: NDArray[np.float64] = _scores(z, test, weights[:, best : best + 1]).squeeze(1).numpy()
    return PairScores(scores, cs[best], float(areas[best]))


def _products(z: Tensor, pairs: Tensor) -> Tensor:
    return z[pairs[0]] * z[pairs[1]]


def _scores(z: Tensor, pairs: Tensor, weights: Tensor) -> Tensor:
    """``(m, columns)``, up to an intercept, which changes no order."""
    pieces = torch.split(pairs, ROWS_TOGETHER, dim=1)
    return torch.cat([_products(z, piece).to(weights.dtype) @ weights for piece in pieces])
