"""The loss that GraphCL, JOAO and SimGRACE share, written as loops over the graphs of a batch."""

import math

from torch import Tensor


def slow_contrast(anchors: Tensor, positives: Tensor, tau: float) -> float:
    """-log of each anchor's positive over its negatives, which are the positives of the others; the mean of all."""
    total = 0.0
    for i, anchor in enumerate(anchors.double()):
        similarities = [float(anchor @ other / anchor.norm() / other.norm()) / tau for other in positives.double()]
        negatives = sum(math.exp(similarity) for j, similarity in enumerate(similarities) if j != i)
        total -= math.log(math.exp(similarities[i]) / negatives)
    return total / len(anchors)
