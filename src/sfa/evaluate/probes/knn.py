"""Probes without weights: the nearest training rows vote, and their number is chosen on validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sfa.evaluate.probes.base import Labels, Prediction, Probe, best_labels, choose
from sfa.evaluate.splits import Split
from sfa.ranges import check_number

BATCH_NUMBERS = 2**24
"""Similarities and votes that are held at a time."""


@dataclass(frozen=True)
class KNNProbe(Probe):
    """The label that most of the ``k`` nearest training rows have; of equally frequent ones the first.

    On rows of length one the nearest are those with the largest cosine. Of equally good ``k`` the smallest is taken;
    those above the size of the training part are left out.

    Attributes:
        ks: Numbers of neighbors to choose from.
        unit_rows: Whether embeddings are brought to rows of length one first.
    """

    ks: tuple[int, ...] = (1, 3, 5, 10, 20, 50)
    unit_rows: bool = True

    def predict_split(self, z: Tensor, y: Labels, split: Split, number: int) -> Prediction:
        ks = [k for k in sorted(self.ks) if k <= len(split.train)]
        rows, labels = z[split.train], torch.from_numpy(y[split.train])
        votes = nearest_votes(z[split.validation], rows, labels, ks)
        best, validation = choose(votes.numpy(), y[split.validation])
        (test,) = nearest_votes(z[split.test], rows, labels, [ks[best]]).numpy()
        return Prediction(test, ks[best], validation)


@dataclass(frozen=True)
class WeightedKNNProbe(Probe):
    r"""The class with the largest sum of weighted votes of the ``k`` nearest training rows.

    From `"Unsupervised Feature Learning via Non-Parametric Instance-level Discrimination"
    <https://arxiv.org/abs/1805.01978>`_ (Wu et al., 2018):

    .. math::
        s_c(z) = \sum_{i \in N_k(z)} e^{\cos(z, z_i) / T} \, [y_i = c]

    with the ``k`` training rows :math:`N_k` of the largest cosine. Of equally good ``k`` the smallest is taken; one
    above the size of the training part stands for all of it. A class that none of the neighbors has is not ranked.

    Attributes:
        ks: Numbers of neighbors to choose from.
        temperature: ``T``.
    """

    ks: tuple[int, ...] = (10, 20, 50, 100, 200)
    temperature: float = 0.07

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature, above=0)

    def predict_split(self, z: Tensor, y: Labels, split: Split, number: int) -> Prediction:
        ks = sorted({min(k, len(split.train)) for k in self.ks})
        rows, labels = z[split.train], torch.from_numpy(y[split.train])
        ranked = weighted_votes(z[split.validation], rows, labels, ks, self.temperature)
        best, validation = choose(ranked[..., 0].numpy(), y[split.validation])
        (test,) = weighted_votes(z[split.test], rows, labels, [ks[best]], self.temperature).numpy()
        return Prediction(test[:, 0], ks[best], validation, test)


def nearest_votes(queries: Tensor, rows: Tensor, labels: Tensor, ks: Sequence[int]) -> Tensor:
    """Return the label ``(len(ks), queries)`` that most of each query's ``k`` nearest rows have, for every ``k``."""
    classes = torch.unique(labels)
    votes = one_hot(torch.searchsorted(classes, labels), len(classes))
    half_squares = rows.square().sum(1) / 2  # |q - r|² falls as q·r - |r|²/2 rises
    places, most = torch.tensor(ks) - 1, max(ks)
    pieces = nearest_rows(queries, rows, most, half_squares, numbers=most * len(classes))
    found: Tensor = classes[torch.cat([votes[nearest].cumsum(1)[:, places].argmax(2) for _, nearest in pieces])]
    return found.mT


def weighted_votes(queries: Tensor, rows: Tensor, labels: Tensor, ks: Sequence[int], temperature: float) -> Tensor:
    """Return for every ``k``, ascending, the labels with the largest votes, best first, ``(len(ks), m, ≤ RANKS)``.

    Queries ``(m, d)`` and rows ``(n, d)``, which have the labels, are of length one.
    """
    classes = torch.unique(labels)
    target, no_shift = torch.searchsorted(classes, labels), rows.new_zeros(len(rows))
    pieces = []
    for cosines, nearest in nearest_rows(queries, rows, ks[-1], no_shift, numbers=len(classes)):
        # Relative to the nearest, which scales all sums of a query: no temperature makes them overflow, or all vanish.
        weights = ((cosines - cosines[:, :1]).double() / temperature).exp()
        sums = weights.new_zeros(len(nearest), len(classes))
        ranked = []
        for start, end in pairwise([0, *ks]):
            sums.scatter_add_(1, target[nearest[:, start:end]], weights[:, start:end])
            best = best_labels(sums, torch.arange(len(classes)))
            ranked.append(classes[best].where(sums.gather(1, best) > 0, -1))
        pieces.append(torch.stack(ranked))
    return torch.cat(pieces, 1)


def nearest_rows(
    queries: Tensor, rows: Tensor, most: int, shift: Tensor, *, numbers: int
) -> Iterator[tuple[Tensor, Tensor]]:
    r"""Yield for pieces of the queries the ``most`` largest :math:`q \cdot r - s_r`, best first, and their rows.

    Both are ``(piece, most)``. The shift ``s`` ``(n,)`` is half the squared length of the rows ``(n, d)`` for Euclidean
    distance and 0 for inner products; ``numbers`` says how many numbers the caller holds for each query at a time.
    """
    for piece in torch.split(queries, max(1, BATCH_NUMBERS // max(len(rows), numbers))):
        largest = torch.addmm(shift, piece, rows.mT, beta=-1).topk(most, 1)
        yield largest.values, largest.indices
