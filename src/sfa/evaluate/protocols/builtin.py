"""Register the built-in protocols, in the order of `sfa list protocols`."""

from __future__ import annotations

from dataclasses import replace

from sfa.evaluate.masked_splits import HeldOutSplits, PublicSplits
from sfa.evaluate.probes import (
    AdamProbe,
    KNNProbe,
    LogisticProbe,
    OneVsRestProbe,
    SgdProbe,
    SVMProbe,
    WeightedKNNProbe,
)
from sfa.evaluate.protocols.base import Protocol
from sfa.evaluate.protocols.classification import Classification
from sfa.evaluate.protocols.link_prediction import LinkPrediction
from sfa.evaluate.protocols.unsupervised import Clustering, LabelSignal
from sfa.evaluate.splits import FewPerClass, RandomSplits, StratifiedFolds
from sfa.registry import register

HONEST = Classification(
    name="honest-10-10-80",
    description="20 random splits 10/10/80, logistic regression on unit rows, C chosen on validation, test read once",
    repeats=20,
    splits=RandomSplits(train=0.1, validation=0.1),
    probe=LogisticProbe(),
)

_PROTOCOLS: tuple[Protocol, ...] = (
    HONEST,
    replace(
        HONEST,
        name="honest-10-10-80-sklearn",
        description=f"{HONEST.description}; fitted by scikit-learn, one after another",
        probe=LogisticProbe(solver="scikit-learn"),
    ),
    replace(
        HONEST,
        name="honest-1-10-89",
        description=(
            "20 random splits 1/10/89, few labels to train on: logistic regression on unit rows, C chosen on "
            "validation, test read once"
        ),
        splits=RandomSplits(train=0.01, validation=0.1),
    ),
    replace(
        HONEST,
        name="few-5",
        description=(
            "20 random splits with 5 labels of every class to train on, 5 of every class to validate on and all "
            "others tested: logistic regression on unit rows, C chosen on validation, test read once"
        ),
        splits=FewPerClass(train=5, validation=5),
    ),
    Classification(
        name="pygcl-10-80-10",
        description=(
            "20 random splits, 10 % training, 80 % validation and 10 % test as PyGCL has them: logistic regression "
            "without a penalty, 5000 steps of Adam, the best of every 20th step chosen on the 80 %"
        ),
        repeats=20,
        splits=RandomSplits(train=0.1, validation=0.8),
        probe=AdamProbe(steps=5000, lr=0.01, every=20),
    ),
    Classification(
        name="grace-10-90",
        description=(
            "3 random splits 10/90 without validation: one-vs-rest liblinear on unit rows, C from 2^-10 to 2^9 "
            "chosen by 5-fold cross-validation on the training part"
        ),
        repeats=3,
        splits=RandomSplits(train=0.1, validation=0),
        probe=OneVsRestProbe(cs=tuple(2.0**power for power in range(-10, 10)), selection="5 folds"),
    ),
    Classification(
        name="bgrl-20-80",
        description=(
            "20 random splits 20/80 without validation: one-vs-rest liblinear on unit rows, C from 2^-10 to 2^10 "
            "chosen on 5 random halves of the training part"
        ),
        repeats=20,
        splits=RandomSplits(train=0.2, validation=0),
        probe=OneVsRestProbe(cs=tuple(2.0**power for power in range(-10, 11)), selection="5 halves"),
    ),
    Classification(
        name="public",
        description=(
            "the splits that come with the data: logistic regression on unit rows, C chosen on validation, "
            "test read once"
        ),
        repeats=20,
        splits=PublicSplits(),
        probe=LogisticProbe(),
    ),
    Clustering(
        name="clustering",
        description="10 runs of k-means on unit rows, as many clusters as classes; labels are read afterwards",
        repeats=10,
    ),
    Classification(
        name="knn",
        description="20 random splits 10/10/80, vote of the k nearest of the training part, k chosen on validation",
        repeats=20,
        splits=RandomSplits(train=0.1, validation=0.1),
        probe=KNNProbe(),
    ),
    LabelSignal(
        name="label-signal",
        description=(
            "no classifier: the share of the differences between classes that the strongest 1, 4 … 256 "
            "directions of unit rows hold, by chance 1/(n-1) each; all labels are read"
        ),
    ),
    LinkPrediction(
        name="link-prediction",
        description=(
            "3 random splits of the edges: 5 % validation and 10 % test held out before embedding, as many pairs "
            "without an edge, logistic regression on Hadamard products, C chosen on validation"
        ),
        repeats=3,
    ),
    Classification(
        name="tu-svm-10fold",
        description=(
            "10 stratified folds of a graph set: SVM with an RBF kernel on the rows as they are, C from 10^-3 to "
            "10^3 chosen by 5-fold cross-validation on the training part"
        ),
        repeats=10,
        splits=StratifiedFolds(folds=10),
        probe=SVMProbe(kernel="rbf"),
    ),
    Classification(
        name="tu-linear-10fold",
        description=(
            "10 stratified folds of a graph set: linear SVM on columns of mean 0 and variance 1, or on sparse "
            "counts as they are, C from 10^-3 to 10^3 chosen by 5-fold cross-validation on the training part"
        ),
        repeats=10,
        splits=StratifiedFolds(folds=10),
        probe=SVMProbe(kernel="linear"),
    ),
    Classification(
        name="image-linear",
        description=(
            "an image set's own test part, or a fifth of it: logistic regression on unit rows, C chosen on a tenth "
            "held out of the training images, test read once"
        ),
        repeats=1,
        splits=HeldOutSplits(),
        probe=LogisticProbe(),
    ),
    Classification(
        name="image-sgd",
        description=(
            "the same parts: a linear classifier on the rows as they are by 100 epochs of SGD as in published "
            "offline evaluations, its learning rate from 0.01 to 30 chosen on validation"
        ),
        repeats=1,
        splits=HeldOutSplits(),
        probe=SgdProbe(),
    ),
    Classification(
        name="image-knn",
        description=(
            "the same parts: votes of the k nearest training images, weighted by e^(cos / 0.07), k from 10 to 200 "
            "chosen on validation"
        ),
        repeats=1,
        splits=HeldOutSplits(),
        probe=WeightedKNNProbe(),
    ),
)

for _protocol in _PROTOCOLS:
    register("protocol", _protocol.name, _protocol)
