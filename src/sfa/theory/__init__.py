"""Singular values in, their law under the incomplete power iteration out."""

from sfa.law import density, expectation, levelled, variance
from sfa.theory import rivals
from sfa.theory.alignment import alignment, alignment_terms, expected_alignment
from sfa.theory.bounds import elementwise_bound, generalisation_bound
from sfa.theory.push_forward import PushForward, jensen_bound, push_forward, upper_bound
from sfa.theory.simulation import Simulation, simulate

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
