"""Published methods, each in a file that reads like its paper's section."""

from sfa.methods.base import ContrastiveMethod
from sfa.methods.resolver import METHODS, resolve

__all__ = ["METHODS", "ContrastiveMethod", "resolve"]
