"""Classifiers on frozen embeddings: each says what it selects and on what, and predicts the test part once."""

from sfa.evaluation.probes.adam import AdamProbe
from sfa.evaluation.probes.base import Prediction, Probe
from sfa.evaluation.probes.logistic import LogisticProbe
from sfa.evaluation.probes.neighbours import NeighbourProbe
from sfa.evaluation.probes.one_vs_rest import OneVsRestProbe
from sfa.evaluation.probes.sgd import SgdProbe
from sfa.evaluation.probes.svm import SVMProbe
from sfa.evaluation.probes.weighted_neighbours import WeightedNeighbourProbe

__all__ = [
    "AdamProbe",
    "LogisticProbe",
    "NeighbourProbe",
    "OneVsRestProbe",
    "Prediction",
    "Probe",
    "SVMProbe",
    "SgdProbe",
    "WeightedNeighbourProbe",
]
