"""Register the built-in protocols, in the order of `sfa list protocols`."""

from __future__ import annotations

from sfa.evaluate.masked_splits import HeldOutSplits, PublicSplits
from sfa.evaluate.probes import (
    AdamProbe,
    KNNProbe,
    LogisticProbe,
    OneVsRestProbe,
    Probe,
    SgdProbe,
    SVMProbe,
    WeightedKNNProbe,
)
from sfa.evaluate.protocols.base import Protocol
from sfa.evaluate.protocols.labels import Classification, Clustering, LabelSignal
from sfa.evaluate.protocols.link_prediction import LinkPrediction
from sfa.evaluate.splits import FewPerClass, RandomSplits, Splits, StratifiedFolds
from sfa.registry import register


def _add(protocol: Protocol) -> None:
    register("protocol", protocol.name, protocol)


def _classify(name: str, splits: Splits, probe: Probe, description: str, repeats: int = 20) -> None:
    _add(Classification(name=name, description=description, repeats=repeats, splits=splits, probe=probe))


_TENTHS = RandomSplits(train=0.1, validation=0.1)
_CHOSEN = "logistic regression on unit rows, C chosen on validation, test read once"
_HONEST = f"20 random splits 10/10/80, {_CHOSEN}"
_IN_FOLDS = "C from 10^-3 to 10^3 chosen by 5-fold cross-validation on the training part"

_classify("honest-10-10-80", _TENTHS, LogisticProbe(), _HONEST)
_one_by_one = f"{_HONEST}; fitted by scikit-learn, one after another"
_classify("honest-10-10-80-sklearn", _TENTHS, LogisticProbe(solver="scikit-learn"), _one_by_one)
_few = f"20 random splits 1/10/89, few labels to train on: {_CHOSEN}"
_classify("honest-1-10-89", RandomSplits(train=0.01, validation=0.1), LogisticProbe(), _few)
_classify(
    "few-5",
    FewPerClass(train=5, validation=5),
    LogisticProbe(),
    "20 random splits with 5 labels of every class to train on, 5 of every class to validate on and all others tested: "
    f"{_CHOSEN}",
)
_classify(
    "pygcl-10-80-10",
    RandomSplits(train=0.1, validation=0.8),
    AdamProbe(steps=5000, lr=0.01, every=20),
    "20 random splits, 10 % training, 80 % validation and 10 % test as PyGCL has them: logistic regression without a "
    "penalty, 5000 steps of Adam, the best of every 20th step chosen on the 80 %",
)
_classify(
    "grace-10-90",
    RandomSplits(train=0.1, validation=0),
    OneVsRestProbe(cs=tuple(2.0**power for power in range(-10, 10)), selection="5 folds"),
    "3 random splits 10/90 without validation: one-vs-rest liblinear on unit rows, C from 2^-10 to 2^9 chosen by "
    "5-fold cross-validation on the training part",
    repeats=3,
)
_classify(
    "bgrl-20-80",
    RandomSplits(train=0.2, validation=0),
    OneVsRestProbe(cs=tuple(2.0**power for power in range(-10, 11)), selection="5 halves"),
    "20 random splits 20/80 without validation: one-vs-rest liblinear on unit rows, C from 2^-10 to 2^10 chosen on 5 "
    "random halves of the training part",
)
_classify("public", PublicSplits(), LogisticProbe(), f"the splits that come with the data: {_CHOSEN}")
_add(
    Clustering(
        "clustering", "10 runs of k-means on unit rows, as many clusters as classes; labels are read afterwards", 10
    )
)
_vote = "20 random splits 10/10/80, vote of the k nearest of the training part, k chosen on validation"
_classify("knn", _TENTHS, KNNProbe(), _vote)
_add(
    LabelSignal(
        "label-signal",
        "no classifier: the share of the differences between classes that the strongest 1, 4 … 256 directions of unit "
        "rows hold, by chance 1/(n-1) each; all labels are read",
    )
)
_add(
    LinkPrediction(
        "link-prediction",
        "3 random splits of the edges: 5 % validation and 10 % test held out before embedding, as many pairs without "
        "an edge, logistic regression on Hadamard products, C chosen on validation",
    )
)
_rbf = f"10 stratified folds of a graph set: SVM with an RBF kernel on the rows as they are, {_IN_FOLDS}"
_classify("tu-svm-10fold", StratifiedFolds(folds=10), SVMProbe(kernel="rbf"), _rbf, repeats=10)
_classify(
    "tu-linear-10fold",
    StratifiedFolds(folds=10),
    SVMProbe(kernel="linear"),
    "10 stratified folds of a graph set: linear SVM on columns of mean 0 and variance 1, or on sparse counts as they "
    f"are, {_IN_FOLDS}",
    repeats=10,
)
_classify(
    "image-linear",
    HeldOutSplits(),
    LogisticProbe(),
    "an image set's own test part, or a fifth of it: logistic regression on unit rows, C chosen on a tenth held out of "
    "the training images, test read once",
    repeats=1,
)
_classify(
    "image-sgd",
    HeldOutSplits(),
    SgdProbe(),
    "the same parts: a linear classifier on the rows as they are by 100 epochs of SGD as in published offline "
    "evaluations, its learning rate from 0.01 to 30 chosen on validation",
    repeats=1,
)
_classify(
    "image-knn",
    HeldOutSplits(),
    WeightedKNNProbe(),
    "the same parts: votes of the k nearest training images, weighted by e^(cos / 0.07), k from 10 to 200 chosen on "
    "validation",
    repeats=1,
)
