"""Layers of encoders and heads: activations and dropout that draw from a generator, and batch normalization."""

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from sfa import distributed
from sfa.errors import InputError, unknown_name
from sfa.matrices import csr_matrix
from sfa.nn.sparse import feature_product

DRAWS = 1 << 16
"""Random numbers that are drawn at a time: 512 KB, which stay in the cache."""


class RandomizedReLU(nn.Module):
    """RReLU with slopes from 1/8 to 1/3, drawn from a generator and not from the global one as PyTorch's are."""

    def forward(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        lower, upper = 1 / 8, 1 / 3
        if not self.training:
            return nn.functional.leaky_relu(x, (lower + upper) / 2)
        slope = torch.empty_like(x).uniform_(lower, upper, generator=generator)
        return torch.where(x >= 0, x, slope * x)


class PReLU(nn.PReLU):
    """PyTorch's PReLU with a faster backward pass on processors, equal to the bit."""

    def forward(self, input: Tensor) -> Tensor:
        is_plain = input.device.type != "cpu" or self.num_parameters > 1
        return super().forward(input) if is_plain else _PReLU.apply(input, self.weight)  # type: ignore[no-untyped-call]


class _PReLU(torch.autograd.Function):
    """PyTorch's own backward pass decides entry by entry, which a processor cannot predict; here nothing branches."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> Tensor:
        return nn.functional.prelu(x, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        x, weight = inputs
        ctx.save_for_backward(x.to(output.dtype), weight.to(output.dtype))  # autocast narrows both

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        (grad,), (x, weight) = grads, ctx.saved_tensors
        sign = (x > 0).to(x.dtype).mul_(2).sub_(1)
        slope = nn.functional.prelu(sign, weight).mul_(sign)  # 1 or the weight
        return slope * grad, (x.clamp_max(0) * grad).sum().view(1)


Activation = Literal["relu", "prelu", "rrelu", "elu"]

ACTIVATIONS = {"relu": nn.ReLU, "prelu": PReLU, "rrelu": RandomizedReLU, "elu": nn.ELU}


def make_activation(name: Activation) -> nn.Module:
    if name not in ACTIVATIONS:
        raise unknown_name("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]()  # type: ignore[no-any-return]


def activate(activation: nn.Module, x: Tensor, generator: torch.Generator | None) -> Tensor:
    """Apply an activation, and pass the generator to the one kind that draws."""
    result: Tensor = activation(x, generator) if isinstance(activation, RandomizedReLU) else activation(x)
    return result


def dropout(x: Tensor, rate: float, generator: torch.Generator | None = None) -> Tensor:
    """Set each entry (of a CSR matrix each stored value) to 0 with probability ``rate``, and scale the others up."""
    if not 0 <= rate <= 1:
        raise InputError(f"A dropout rate is a probability from 0 to 1, not {rate}.")
    if rate == 0:
        return x
    if x.layout == torch.sparse_csr:
        values = dropout(x.values(), rate, generator)
        return csr_matrix(x.crow_indices(), x.col_indices(), values, (x.shape[0], x.shape[1]))
    kept = draw_kept(x, 1 - rate, generator)
    return x * (kept if rate == 1 else kept.div_(1 - rate))


def draw_kept(like: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Draw ones with this probability, and else zeros, in the shape and dtype of a tensor.

    On CPUs they come from float64 numbers of the generator, alike on all; ``bernoulli_`` takes more than twice as long,
    and on some CPUs draws from another generator.
    """
    kept = torch.empty(like.shape, dtype=like.dtype, device=like.device)
    if like.device.type != "cpu":
        return kept.bernoulli_(share, generator=generator)
    for part in torch.split(kept.view(-1), DRAWS):
        draws = torch.rand(len(part), dtype=torch.float64, generator=generator, device=like.device)
        torch.lt(draws, share, out=part)
    return kept


class Linear(nn.Module):
    """Compute ``x W + b`` of features ``x`` that may be CSR; Xavier-initialized."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return feature_product(x, self.weight, mask) + self.bias


def init_xavier_(module: nn.Module) -> None:
    """Draw new weights of all ``nn.Linear`` of a module by Xavier's rule, in place; biases become 0."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            nn.init.zeros_(part.bias)


def check_sizes(hidden: int, layers: int) -> None:
    if hidden < 1 or layers < 1:
        raise InputError(f"An encoder needs hidden ≥ 1 and layers ≥ 1, not {hidden} and {layers}.")


def check_batch_size(encoder: Any, rows: int, what: str) -> None:
    """Raise if an encoder in training would normalize a batch of a single row, and no other process adds rows."""
    alone = not (encoder.across_processes and distributed.world_size() > 1)
    if encoder.training and alone and rows < 2:
        raise InputError(f"Batch normalization needs 2 or more {what} to train on, not {rows}: take larger batches.")


class AcrossProcesses(_BatchNorm):
    """A batch normalization of PyTorch that can use the statistics of all processes, some of which may hold no rows.

    The running statistics are then the same on all. ``nn.SyncBatchNorm`` does this on GPUs only.
    """

    across_processes: bool = False  # set by sfa.distributed.enable_cross_rank

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``(n, d, ...)`` in the dtype and memory format of the input; halves are widened to float32."""
        if not (self.across_processes and self.training and distributed.world_size() > 1):
            return super().forward(input)
        self._check_input_dim(input)  # type: ignore[no-untyped-call]
        x = input.to(torch.promote_types(input.dtype, torch.float32))
        over = [axis for axis in range(x.dim()) if axis != 1]
        channels = (-1, *[1] * (x.dim() - 2))
        n = int(distributed.all_reduce_sum(torch.tensor(x.numel() // x.shape[1], device=x.device)))
        if n < 2:
            raise InputError(f"Batch normalization needs 2 or more rows on all processes together, not {n}.")
        mean = distributed.all_reduce_sum(x.sum(over)) / n
        centered = x - mean.view(channels)
        variance = distributed.all_reduce_sum(centered.square().sum(over)) / n
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            weight = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
            self.running_mean.lerp_(mean.detach().to(self.running_mean.dtype), weight)
            self.running_var.lerp_((variance.detach() * n / (n - 1)).to(self.running_var.dtype), weight)
        scale = (variance + self.eps).rsqrt()
        if not self.affine:
            return (centered * scale.view(channels)).to(input.dtype)
        return (centered * (scale * self.weight).view(channels) + self.bias.view(channels)).to(input.dtype)


class BatchNorm(AcrossProcesses, nn.BatchNorm1d):
    """``nn.BatchNorm1d`` of ``(n, d)`` or ``(n, d, l)``, with the same state, or over all processes."""


class BatchNorm2d(AcrossProcesses, nn.BatchNorm2d):
    """``nn.BatchNorm2d`` of ``(n, d, height, width)``, with the same state, or over all processes."""
