"""Batch normalisation that can take the rows of all processes for its batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sfa import processes
from sfa.errors import InputError


class BatchNorm(nn.BatchNorm1d):
    r"""``nn.BatchNorm1d``, to the bit and in its state; with :attr:`across_processes`, over the rows of all processes.

    .. math::
        y = \frac{x - \mu}{\sqrt{v + \epsilon}}\, \gamma + \beta, \qquad
        \mu = \frac{1}{n} \sum_i x_i, \qquad v = \frac{1}{n} \sum_i (x_i - \mu)^2,

    in training with the sums over all processes (:mod:`sfa.processes`), some of which may hold no rows. The running
    statistics are then the same on all, and those of one process. ``nn.SyncBatchNorm`` does this on GPUs only.
    """

    across_processes: bool = False
    """Normalise over the rows of all processes in training; :func:`sfa.processes.synchronise` sets it."""

    def forward(self, input: Tensor) -> Tensor:
        """``(n, d)`` or ``(n, d, l)`` normalised, in the dtype of the input; half precision is widened to float32."""
        if not (self.across_processes and self.training and processes.count() > 1):
            return super().forward(input)
        self._check_input_dim(input)
        x = input.to(torch.promote_types(input.dtype, torch.float32)).movedim(1, -1)
        rows = x.reshape(-1, x.shape[-1])
        n = processes.count_rows(rows)
        if n < 2:
            raise InputError(f"Batch normalisation needs 2 or more rows on all processes together, not {n}.")
        mean = processes.all_reduce_sum(rows.sum(0)) / n
        variance = processes.all_reduce_sum((rows - mean).square().sum(0)) / n
        self._track(mean.detach(), variance.detach() * n / (n - 1))
        y = (x - mean) * (variance + self.eps).rsqrt()
        if self.affine:
            y = y * self.weight + self.bias
        return y.movedim(-1, 1).to(input.dtype)

    @torch.no_grad()
    def _track(self, mean: Tensor, variance: Tensor) -> None:
        """Move the running statistics towards those of a batch, as ``nn.BatchNorm1d`` does."""
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked.add_(1)
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_(variance.to(self.running_var.dtype), share)
