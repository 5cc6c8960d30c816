"""Batch normalisation that can take the rows, or the pixels, of all processes for its batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from sfa import distributed as processes
from sfa.errors import InputError


class AcrossProcesses(_BatchNorm):
    r"""What turns a batch normalisation of PyTorch into one over all processes, where it is asked for.

    .. math::
        y = \frac{x - \mu}{\sqrt{v + \epsilon}}\, \gamma + \beta, \qquad
        \mu = \frac{1}{n} \sum_i x_i, \qquad v = \frac{1}{n} \sum_i (x_i - \mu)^2,

    in training with the sums over all processes (:mod:`sfa.distributed`), some of which may hold no rows. The running
    statistics are then the same on all, and those of one process. ``nn.SyncBatchNorm`` does this on GPUs only.
    """

    across_processes: bool = False
    """Normalise over the rows of all processes in training; :func:`sfa.distributed.enable_cross_rank` sets it."""

    def forward(self, input: Tensor) -> Tensor:
        """``(n, d, ...)`` normalised, in the dtype and memory format of the input; halves are widened to float32."""
        if not (self.across_processes and self.training and distributed.world_size() > 1):
            return super().forward(input)
        self._check_input_dim(input)  # type: ignore[no-untyped-call]
        x = input.to(torch.promote_types(input.dtype, torch.float32))
        over = [axis for axis in range(x.dim()) if axis != 1]
        n = int(distributed.all_reduce_sum(torch.tensor(x.numel() // x.shape[1], device=x.device)))
        if n < 2:
            raise InputError(f"Batch normalisation needs 2 or more rows on all processes together, not {n}.")
        mean = distributed.all_reduce_sum(x.sum(over)) / n
        centred = x - _along_channels(mean, x)
        variance = distributed.all_reduce_sum(centred.square().sum(over)) / n
        self._track(mean.detach(), variance.detach() * n / (n - 1))
        scale = (variance + self.eps).rsqrt()
        if not self.affine:
            return (centred * _along_channels(scale, x)).to(input.dtype)
        y = centred * _along_channels(scale * self.weight, x) + _along_channels(self.bias, x)
        return y.to(input.dtype)

    @torch.no_grad()
    def _track(self, mean: Tensor, variance: Tensor) -> None:
        """Move the running statistics towards those of a batch, as PyTorch does."""
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked.add_(1)
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_(variance.to(self.running_var.dtype), share)


class BatchNorm(AcrossProcesses, nn.BatchNorm1d):
    """``nn.BatchNorm1d`` of ``(n, d)`` or ``(n, d, l)``, to the bit and in its state, or over all processes."""


class BatchNorm2d(AcrossProcesses, nn.BatchNorm2d):
    """``nn.BatchNorm2d`` of ``(n, d, height, width)``, to the bit and in its state, or over all processes."""


def _along_channels(values: Tensor, x: Tensor) -> Tensor:
    return values.view(-1, *[1] * (x.dim() - 2))
