"""Named evaluation protocols: which splits, which classifier, what is selected on what, how often."""

from sfa.evaluation.protocols.base import Embedder, Protocol
from sfa.evaluation.protocols.classification import Classification
from sfa.evaluation.protocols.clustering import Clustering
from sfa.evaluation.protocols.label_signal import LabelSignal
from sfa.evaluation.protocols.link_prediction import LinkPrediction
from sfa.evaluation.protocols.resolver import PROTOCOLS, default_protocol, possible, resolve

__all__ = [
    "PROTOCOLS",
    "Classification",
    "Clustering",
    "Embedder",
    "LabelSignal",
    "LinkPrediction",
    "Protocol",
    "default_protocol",
    "possible",
    "resolve",
]
