"""Products of float32 matrices by the faster of PyTorch's two libraries.

PyTorch multiplies in float32 by MKL, which has no AVX-512 code for processors of AMD. Its other library, oneDNN, has,
and takes half the time there. But it makes code for each new shape, which takes a millisecond and half a megabyte, so
that it is taken only :func:`where shapes repeat <shapes_repeat>`. Everywhere else, on other processors, and for other
types, all is PyTorch's own ``a @ b``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

LEAST = 1 << 21  # multiplications from which the call, some microseconds, pays
LEAST_SIDE = 128  # of a matrix that has to be transposed first

_shapes_repeat = False


@contextmanager
def shapes_repeat(do: bool = True) -> Iterator[None]:
    """Allow oneDNN inside, where matrices have few shapes: in training on a whole graph or in batches of one size."""
    global _shapes_repeat
    before, _shapes_repeat = _shapes_repeat, do
    try:
        yield
    finally:
        _shapes_repeat = before


@cache
def prefers_onednn() -> bool:
    """Tell whether this process runs on a processor for which MKL has no AVX-512 code and oneDNN has."""
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not (torch._C.has_mkl and torch._C._has_mkldnn):
        return False
    try:
        with Path("/proc/cpuinfo").open() as file:
            is_amd = any("AuthenticAMD" in line for _, line in zip(range(4), file, strict=False))
    except OSError:
        return False
    return is_amd and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def multiply(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """Compute ``a b`` of ``(n, k)`` and ``(k, m)`` without a gradient, in ``out`` if that saves memory."""
    return _by_onednn(a, b) if _suits(a, b) else torch.mm(a, b, out=out)


def add_product(x: Tensor, a: Tensor, b: Tensor, alpha: float = 1.0) -> Tensor:
    """Compute ``x + alpha a b`` without a gradient."""
    return torch.add(x, _by_onednn(a, b), alpha=alpha) if _suits(a, b) else torch.addmm(x, a, b, alpha=alpha)


def add_product_(total: Tensor, a: Tensor, b: Tensor) -> None:
    """Add ``a b`` to a matrix in place, without a gradient."""
    if _suits(a, b):
        total += _by_onednn(a, b)
    else:
        total.addmm_(a, b)


def product(a: Tensor, b: Tensor) -> Tensor:
    """Compute ``a b``, with gradients."""
    if torch.is_autocast_enabled("cpu") or not _suits(a, b):
        return a @ b
    return _Product.apply(a, b)  # type: ignore[no-any-return, no-untyped-call]


def _suits(a: Tensor, b: Tensor) -> bool:
    """Tell whether oneDNN multiplies two matrices sooner; the compiler and torch.func do not know its operator."""
    if not _shapes_repeat or torch.compiler.is_compiling() or is_wrapped(a, b):
        return False
    for x in (a, b):
        if x.dtype != torch.float32 or x.dim() != 2 or x.device.type != "cpu" or x.layout != torch.strided:
            return False
    if a.numel() * b.shape[1] < LEAST:
        return False
    return (a.stride(1) == 1 or min(*a.shape, b.shape[1]) >= LEAST_SIDE) and prefers_onednn()


def is_wrapped(*tensors: Tensor) -> bool:
    """Tell whether vmap, or another function of torch.func, acts on any of the tensors."""
    return any(torch._C._functorch.is_functorch_wrapped_tensor(x) for x in tensors)


def _by_onednn(a: Tensor, b: Tensor) -> Tensor:
    """Compute ``a b``, whose left side oneDNN wants in rows: of a transposed one ``(bᵀ aᵀ)ᵀ`` copies less."""
    linear = torch.ops.mkldnn._linear_pointwise  # (x, w) -> x wᵀ
    a, b = _without_gaps(a), _without_gaps(b)
    if a.stride(1) != 1 and b.numel() < a.numel():
        return linear(b.mT.contiguous(), a, None, "none", [], "").mT  # type: ignore[no-any-return]
    return linear(a, b.mT, None, "none", [], "")  # type: ignore[no-any-return]


def _without_gaps(x: Tensor) -> Tensor:
    """Return a matrix whose rows or columns follow each other in memory; oneDNN has only loops for others."""
    return x if x.is_contiguous() or x.mT.is_contiguous() else x.contiguous()


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return _by_onednn(a, b)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (grad,), (a, b) = grads, ctx.saved_tensors
        needs_a, needs_b = ctx.needs_input_grad
        return product(grad, b.mT) if needs_a else None, product(a.mT, grad) if needs_b else None


class DenseLinear(nn.Linear):
    """PyTorch's linear layer, by :func:`product`."""

    def forward(self, input: Tensor) -> Tensor:
        if torch.is_autocast_enabled("cpu") or not _suits(input, self.weight.mT):
            return super().forward(input)
        y = product(input, self.weight.mT)
        return y if self.bias is None else y + self.bias
