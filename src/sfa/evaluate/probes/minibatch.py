"""A linear probe of embeddings that do not fit in memory: softmax regression by mini-batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from sfa.evaluate.logistic_regression import split_rows
from sfa.evaluate.probes.base import Labels, Prediction, Probe, choose
from sfa.evaluate.probes.linear import LinearClassifiers, LogisticProbe
from sfa.evaluate.splits import Split
from sfa.graph.structure import take_rows
from sfa.matrices import unit_rows
from sfa.ranges import check_number, check_whole
from sfa.seeding import derive_seed


@dataclass(frozen=True)
class MiniBatchProbe(Probe):
    r"""The optimum that :class:`LogisticProbe` finds, approached by a fixed number of steps of Adam on batches.

    .. math::
        \min_{W, b} \; -\frac1n \sum_i \log \operatorname{softmax}\big(W (z_i - \mu) / \sigma + b\big)_{y_i}
        + \frac{1}{2 C n \sigma^2} \lVert W \rVert_F^2

    The mean row :math:`\mu` and the deviation :math:`\sigma` of all entries are those of the training part; a deviation
    for each column would be another penalty. The rate falls from ``lr`` to 0 along a cosine. All values of ``C`` are
    fitted side by side in float32, on the same batches; of equally good ones the smallest is taken. Rows are read in
    ascending order, a batch or a piece of the table at a time.
    """

    cs: tuple[float, ...] = LogisticProbe.cs
    steps: int = 1000
    batch_size: int = 4096
    lr: float = 0.05
    unit_rows: bool = True
    seed: int = 0
    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("steps", self.steps, 1)
        check_whole("batch_size", self.batch_size, 1)
        check_number("lr", self.lr, above=0)

    @torch.no_grad()
    def predict_split(self, z: Tensor, y: Labels, split: Split, number: int) -> Prediction:
        cs, (train, width) = sorted(self.cs), (np.sort(split.train), z.shape[1])
        classes, target = np.unique(y[train], return_inverse=True)
        rows, labels = torch.from_numpy(train), torch.from_numpy(target)
        mean, scale = torch.zeros(width, dtype=torch.float64), torch.ones(())

        def take(some: Tensor) -> Tensor:
            """Read some rows as the classifiers see them."""
            x = take_rows(z, some).to_dense().float()
            return ((unit_rows(x) if self.unit_rows else x) - mean.float()) / scale

        mean = torch.stack([take(piece).sum(0, dtype=torch.float64) for piece in split_rows(rows, width)]).sum(0)
        mean /= len(rows)
        squares = [take(piece).double().square().sum() for piece in split_rows(rows, width)]
        scale = (torch.stack(squares).sum() / (len(rows) * width)).sqrt().float()
        scale = scale.where(scale > 0, 1)

        generator = torch.Generator().manual_seed(derive_seed(self.seed, number))
        fitted = LinearClassifiers(width, len(cs), len(classes), momentum=0, generator=generator)
        optimizer = torch.optim.Adam([fitted.w, fitted.b], lr=self.lr, betas=(0.9, 0.99))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)
        batches = self._batches(len(rows), generator)
        # With two classes scikit-learn, and so LogisticProbe, has one vector of weights, with half the penalty of two.
        penalties = (1 + (len(classes) == 2)) / (len(rows) * scale**2 * torch.tensor(cs)[:, None])
        for _ in range(self.steps):
            batch = next(batches)
            x = take(rows[batch])
            w, b = fitted.gradients(x, fitted.scores(x), labels[batch])
            fitted.w.grad, fitted.b.grad = w / len(x) + penalties * fitted.w, b / len(x)
            optimizer.step()
            schedule.step()

        def predict(part: Labels, which: slice) -> Labels:
            """Return the labels that some of the classifiers give the rows of a part, ``(m, n)``."""
            order = part.argsort()
            w, b, found = fitted.w[:, which], fitted.b[which], np.empty((len(fitted.b[which]), len(part)), np.int64)
            pieces = (take(piece) for piece in split_rows(torch.from_numpy(part[order]), width))
            scores = (torch.addmm(b.flatten(), x, w.flatten(1)).view(-1, *b.shape) for x in pieces)
            found[:, order] = classes[torch.cat([piece.argmax(2) for piece in scores]).mT.numpy()]
            return found

        best, validation = choose(predict(split.validation, slice(None)), y[split.validation])
        (test,) = predict(split.test, slice(best, best + 1))
        return Prediction(test, cs[best], validation)

    def _batches(self, count: int, generator: torch.Generator) -> Iterator[Tensor]:
        """Yield ascending numbers below ``count``, epoch after epoch, each in random batches of about one size."""
        while True:
            for batch in torch.randperm(count, generator=generator).tensor_split(-(-count // self.batch_size)):
                yield batch.sort().values
