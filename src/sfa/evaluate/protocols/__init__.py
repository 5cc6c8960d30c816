"""Named evaluation protocols: which splits, which classifier, what is selected on what, how often."""

from sfa.evaluate.protocols import builtin as builtin
from sfa.evaluate.protocols.base import Embedder, Protocol, default_protocol, possible
from sfa.evaluate.protocols.labels import Classification, Clustering, LabelSignal
from sfa.evaluate.protocols.link_prediction import LinkPrediction

__all__ = [
    "Classification",
    "Clustering",
    "Embedder",
    "LabelSignal",
    "LinkPrediction",
    "Protocol",
    "default_protocol",
    "possible",
]
