"""What a probe is: embeddings, labels and splits in, labels of the test parts out."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from sfa.evaluate.splits import Split

Rows: TypeAlias = "NDArray[np.float64] | sparse.csr_array"
"""What scikit-learn computes with."""
Labels: TypeAlias = NDArray[np.int64]
OnSplit: TypeAlias = Callable[[], None]
RANKS = 5
"""Labels that a probe names for an item at most, where it ranks them."""
ROWS_TOGETHER = 2**14
"""Rows that are classified at a time."""


@dataclass(frozen=True)
class Prediction:
    """What the classifier that was chosen on a split says.

    Attributes:
        test: Labels it gives to the items of the test part.
        chosen: What was selected.
        validation: The accuracy by which it was, in per cent.
        ranked: For every item of the test part the labels it finds likeliest, best first, ``(test, ≤ RANKS)``; -1 is no
            label. ``None`` from a probe that does not say.
    """

    test: Labels
    chosen: Any
    validation: float
    ranked: Labels | None = None


class Probe(ABC):
    """A classifier on frozen embeddings with a way of selecting its setting.

    A probe hands back predictions and not accuracies: labels of the test part are none of its business, and the
    protocol compares them once.
    """

    unit_rows: bool = True
    """Whether embeddings are brought to rows of length one first."""

    takes_sparse: ClassVar[bool] = False
    """Whether sparse embeddings come as they are, compressed rows in float64, and not as dense rows."""

    def check(self, splits: Sequence[Split], y: Labels, items: str = "nodes") -> None:
        """Raise, before any long work, if these splits of these labels do not allow it."""
        del splits, y, items  # most probes take any

    @abstractmethod
    def predict(self, z: Tensor, y: Labels, splits: Sequence[Split], on_split: OnSplit) -> Iterator[Prediction]:
        """Fit, select and predict on each split.

        Args:
            z: Embeddings ``(n, d)``.
            y: Labels ``(n,)``.
            splits: Which rows train, validate and test.
            on_split: To be called when a split's fits are done.
        """


def best_labels(scores: Tensor, classes: Tensor) -> Tensor:
    """Return the labels of the highest scores ``(n, k)``, best first, ``(n, ≤ RANKS)``; of equal ones the first."""
    return classes[scores.argsort(dim=1, descending=True, stable=True)[:, :RANKS]]


def top_accuracy(ranked: Labels, labels: Labels) -> float:
    """Return how often the label is one of those ranked, in per cent."""
    return 100 * float((ranked == labels[:, None]).any(1).mean())


def accuracy(predicted: Labels, labels: Labels) -> Any:
    """Return the accuracy in per cent, over the last axis."""
    return 100 * (predicted == labels).mean(-1)


@contextmanager
def ignore_convergence() -> Iterator[None]:
    """Take what has not converged as it is, as the authors of the protocols do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
