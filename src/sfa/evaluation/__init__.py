"""Scores and diagnostics of embeddings."""

from sfa.evaluation.comparison import Difference, paired_difference, score_difference
from sfa.evaluation.diagnostics import Diagnostics, diagnose, relative_view_distance, uniformity, view_distance
from sfa.evaluation.label_signal import label_signal
from sfa.evaluation.protocols import (
    Classification,
    Clustering,
    LabelSignal,
    LinkPrediction,
    Protocol,
    default_protocol,
    possible,
)
from sfa.evaluation.scores import Score
from sfa.evaluation.spectrum import effective_rank, singular_values

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
    "possible",
    "relative_view_distance",
    "score_difference",
    "singular_values",
    "uniformity",
    "view_distance",
]
