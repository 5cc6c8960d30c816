"""Named evaluation protocols: which splits, which classifier, what is selected on what, how often."""

from sfa.evaluate.protocols import builtin as builtin
from sfa.evaluate.protocols.applicable import default_protocol, possible
from sfa.evaluate.protocols.base import Embedder, Protocol
from sfa.evaluate.protocols.classification import Classification
from sfa.evaluate.protocols.clustering import Clustering
from sfa.evaluate.protocols.label_signal import LabelSignal
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
