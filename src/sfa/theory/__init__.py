"""Singular values in, what the incomplete power iteration makes of them out."""

from sfa.theory import rivals
from sfa.theory.alignment import alignment, alignment_terms, expected_alignment
from sfa.theory.bounds import elementwise_bound, generalisation_bound, jensen_bound, upper_bound
from sfa.theory.push_forward import PushForward, Simulation, push_forward, simulate
from sfa.theory.removed_fraction import density, expectation, levelled, variance

__all__ = [
    "PushForward",
    "Simulation",
    "alignment",
    "alignment_terms",
    "density",
    "elementwise_bound",
    "expectation",
    "expected_alignment",
    "generalisation_bound",
    "jensen_bound",
    "levelled",
    "push_forward",
    "rivals",
    "simulate",
    "upper_bound",
    "variance",
]
