"""Scores and diagnostics of embeddings."""

from sfa.evaluation.diagnostics import Diagnostics, alignment, diagnose, relative_alignment, uniformity
from sfa.evaluation.protocols import PROTOCOLS, Protocol, resolve
from sfa.evaluation.scores import Difference, Score, paired_difference
from sfa.evaluation.spectrum import effective_rank, singular_values

__all__ = [
    "PROTOCOLS",
    "Diagnostics",
    "Difference",
    "Protocol",
    "Score",
    "alignment",
    "diagnose",
    "effective_rank",
    "paired_difference",
    "relative_alignment",
    "resolve",
    "singular_values",
    "uniformity",
]
