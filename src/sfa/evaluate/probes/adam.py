"""PyGCL's probe: logistic regression without a penalty, trained by Adam and stopped where validation is best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sfa.evaluate.probes.base import ROWS_TOGETHER, Labels, OnSplit, Prediction, Probe, accuracy
from sfa.evaluate.splits import Split
from sfa.seeding import derive_seed

SPLITS_TOGETHER = 5
"""Splits in a batch: enough to hide Python's time, few enough to show progress."""
BATCH_BYTES = 2**28
"""A batch whose training rows need more is made smaller, down to one split."""


@dataclass(frozen=True)
class AdamProbe(Probe):
    r"""Softmax regression by full-batch Adam; of the steps looked at, the first with the best validation accuracy.

    .. math::
        \min_{W, b} \; -\frac1n \sum_i \log \operatorname{softmax}(W z_i + b)_{y_i}

    There is no penalty: stopping early is the regularization. ``W`` starts from Xavier's uniform distribution, ``b``
    from torch's own, both drawn for each split anew.

    Attributes:
        steps: Steps of Adam.
        lr: Its learning rate.
        every: Steps between two looks at the validation part.
        unit_rows: Whether embeddings are brought to rows of length one first.
        seed: Seed of the initial weights.
    """

    steps: int = 5000
    lr: float = 0.01
    every: int = 20
    unit_rows: bool = False
    seed: int = 0

    def predict(self, z: Tensor, y: Labels, splits: Sequence[Split], on_split: OnSplit) -> Iterator[Prediction]:
        z, sizes = z.float(), {len(split.train) for split in splits}
        together = 1  # training parts that differ in size are no batch
        if len(sizes) == 1:
            together = max(1, min(SPLITS_TOGETHER, BATCH_BYTES // (4 * max(sizes) * z.shape[1])))
        for first in range(0, len(splits), together):
            for prediction in self._predict_batch(z, y, splits[first : first + together], first):
                on_split()
                yield prediction

    @torch.no_grad()
    def _predict_batch(self, z: Tensor, y: Labels, splits: Sequence[Split], first: int) -> list[Prediction]:
        classes = np.unique(y[y >= 0])
        x = torch.stack([z[split.train] for split in splits])
        labels = torch.from_numpy(np.searchsorted(classes, np.stack([y[split.train] for split in splits])))
        target = one_hot(labels, len(classes)).float()
        w, b = initial_weights(z.shape[1], len(classes), [(self.seed, first + i) for i in range(len(splits))])
        optimizer = torch.optim.Adam([w, b], lr=self.lr)
        chosen = [Prediction(np.empty(0, np.int64), 0, -1.0) for _ in splits]
        for step in range(1, self.steps + 1):
            w.grad, b.grad = softmax_gradients(w, b, x, target)
            optimizer.step()
            if step % self.every != 0:
                continue
            for i, (split, found) in enumerate(zip(splits, classes[_likeliest(z, w, b)], strict=True)):
                validation = float(accuracy(found[split.validation], y[split.validation]))
                if validation > chosen[i].validation:
                    chosen[i] = Prediction(found[split.test], step, validation)
        return chosen


def initial_weights(features: int, classes: int, seeds: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Draw weights ``(splits, d, k)`` after Glorot and Bengio (2010), biases ``(splits, 1, k)`` within ``± 1/√d``."""
    w, b = torch.empty(len(seeds), features, classes), torch.empty(len(seeds), 1, classes)
    for i, seed in enumerate(seeds):
        generator = torch.Generator().manual_seed(derive_seed(*seed))
        torch.nn.init.xavier_uniform_(w[i], generator=generator)
        b[i].uniform_(-1 / math.sqrt(features), 1 / math.sqrt(features), generator=generator)
    return w, b


def softmax_gradients(w: Tensor, b: Tensor, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of the mean cross-entropy, ``Xᵀ (p - y) / n`` and ``1ᵀ (p - y) / n``, a split each.

    Shapes are ``(splits, d, k)``, ``(splits, 1, k)``, ``(splits, n, d)`` and, of one-hot labels, ``(splits, n, k)``.
    """
    residual = torch.baddbmm(b, x, w).softmax(2).sub_(target).div_(x.shape[1])
    return x.mT @ residual, residual.sum(1, keepdim=True)


def _likeliest(z: Tensor, w: Tensor, b: Tensor) -> Labels:
    """Return the positions ``(splits, n)`` of the classes with the highest scores: one product for all splits."""
    side_by_side = w.movedim(0, 1).flatten(1)
    scores = ((rows @ side_by_side).view(-1, *w.shape[::2]).add_(b[:, 0]) for rows in torch.split(z, ROWS_TOGETHER))
    likeliest: Labels = torch.cat([piece.argmax(2) for piece in scores]).mT.numpy()
    return likeliest
