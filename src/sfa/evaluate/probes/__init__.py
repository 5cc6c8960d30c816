"""Classifiers on frozen embeddings: each says what it selects and on what, and predicts the test part once."""

from sfa.evaluate.probes.adam import AdamProbe
from sfa.evaluate.probes.base import Prediction, Probe
from sfa.evaluate.probes.knn import KNNProbe, WeightedKNNProbe
from sfa.evaluate.probes.logistic import LogisticProbe
from sfa.evaluate.probes.one_vs_rest import OneVsRestProbe
from sfa.evaluate.probes.sgd import SgdProbe
from sfa.evaluate.probes.svm import SVMProbe

__all__ = [
    "AdamProbe",
    "KNNProbe",
    "LogisticProbe",
    "OneVsRestProbe",
    "Prediction",
    "Probe",
    "SVMProbe",
    "SgdProbe",
    "WeightedKNNProbe",
]
