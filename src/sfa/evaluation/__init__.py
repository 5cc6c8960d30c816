"""Scores and diagnostics of embeddings."""

from sfa.evaluation.protocols import PROTOCOLS, Protocol, resolve
from sfa.evaluation.scores import Difference, Score, paired_difference
from sfa.evaluation.spectrum import effective_rank, singular_values

__all__ = [
    "PROTOCOLS",
    "Difference",
    "Protocol",
    "Score",
    "effective_rank",
    "paired_difference",
    "resolve",
    "singular_values",
]
