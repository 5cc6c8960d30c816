"""Node-level methods: one graph, an embedding per node."""

from sfa.methods.node.g_bt import GBT
from sfa.methods.node.grace import GRACE

__all__ = ["GBT", "GRACE"]
