"""Classifiers on frozen embeddings: each says what it selects and on what, and predicts the test part once."""

from sfa.evaluate.probes.base import KNNProbe, WeightedKNNProbe
from sfa.evaluate.probes.base import Prediction as Prediction
from sfa.evaluate.probes.base import Probe as Probe
from sfa.evaluate.probes.linear import AdamProbe, LogisticProbe, OneVsRestProbe, SgdProbe
from sfa.evaluate.probes.linear import RidgeProbe as RidgeProbe
from sfa.evaluate.probes.svm import SVMProbe

__all__ = ["AdamProbe", "KNNProbe", "LogisticProbe", "OneVsRestProbe", "SVMProbe", "SgdProbe", "WeightedKNNProbe"]
