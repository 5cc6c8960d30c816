"""The law of what the incomplete power iteration removes of each singular value: exact, and the paper's surrogate."""

from sfa.law.levelling import levelled
from sfa.law.shares import density, expectation, variance

__all__ = ["density", "expectation", "levelled", "variance"]
