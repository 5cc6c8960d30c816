"""Named evaluation protocols: which splits, which classifier, what is selected on what, how often."""

from collections.abc import Callable
from functools import partial

from sfa.evaluate.probes import AdamProbe, KNNProbe, LogisticProbe, OneVsRestProbe, SgdProbe, SVMProbe, WeightedKNNProbe
from sfa.evaluate.probes.linear import RidgeProbe
from sfa.evaluate.probes.minibatch import MiniBatchProbe
from sfa.evaluate.protocols.base import Classification, Clustering, Embedder, LabelSignal, Protocol, default_protocol
from sfa.evaluate.protocols.base import Regression as Regression
from sfa.evaluate.protocols.base import possible as possible
from sfa.evaluate.protocols.link_prediction import LinkPrediction
from sfa.evaluate.splits import FewPerClass, GroupSplits, HeldOutSplits, PublicSplits, RandomSplits, StratifiedFolds
from sfa.registry import register

__all__ = ["Classification", "Clustering", "Embedder", "LabelSignal", "LinkPrediction", "Protocol", "default_protocol"]

_TENTHS = RandomSplits(train=0.1, validation=0.1)
_BY_SCAFFOLD = GroupSplits(train=0.8, validation=0.1, by="scaffold")
_POWERS = tuple(2.0**power for power in range(-10, 11))
_MAKERS: dict[str, Callable[[str, str], Protocol]] = {  # in the order of `sfa list protocols`
    "honest-10-10-80": partial(Classification, splits=_TENTHS, probe=LogisticProbe()),
    "honest-10-10-80-sklearn": partial(Classification, splits=_TENTHS, probe=LogisticProbe(solver="scikit-learn")),
    "minibatch-10-10-80": partial(Classification, splits=_TENTHS, probe=MiniBatchProbe(), repeats=3),
    "honest-1-10-89": partial(Classification, splits=RandomSplits(0.01, 0.1), probe=LogisticProbe()),
    "few-5": partial(Classification, splits=FewPerClass(train=5, validation=5), probe=LogisticProbe()),
    "pygcl-10-80-10": partial(Classification, splits=RandomSplits(0.1, 0.8), probe=AdamProbe(steps=5000, every=20)),
    "grace-10-90": partial(Classification, splits=RandomSplits(0.1, 0), probe=OneVsRestProbe(_POWERS[:-1]), repeats=3),
    "bgrl-20-80": partial(Classification, splits=RandomSplits(0.2, 0), probe=OneVsRestProbe(_POWERS, "5 halves")),
    "public": partial(Classification, splits=PublicSplits(), probe=LogisticProbe()),
    "clustering": partial(Clustering, repeats=10),
    "knn": partial(Classification, splits=_TENTHS, probe=KNNProbe()),
    "label-signal": LabelSignal,
    "link-prediction": LinkPrediction,
    "tu-svm-10fold": partial(Classification, splits=StratifiedFolds(10), probe=SVMProbe("rbf"), repeats=10),
    "tu-linear-10fold": partial(Classification, splits=StratifiedFolds(10), probe=SVMProbe("linear"), repeats=10),
    "linear-scaffold": partial(Classification, splits=_BY_SCAFFOLD, probe=LogisticProbe()),
    "ridge-60-20-20": partial(Regression, splits=GroupSplits(), probe=RidgeProbe()),
    "ridge-scaffold": partial(Regression, splits=_BY_SCAFFOLD, probe=RidgeProbe()),
    "image-linear": partial(Classification, splits=HeldOutSplits(), probe=LogisticProbe(), repeats=1),
    "image-sgd": partial(Classification, splits=HeldOutSplits(), probe=SgdProbe(), repeats=1),
    "image-knn": partial(Classification, splits=HeldOutSplits(), probe=WeightedKNNProbe(), repeats=1),
}
_CHOSEN = "logistic regression on unit rows, C chosen on validation, test read once"
_HONEST = f"20 random splits 10/10/80, {_CHOSEN}"
_IN_FOLDS = "C from 10^-3 to 10^3 chosen by 5-fold cross-validation on the training part"
_RIDGE = "ridge regression on columns of variance 1, alpha chosen on validation, test read once"
_SCAFFOLDS = "20 random splits 80/10/10 of molecules, each Bemis-Murcko scaffold in one part"
_DESCRIPTIONS = {
    "honest-10-10-80": _HONEST,
    "honest-10-10-80-sklearn": f"{_HONEST}; fitted by scikit-learn, one after another",
    "minibatch-10-10-80": "3 random splits 10/10/80 of a large graph: logistic regression on unit rows, centered, by "
    "1000 steps of Adam in batches of 4096, C chosen on validation, test read once",
    "honest-1-10-89": f"20 random splits 1/10/89, few labels to train on: {_CHOSEN}",
    "few-5": "20 random splits with 5 labels of every class to train on, 5 of every class to validate on and all "
    f"others tested: {_CHOSEN}",
    "pygcl-10-80-10": "20 random splits, 10 % training, 80 % validation and 10 % test as PyGCL has them: logistic "
    "regression without a penalty, 5000 steps of Adam, the best of every 20th step chosen on the 80 %",
    "grace-10-90": "3 random splits 10/90 without validation: one-vs-rest liblinear on unit rows, C from 2^-10 to 2^9 "
    "chosen by 5-fold cross-validation on the training part",
    "bgrl-20-80": "20 random splits 20/80 without validation: one-vs-rest liblinear on unit rows, C from 2^-10 to 2^10 "
    "chosen on 5 random halves of the training part",
    "public": f"the splits that come with the data: {_CHOSEN}",
    "clustering": "10 runs of k-means on unit rows, as many clusters as classes; labels are read afterwards",
    "knn": "20 random splits 10/10/80, vote of the k nearest of the training part, k chosen on validation",
    "label-signal": "no classifier: the share of the differences between classes that the strongest 1, 4 … 256 "
    "directions of unit rows hold, by chance 1/(n-1) each; all labels are read",
    "link-prediction": "3 random splits of the edges: 5 % validation and 10 % test held out before embedding, as many "
    "pairs without an edge, logistic regression on Hadamard products, C chosen on validation",
    "tu-svm-10fold": f"10 stratified folds of a graph set: SVM with an RBF kernel on the rows as they are, {_IN_FOLDS}",
    "tu-linear-10fold": "10 stratified folds of a graph set: linear SVM on columns of mean 0 and variance 1, or on "
    f"sparse counts as they are, {_IN_FOLDS}",
    "linear-scaffold": f"{_SCAFFOLDS}: {_CHOSEN}",
    "ridge-60-20-20": f"real-valued targets, 20 random splits 60/20/20: {_RIDGE}",
    "ridge-scaffold": f"real-valued targets, {_SCAFFOLDS}: {_RIDGE}",
    "image-linear": "an image set's own test part, or a fifth of it: logistic regression on unit rows, C chosen on a "
    "tenth held out of the training images, test read once",
    "image-sgd": "the same parts: a linear classifier on the rows as they are by 100 epochs of SGD as in published "
    "offline evaluations, its learning rate from 0.01 to 30 chosen on validation",
    "image-knn": "the same parts: votes of the k nearest training images, weighted by e^(cos / 0.07), k from 10 to 200 "
    "chosen on validation",
}

for _name, _make in _MAKERS.items():
    register("protocol", _name, _make(_name, _DESCRIPTIONS[_name]))
