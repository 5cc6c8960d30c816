"""The base class of probes, and those without weights, for which the nearest training rows vote."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from sfa.evaluate.inputs import Labels as Labels
from sfa.evaluate.splits import Split
from sfa.ranges import check_number

OnSplit: TypeAlias = Callable[[], None]
RANKS = 5  # labels of an item that a probe ranks at most
BATCH_NUMBERS = 2**24  # similarities and votes that are held at a time


@dataclass(frozen=True)
class Prediction:
    """Predictions of the classifier that was chosen on a split."""

    test: NDArray[Any]  # predicted labels, or targets, of the test part
    chosen: Any  # the selected setting
    validation: float  # the accuracy by which it was selected, in per cent, or r2 of a regression
    ranked: Labels | None = None  # likeliest labels of the test part, best first, (test, ≤ RANKS); -1 is no label


class Probe:
    """A classifier on frozen embeddings with a way of selecting its setting.

    Probes return predictions and not accuracies: only the protocol reads the labels of the test part. A subclass
    defines :meth:`predict_split` or, to fit several splits at once, :meth:`predict`.
    """

    unit_rows: bool = True  # whether embeddings are brought to rows of length one first
    takes_sparse: ClassVar[bool] = False  # whether sparse embeddings are passed as compressed rows in float64
    streams: ClassVar[bool] = False  # whether embeddings are passed as they are, to be read by rows

    def check(self, splits: Sequence[Split], y: Labels, items: str = "nodes") -> None:
        """Raise, before any long work, if these splits of these labels do not allow it."""

    def predict(self, z: Any, y: Labels, splits: Sequence[Split], on_split: OnSplit) -> Iterator[Prediction]:
        """Fit, select and predict on each split of embeddings ``(n, d)`` and labels ``(n,)``."""
        for number, split in enumerate(splits):
            prediction = self.predict_split(z, y, split, number)
            on_split()
            yield prediction

    def predict_split(self, z: Tensor, y: Labels, split: Split, number: int) -> Prediction:
        """Fit, select and predict on one split, the ``number``-th."""
        raise NotImplementedError


def best_labels(scores: Tensor, classes: Tensor) -> Tensor:
    """Return the labels of the highest scores ``(n, k)``, best first, ``(n, ≤ RANKS)``; of equal ones the first."""
    return classes[scores.argsort(dim=1, descending=True, stable=True)[:, :RANKS]]


def accuracy(predicted: Labels, labels: Labels) -> Any:
    """Return the accuracy in per cent, over the last axis."""
    return 100 * (predicted == labels).mean(-1)


def choose(predicted: Labels, labels: Labels) -> tuple[int, float]:
    """Return the first of ``m`` settings with the best accuracy, and that accuracy, of predictions ``(m, n)``."""
    accuracies = accuracy(predicted, labels)
    best = int(accuracies.argmax())
    return best, float(accuracies[best])


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Accept fits that have not converged, or of a fold that lacks a class, as the authors of the protocols do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Label .* is present in all training examples")
        yield


@dataclass(frozen=True)
class KNNProbe(Probe):
    """The label that most of the ``k`` nearest training rows have; of equally frequent ones the first.

    On rows of length one the nearest are those with the largest cosine. Of equally good numbers ``ks`` of neighbors the
    smallest is taken; those above the size of the training part are left out.
    """

    ks: tuple[int, ...] = (1, 3, 5, 10, 20, 50)
    unit_rows: bool = True

    def predict_split(self, z: Tensor, y: Labels, split: Split, number: int) -> Prediction:
        ks = [k for k in sorted(self.ks) if k <= len(split.train)]
        return replace(vote(z, y, split, ks), ranked=None)


@dataclass(frozen=True)
class WeightedKNNProbe(Probe):
    r"""The class with the largest sum of weighted votes of the ``k`` nearest training rows.

    From `"Unsupervised Feature Learning via Non-Parametric Instance-level Discrimination"
    <https://arxiv.org/abs/1805.01978>`_ (Wu et al., 2018):

    .. math::
        s_c(z) = \sum_{i \in N_k(z)} e^{\cos(z, z_i) / T} \, [y_i = c]

    with the ``k`` training rows :math:`N_k` of the largest cosine and the temperature ``T``. Of equally good ``ks`` the
    smallest is taken; one above the size of the training part stands for all of it. A class that none of the neighbors
    has is not ranked.
    """

    ks: tuple[int, ...] = (10, 20, 50, 100, 200)
    temperature: float = 0.07

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature, above=0)

    def predict_split(self, z: Tensor, y: Labels, split: Split, number: int) -> Prediction:
        return vote(z, y, split, sorted({min(k, len(split.train)) for k in self.ks}), self.temperature)


def vote(z: Tensor, y: Labels, split: Split, ks: Sequence[int], temperature: float | None = None) -> Prediction:
    """Choose the number of neighbors on the validation part, and let so many vote on the test part."""
    rows, labels = z[split.train], torch.from_numpy(y[split.train])
    ranked = rank_votes(z[split.validation], rows, labels, ks, temperature)
    best, validation = choose(ranked[..., 0].numpy(), y[split.validation])
    (test,) = rank_votes(z[split.test], rows, labels, [ks[best]], temperature).numpy()
    return Prediction(test[:, 0], ks[best], validation, test)


def rank_votes(
    queries: Tensor, rows: Tensor, labels: Tensor, ks: Sequence[int], temperature: float | None = None
) -> Tensor:
    """Return for every ``k``, ascending, the labels with the most votes, best first, ``(len(ks), m, ≤ RANKS)``.

    The ``k`` rows ``(n, d)`` of the least Euclidean distance from a query ``(m, d)`` have a vote each. With a
    temperature, all are of length one, and votes are weighted. Labels without a vote are -1.
    """
    classes = torch.unique(labels)
    target, plain = torch.searchsorted(classes, labels), temperature is None
    shift = rows.square().sum(1) / 2 if plain else rows.new_zeros(len(rows))  # |q - r|² falls as q·r - |r|²/2 rises
    numbers = max(len(rows), ks[-1] * len(classes) if plain else len(classes))
    pieces = []
    for piece in torch.split(queries, max(1, BATCH_NUMBERS // numbers)):
        values, nearest = torch.addmm(shift, piece, rows.mT, beta=-1).topk(ks[-1], 1)  # (piece, k)
        # Relative to the nearest, which scales all sums of a query: no temperature makes them overflow, or all vanish.
        logits = (values - values[:, :1]).double()
        weights = torch.ones_like(logits) if temperature is None else (logits / temperature).exp()
        sums = weights.new_zeros(len(nearest), len(classes))
        ranked = []
        for start, end in pairwise([0, *ks]):
            sums.scatter_add_(1, target[nearest[:, start:end]], weights[:, start:end])
            best = best_labels(sums, torch.arange(len(classes)))
            ranked.append(classes[best].where(sums.gather(1, best) > 0, -1))
        pieces.append(torch.stack(ranked))
    return torch.cat(pieces, 1)
