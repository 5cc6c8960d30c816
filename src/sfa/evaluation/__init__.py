"""Scores and diagnostics of embeddings."""

from sfa.evaluation.diagnostics import Diagnostics, diagnose, relative_view_distance, uniformity, view_distance
from sfa.evaluation.protocols import PROTOCOLS, Protocol, resolve
from sfa.evaluation.scores import Difference, Score, paired_difference
from sfa.evaluation.spectrum import effective_rank, singular_values

__all__ = [
    "PROTOCOLS",
    "Diagnostics",
    "Difference",
    "Protocol",
    "Score",
    "diagnose",
    "effective_rank",
    "paired_difference",
    "relative_view_distance",
    "resolve",
    "singular_values",
    "uniformity",
    "view_distance",
]
