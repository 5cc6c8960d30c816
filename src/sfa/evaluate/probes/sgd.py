"""The probe of published image evaluations: a linear classifier by SGD, with its learning rate chosen on validation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sfa.evaluate.probes.base import ROWS_TOGETHER, Labels, OnSplit, Prediction, Probe, accuracy, best_labels
from sfa.evaluate.splits import Split
from sfa.ranges import check_number, check_whole
from sfa.seeding import derive_seed

DECAY = 0.1


@dataclass(frozen=True)
class SgdProbe(Probe):
    """Softmax regression on the rows as they are by SGD with momentum, without a penalty; the last weights count.

    The offline linear evaluation of self-supervised image encoders, with the settings of solo-learn (da Costa et al.,
    2022) but for their views of the training images: frozen features are computed once. There each method has a rate of
    its own, from 0.1 to 30, as the sizes of features differ; here all rates are trained side by side on the same
    batches, from the same weights, and of equally good ones the smallest is taken.

    Attributes:
        lrs: Learning rates to choose from.
        epochs: Passes over the training part, each in a random order of its own.
        batch_size: Rows of a step; an epoch's last step has what remains.
        momentum: Momentum of SGD.
        milestones: After so many epochs the rate falls to a tenth of what it was.
        unit_rows: Whether embeddings are brought to rows of length one first.
        seed: Seed of weights and orders; split ``i`` depends on ``(seed, i)``.
    """

    lrs: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    epochs: int = 100
    batch_size: int = 256
    momentum: float = 0.9
    milestones: tuple[int, ...] = (60, 80)
    unit_rows: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("epochs", self.epochs, 1)
        check_whole("batch_size", self.batch_size, 1)
        for lr in self.lrs:
            check_number("lrs", lr, above=0)

    @torch.no_grad()
    def predict(self, z: Tensor, y: Labels, splits: Sequence[Split], on_split: OnSplit) -> Iterator[Prediction]:
        z, lrs = z.float(), sorted(self.lrs)
        for number, split in enumerate(splits):
            classes, target = np.unique(y[split.train], return_inverse=True)
            generator = torch.Generator().manual_seed(derive_seed(self.seed, number))
            fitted = self.fit(z[split.train], torch.from_numpy(target), len(classes), lrs, generator)
            pieces = torch.split(z[split.validation], ROWS_TOGETHER)
            labels = classes[torch.cat([fitted.scores(piece).argmax(2) for piece in pieces]).mT.numpy()]
            validation = accuracy(labels, y[split.validation])
            best = int(validation.argmax())
            pieces = torch.split(z[split.test], ROWS_TOGETHER)
            known = torch.from_numpy(classes)
            ranked = torch.cat([best_labels(fitted.scores(piece)[:, best], known) for piece in pieces]).numpy()
            on_split()
            yield Prediction(ranked[:, 0], lrs[best], float(validation[best]), ranked)

    def fit(
        self, x: Tensor, target: Tensor, classes: int, lrs: Sequence[float], generator: torch.Generator
    ) -> LinearClassifiers:
        """Fit a classifier for each rate to rows ``(n, d)`` and their classes ``(n,)``."""
        fitted = LinearClassifiers(x.shape[1], len(lrs), classes, momentum=self.momentum, generator=generator)
        for epoch in range(self.epochs):
            rates = torch.tensor(lrs).unsqueeze(1) * DECAY ** sum(epoch >= milestone for milestone in self.milestones)
            for batch in torch.split(torch.randperm(len(x), generator=generator), self.batch_size):
                rows, labels = x[batch], target[batch]
                w, b = fitted.gradients(rows, fitted.scores(rows), labels)
                fitted.step((w / len(batch), b / len(batch)), rates)
        return fitted


class LinearClassifiers:
    r"""Several softmax classifiers of the same rows and the momentum of each; a step of all is two matrix products.

    .. math::
        v \leftarrow \mu v + \nabla_W \Big( {-\tfrac1n} \sum_i \log \operatorname{softmax}(W^\top x_i + b)_{y_i} \Big),
        \qquad W \leftarrow W - \eta v,

    and likewise for the biases: the momentum of ``torch.optim.SGD``.

    Args:
        features: ``d``.
        count: How many classifiers, ``m``. They begin with the same weights.
        classes: ``k``.
        momentum: ``μ``.
        generator: Source of the first weights and biases, uniform within ``± 1/√d`` as those of ``torch.nn.Linear``.
    """

    def __init__(self, features: int, count: int, classes: int, *, momentum: float, generator: torch.Generator) -> None:
        bound = 1 / math.sqrt(features)
        first = torch.empty(features + 1, classes).uniform_(-bound, bound, generator=generator)
        self.w = first[:-1].unsqueeze(1).repeat(1, count, 1)  # (d, m, k)
        self.b = first[-1].repeat(count, 1)  # (m, k)
        self.velocities = torch.zeros_like(self.w), torch.zeros_like(self.b)
        self.momentum = momentum

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores ``(n, m, k)`` of rows ``(n, d)``."""
        return torch.addmm(self.b.flatten(), x, self.w.flatten(1)).view(-1, *self.b.shape)

    def gradients(self, x: Tensor, scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of the summed cross-entropy by weights and biases: ``Xᵀ (p - y)`` and ``1ᵀ (p - y)``.

        Rows ``x`` ``(n, d)`` have the :meth:`scores` and the classes ``target`` ``(n,)``.
        """
        residual = scores.softmax(2)
        residual[torch.arange(len(x), device=x.device), :, target] -= 1
        return (x.mT @ residual.flatten(1)).view_as(self.w), residual.sum(0)

    def step(self, gradients: tuple[Tensor, Tensor], lrs: Tensor) -> None:
        """Take a step down mean gradients, at a rate for each classifier, ``(m, 1)``."""
        for parameter, velocity, gradient in zip((self.w, self.b), self.velocities, gradients, strict=True):
            velocity.mul_(self.momentum).add_(gradient)
            parameter.sub_(lrs * velocity)

    def tensors(self) -> dict[str, Tensor]:
        """Return all that a step changes, by name."""
        velocity_w, velocity_b = self.velocities
        return {"w": self.w, "b": self.b, "velocity_w": velocity_w, "velocity_b": velocity_b}

    def to(self, device: torch.device) -> None:
        self.w, self.b = self.w.to(device), self.b.to(device)
        self.velocities = self.velocities[0].to(device), self.velocities[1].to(device)
