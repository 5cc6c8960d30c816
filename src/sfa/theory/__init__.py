"""Singular values in, what the incomplete power iteration makes of them out."""

from typing import Any

from sfa.deprecated import find_old_name
from sfa.theory import rivals
from sfa.theory.alignment import alignment, alignment_terms, expected_alignment
from sfa.theory.bounds import elementwise_bound, generalization_bound, jensen_bound, upper_bound
from sfa.theory.push_forward import PushForward, Simulation, push_forward, simulate
from sfa.theory.removed_fraction import density, expectation, leveled, variance

__all__ = [
    "PushForward",
    "Simulation",
    "alignment",
    "alignment_terms",
    "density",
    "elementwise_bound",
    "expectation",
    "expected_alignment",
    "generalization_bound",
    "jensen_bound",
    "leveled",
    "push_forward",
    "rivals",
    "simulate",
    "upper_bound",
    "variance",
]


def __getattr__(name: str) -> Any:
    """Find a name by its old spelling, and warn."""
    return find_old_name(__name__, name, {"generalisation_bound": generalization_bound, "levelled": leveled})
