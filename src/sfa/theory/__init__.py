"""Singular values in, what the incomplete power iteration makes of them out."""

from typing import Any

# isort: off
from sfa.deprecated import find_old_name
from sfa.theory import rivals as rivals
from sfa.theory.alignment import alignment as alignment, alignment_terms as alignment_terms
from sfa.theory.alignment import elementwise_bound as elementwise_bound, expected_alignment as expected_alignment
from sfa.theory.alignment import generalization_bound as generalization_bound
from sfa.theory.push_forward import PushForward as PushForward, Simulation as Simulation
from sfa.theory.push_forward import jensen_bound as jensen_bound, push_forward as push_forward
from sfa.theory.push_forward import simulate as simulate, upper_bound as upper_bound
from sfa.theory.removed_fraction import density as density, expectation as expectation
from sfa.theory.removed_fraction import leveled as leveled, variance as variance


def __getattr__(name: str) -> Any:
    """Find a name by its old spelling, and warn."""
    return find_old_name(__name__, name, {"generalisation_bound": generalization_bound, "levelled": leveled})
