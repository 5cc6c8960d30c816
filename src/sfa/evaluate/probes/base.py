"""The base class of probes: embeddings, labels and splits in, labels of the test parts out."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from sfa.evaluate.inputs import Labels as Labels
from sfa.evaluate.splits import Split

OnSplit: TypeAlias = Callable[[], None]
RANKS = 5  # labels of an item that a probe ranks at most


@dataclass(frozen=True)
class Prediction:
    """Predictions of the classifier that was chosen on a split."""

    test: Labels  # predicted labels of the test part
    chosen: Any  # the selected setting
    validation: float  # the accuracy by which it was selected, in per cent
    ranked: Labels | None = None  # likeliest labels of the test part, best first, (test, ≤ RANKS); -1 is no label


class Probe:
    """A classifier on frozen embeddings with a way of selecting its setting.

    Probes return predictions and not accuracies: only the protocol reads the labels of the test part. A subclass
    defines :meth:`predict_split` or, to fit several splits at once, :meth:`predict`.
    """

    unit_rows: bool = True  # whether embeddings are brought to rows of length one first
    takes_sparse: ClassVar[bool] = False  # whether sparse embeddings are passed as compressed rows in float64

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
