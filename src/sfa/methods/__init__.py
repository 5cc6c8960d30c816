"""Published methods, each in a file that reads like its paper's section."""

from sfa.methods.base import Method
from sfa.methods.resolver import DEFAULTS, METHODS, resolve
from sfa.methods.two_views import TwoViewMethod

__all__ = ["DEFAULTS", "METHODS", "Method", "TwoViewMethod", "resolve"]
