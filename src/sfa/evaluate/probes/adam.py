"""PyGCL's probe: logistic regression without a penalty, trained by Adam and stopped where validation is best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot

from sfa.evaluate.probes.base import Prediction, Probe, accuracy
from sfa.evaluate.splits import Split
from sfa.seeding import derive_seed

SPLITS_TOGETHER = 5
"""Splits in a batch: enough to hide Python's time, few enough to show progress."""
BATCH_BYTES = 2**28
"""A batch whose training rows need more is made smaller, down to one split."""
ROWS_TOGETHER = 2**14
"""Rows that are classified at a time."""
BETAS, EPSILON = (0.9, 0.999), 1e-8


@dataclass(frozen=True)
class AdamProbe(Probe):
    r"""Softmax regression by full-batch Adam; of the steps looked at, the first with the best validation accuracy.

    .. math::
        \min_{W, b} \; -\frac1n \sum_i \log \operatorname{softmax}(W z_i + b)_{y_i}

    There is no penalty: stopping early is the regularisation. ``W`` starts from Xavier's uniform distribution, ``b``
    from torch's own, both drawn for each split anew.

    Attributes:
        steps: Of Adam.
        lr: Its rate.
        every: Steps between two looks at the validation part.
        unit_rows: Whether embeddings are brought to rows of length one first.
        seed: Of the initial weights.
    """

    steps: int = 5000
    lr: float = 0.01
    every: int = 20
    unit_rows: bool = False
    seed: int = 0

    def predict(
        self, z: Tensor, y: NDArray[np.int64], splits: Sequence[Split], on_split: Callable[[], None]
    ) -> Iterator[Prediction]:
        z, classes, numbered = z.float(), np.unique(y[y >= 0]), list(enumerate(splits))
        together = _splits_together(splits, z.shape[1])
        for start in range(0, len(splits), together):
            numbers, batch = zip(*numbered[start : start + together], strict=True)
            for prediction in self._predict(z, y, classes, batch, [(self.seed, number) for number in numbers]):
                on_split()
                yield prediction

    @torch.no_grad()
    def _predict(
        self,
        z: Tensor,
        y: NDArray[np.int64],
        classes: NDArray[np.int64],
        splits: Sequence[Split],
        seeds: Sequence[tuple[int, int]],
    ) -> list[Prediction]:
        """All splits of a batch; their training parts have one size."""
        x = torch.stack([z[torch.from_numpy(split.train)] for split in splits])
        target = torch.from_numpy(np.searchsorted(classes, np.stack([y[split.train] for split in splits])))
        w, b = initial_weights(z.shape[1], len(classes), seeds)
        descent = Descent(w, b, x, one_hot(target, len(classes)).float(), self.lr)
        chosen = [Prediction(np.empty(0, np.int64), 0, -1.0) for _ in splits]
        for step in range(1, self.steps + 1):
            descent.step()
            if step % self.every != 0:
                continue
            for i, (split, found) in enumerate(zip(splits, classes[_likeliest(z, w, b)], strict=True)):
                validation = float(accuracy(found[split.validation], y[split.validation]))
                if validation > chosen[i].validation:
                    chosen[i] = Prediction(found[split.test], step, validation)
        return chosen


def _splits_together(splits: Sequence[Split], features: int) -> int:
    """How many splits a batch has: one, if their training parts differ in size."""
    sizes = {len(split.train) for split in splits}
    return max(1, min(SPLITS_TOGETHER, BATCH_BYTES // (4 * max(sizes) * features))) if len(sizes) == 1 else 1


def initial_weights(features: int, classes: int, seeds: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Weights ``(splits, d, k)`` after Glorot and Bengio (2010) and biases ``(splits, 1, k)`` within ``± 1/√d``."""
    w, b = torch.empty(len(seeds), features, classes), torch.empty(len(seeds), 1, classes)
    for i, seed in enumerate(seeds):
        generator = torch.Generator().manual_seed(derive_seed(*seed))
        torch.nn.init.xavier_uniform_(w[i], generator=generator)
        b[i].uniform_(-1 / math.sqrt(features), 1 / math.sqrt(features), generator=generator)
    return w, b


class Descent:
    """Adam (Kingma and Ba, 2015) on the mean cross-entropy of several linear classifiers at once, in place.

    Args:
        w: Weights ``(splits, d, k)``.
        b: Biases ``(splits, 1, k)``.
        x: Training rows ``(splits, n, d)``.
        target: One-hot labels ``(splits, n, k)``.
        lr: Rate.
    """

    def __init__(self, w: Tensor, b: Tensor, x: Tensor, target: Tensor, lr: float) -> None:
        self.w, self.b, self.x, self.target, self.lr = w, b, x, target, lr
        self.moments = [(torch.zeros_like(t), torch.zeros_like(t)) for t in (w, b)]
        self.steps = 0

    def step(self) -> None:
        """The gradient is ``Xᵀ (p - y) / n``."""
        residual = torch.baddbmm(self.b, self.x, self.w).softmax(2).sub_(self.target).div_(self.x.shape[1])
        gradients = self.x.mT @ residual, residual.sum(1, keepdim=True)
        self.steps += 1
        corrections = [1 - beta**self.steps for beta in BETAS]
        for t, gradient, (first, second) in zip((self.w, self.b), gradients, self.moments, strict=True):
            first.lerp_(gradient, 1 - BETAS[0])
            second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
            size = second.sqrt().div_(math.sqrt(corrections[1])).add_(EPSILON)
            t.addcdiv_(first, size, value=-self.lr / corrections[0])


def _likeliest(z: Tensor, w: Tensor, b: Tensor) -> NDArray[np.int64]:
    """Positions ``(splits, n)`` of the classes with the highest scores: one product for all splits, of all rows."""
    side_by_side = w.movedim(0, 1).flatten(1)
    pieces = [
        (rows @ side_by_side).view(-1, len(w), w.shape[2]).add_(b[:, 0]) for rows in torch.split(z, ROWS_TOGETHER)
    ]
    likeliest: NDArray[np.int64] = torch.cat([scores.argmax(2) for scores in pieces]).mT.numpy()
    return likeliest
