"""Scores and diagnostics of embeddings."""

from sfa.evaluate.diagnostics import (
    Diagnostics,
    diagnose,
    effective_rank,
    label_signal,
    relative_view_distance,
    singular_values,
    uniformity,
    view_distance,
)
from sfa.evaluate.protocols import Classification, Clustering, LabelSignal, LinkPrediction, Protocol, default_protocol
from sfa.evaluate.protocols import possible as possible
from sfa.evaluate.scores import Difference, Score, paired_difference, pool_seeds, score_difference

__all__ = [
    "Classification",
    "Clustering",
    "Diagnostics",
    "Difference",
    "LabelSignal",
    "LinkPrediction",
    "Protocol",
    "Score",
    "default_protocol",
    "diagnose",
    "effective_rank",
    "label_signal",
    "paired_difference",
    "pool_seeds",
    "possible",
    "relative_view_distance",
    "score_difference",
    "singular_values",
    "uniformity",
    "view_distance",
]
