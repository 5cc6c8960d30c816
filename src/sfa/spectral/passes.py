"""Power iteration beyond Algorithm 1: on large maps, of several directions, in many passes, across processes."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sfa import distributed
from sfa.products import add_product, is_wrapped, multiply
from sfa.spectral.feature_map import STRIP, gram_matrix

Tensors = list[Tensor] | tuple[Tensor, ...]

LARGE = 2**23  # entries; smaller maps stay in the cache, or nearly so
BLOCK = 2**20  # entries of a block of rows, 4 MB in float32
NEGLIGIBLE = 100  # units of rounding; a shorter rest of a unit vector has no direction, and gradients would explode


class RankOneProduct(NamedTuple):
    """``W = (I - s Q₁ Q₁ᵀ) ⋯ (I - s Q_p Q_pᵀ)`` as ``I - s P Qᵀ``: two thin products make ``H W``.

    ``P_j`` is the product of the factors before times ``Q_j``. Kept as rows, both grow by a plain copy in a pass.
    """

    left: Tensor  # Pᵀ, (..., m, d)
    right: Tensor  # Qᵀ, (..., m, d)
    strength: float

    def followed_by(self, q: Tensor) -> "RankOneProduct":
        """Return this one times ``I - s Q Qᵀ``, for orthonormal columns ``Q`` ``(..., d, q)``."""
        left, right = torch.cat([self.left, self.times(q).mT], dim=-2), torch.cat([self.right, q.mT], dim=-2)
        return RankOneProduct(left, right, self.strength)

    def times(self, v: Tensor) -> Tensor:
        """Compute ``W v`` for columns ``v`` ``(..., d, m)``."""
        return subtract_product(v, self.left.mT, self.right @ v, self.strength)

    def transposed(self) -> "RankOneProduct":
        """Return ``Wᵀ``."""
        return RankOneProduct(self.right, self.left, self.strength)

    def to(self, dtype: torch.dtype) -> "RankOneProduct":
        """Return the same product in another precision."""
        return RankOneProduct(self.left.to(dtype), self.right.to(dtype), self.strength)


def make_passes(
    h: Tensor, starts: Tensors, iterations: int, strength: float, *, on_gram: bool, spread: bool = False
) -> RankOneProduct:
    """Make all passes over ``h`` ``(..., n, d)`` from random starts ``(..., d, q)``, by ``2 k`` products each.

    With ``on_gram`` a step is a product with the Gram matrix instead: for a constant map and starts of one column.
    """
    dtype = h.dtype
    turn: Callable[[Tensor, Tensor, int, RankOneProduct], Tensor] = turn_across_processes if spread else turn_block
    if on_gram:
        turn, (h, _) = turn_on_gram, gram_matrix(h, spread=spread)
        columns = torch.cat(starts, dim=-1)
        starts = torch.split(unit((distributed.broadcast(columns) if spread else columns).double()), 1, dim=-1)
    nothing = h.new_empty(*h.shape[:-2], 0, h.shape[-1])
    product = RankOneProduct(nothing, nothing, strength)
    for r in starts:
        product = product.followed_by(turn(h, r, iterations, product))
    return product.to(dtype)


def gram_pays(rows: int | None, features: int, iterations: int, passes: int) -> bool:
    """Tell whether the Gram matrix is faster, by times of ``benchmarks/passes.py`` in units of 25 ps.

    It takes ``n d²`` products first, and then a step reads ``d²`` numbers instead of the map twice, with less overhead.
    Processes hold different numbers of rows and must agree: for them, with ``None``, it is the limit of many rows.
    """
    steps = iterations * passes
    if passes == 1 or rows is None:
        return passes > 1 and features <= 16 * steps
    on_gram = rows * features * (features + STRIP) + steps * (8 * features**2 + 900_000)
    entry = 5 if rows * features < LARGE // 2 else 16  # from the cache, or from memory
    return on_gram <= steps * (entry * rows * features + 3_200_000)


def unit(vector: Tensor) -> Tensor:
    """Scale vectors ``(..., m, 1)`` to length 1, without overflow or underflow; a zero vector stays zero."""
    largest = vector.detach().abs().amax(dim=-2, keepdim=True)
    vector = vector / torch.where(largest > 0, largest, 1)
    length = torch.linalg.vector_norm(vector, dim=-2, keepdim=True)
    return vector / torch.where(length > 0, length, 1)


def is_large(h: Tensor, *, is_constant: bool) -> bool:
    """Tell whether a step on ``h`` is bound by memory; batches and maps with a gradient are left to plain products."""
    if h.dim() != 2 or not is_constant or h.shape[0] * h.shape[1] < LARGE or h.device.type != "cpu":
        return False
    return not is_wrapped(h)  # as by vmap, which cannot write into a given tensor


def split_rows(h: Tensor) -> tuple[Tensor, ...]:
    """Split a large map into blocks of rows that fit the cache."""
    return torch.split(h, max(1, BLOCK // h.shape[-1]))


def read_blocks(h: Tensor) -> Iterator[Tensor]:
    """Yield blocks of rows that are in the cache.

    A sum reads a block in order, several times as fast as a product with a vector would read it from memory.
    """
    for rows in split_rows(h):
        rows.sum()
        yield rows


def turn_in_blocks(h: Tensor, r: Tensor) -> Tensor:
    r"""Compute :math:`H^\top H r`, normalized, for ``h`` ``(n, d)`` and ``r`` ``(d, 1)`` by blocks of rows.

    A block is still in the cache when it is read for the second product. Its part of ``H r`` is divided by the largest
    entry, as entries of ``1e±20`` would overflow or vanish, and these factors are put back relative to each other.
    """
    r, parts, sizes = unit(r), [], []
    for rows in read_blocks(h):
        image = rows @ r
        size = image.abs().amax()
        parts.append(rows.mT @ (image / torch.where(size > 0, size, 1)))  # (d, 1)
        sizes.append(size)
    relative = torch.stack(sizes)
    largest = relative.amax()
    return unit(torch.cat(parts, dim=-1) @ (relative / torch.where(largest > 0, largest, 1)).unsqueeze(-1))


def turn_block(h: Tensor, r: Tensor, iterations: int, product: RankOneProduct) -> Tensor:
    """Turn columns ``r`` ``(..., d, q)`` towards the leading right singular vectors of ``h W``, and orthonormalize.

    ``W`` is the product of the passes before.
    """
    for _ in range(iterations):
        r = orthonormal(product.transposed().times(h.mT @ orthonormal(h @ product.times(orthonormal(r)))))
    return orthonormal(r)


def turn_on_gram(gram: Tensor, r: Tensor, iterations: int, product: RankOneProduct) -> Tensor:
    """Do :func:`turn_block` for one column of length 1, given the Gram matrix ``HᵀH`` instead of the map.

    Float64 and trace 1 let one norm do: its squares overflow or vanish only where ``W`` is beyond ``1e±75``.
    """
    for _ in range(iterations):
        r = product.transposed().times(gram @ product.times(r))
        r = r / torch.linalg.vector_norm(r, dim=-2, keepdim=True).clamp(min=1e-150)
    return r


def turn_across_processes(h: Tensor, r: Tensor, iterations: int, product: RankOneProduct) -> Tensor:
    r"""Do :func:`turn_block` for the map whose rows are those of all processes.

    The start ``r`` is that of rank 0, and a step is one all-reduce of ``d q`` numbers,
    :math:`r^{(k)} = \sum_i H_i^\top H_i r^{(k-1)}`. Float64 replaces the normalization of ``H r``. Of a float64 map,
    singular values below ``2e-7`` of the leading one count as zero.
    """
    negligible = max((NEGLIGIBLE * torch.finfo(h.dtype).eps) ** 2, NEGLIGIBLE * torch.finfo(torch.float64).eps)
    wide, w, turned = h.double(), product.to(torch.float64), distributed.broadcast(orthonormal(r)).double()
    for _ in range(iterations):
        total = distributed.all_reduce_sum(wide.mT @ (wide @ w.times(turned)))
        turned = orthonormal(w.transposed().times(total), negligible)
    return orthonormal(turned.to(h.dtype))


def orthonormal(vectors: Tensor, negligible: float | None = None) -> Tensor:
    """Make columns ``(..., m, q)`` orthonormal by Gram–Schmidt; one that depends on those before becomes zero."""
    negligible = NEGLIGIBLE * torch.finfo(vectors.dtype).eps if negligible is None else negligible
    basis = unit(vectors[..., :1])
    for j in range(1, vectors.shape[-1]):
        column = unit(vectors[..., j : j + 1])
        for _ in range(2):  # Twice is enough (Kahan and Parlett): the second removes what rounding left of the first.
            column = column - basis @ (basis.mT @ column)
            length = torch.linalg.vector_norm(column.detach(), dim=-2, keepdim=True)
            column = unit(torch.where(length < negligible, 0, column))
        basis = torch.cat([basis, column], dim=-1)
    return basis


def subtract_product(x: Tensor, a: Tensor, b: Tensor, strength: float) -> Tensor:
    """Compute ``x - s a b`` for matrices ``a`` ``(..., n, m)`` and ``b`` ``(..., m, d)``, if possible in one step."""
    if a.shape[-1] == 1:
        return torch.addcmul(x, a, b, value=-strength)
    if x.dim() == 2:
        return torch.addmm(x, a, b, alpha=-strength)
    return x - strength * (a @ b)


def subtract_projection(h: Tensor, left: Tensor, right: Tensor, strength: float, *, is_constant: bool) -> Tensor:
    """Compute ``H (I - s P Qᵀ)`` for ``h`` ``(..., n, d)``, given ``Pᵀ`` and ``Qᵀ`` ``(..., m, d)``.

    If they are constants, backward keeps no tensor of the size of ``h``.
    """
    if not is_constant:
        return subtract_product(h, h @ left.mT, right, strength)
    return _SubtractConstant.apply(h, left, right, strength)  # type: ignore[no-any-return, no-untyped-call]


class _SubtractConstant(torch.autograd.Function):
    """:func:`subtract_projection`, a linear map of ``h``; backward is the same with ``P`` and ``Q`` exchanged."""

    generate_vmap_rule = True

    @staticmethod
    def forward(h: Tensor, left: Tensor, right: Tensor, strength: float) -> Tensor:
        if len(left) > 1 and h.dim() == 2:
            return add_product(h, multiply(h, left.mT), right, -strength)
        if not is_large(h, is_constant=True) or is_wrapped(left, right):
            return subtract_product(h, h @ left.mT, right, strength)
        result = torch.empty_like(h)
        for rows, part in zip(read_blocks(h), split_rows(result), strict=True):
            torch.addcmul(rows, rows @ left.mT, right, value=-strength, out=part)
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, float], output: Tensor) -> None:
        _, left, right, ctx.strength = inputs
        ctx.save_for_backward(left, right)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        left, right = ctx.saved_tensors
        grad = _SubtractConstant.apply(grads[0], right, left, ctx.strength)  # type: ignore[no-untyped-call]
        return grad, None, None, None
