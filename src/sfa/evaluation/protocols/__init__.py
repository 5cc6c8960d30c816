"""Named evaluation protocols: which splits, which classifier, what is selected on what, how often."""

from sfa.evaluation.protocols import builtin as builtin
from sfa.evaluation.protocols.applicable import default_protocol, possible
from sfa.evaluation.protocols.base import Embedder, Protocol
from sfa.evaluation.protocols.classification import Classification
from sfa.evaluation.protocols.clustering import Clustering
from sfa.evaluation.protocols.label_signal import LabelSignal
from sfa.evaluation.protocols.link_prediction import LinkPrediction

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
