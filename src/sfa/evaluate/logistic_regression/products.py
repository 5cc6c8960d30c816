"""Products of the problems of a batch, each with the matrix of its own training part."""

from __future__ import annotations

import torch
from torch import Tensor


def sizes_of(part: Tensor, parts: int) -> list[int]:
    """How many problems each part has."""
    sizes: list[int] = part.bincount(minlength=parts).tolist()
    return sizes


def products_of(v: Tensor, matrices: Tensor, sizes: list[int], out: Tensor) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Factors and place of ``v[i]`` times the matrix of its part, one product for all problems of a part."""
    pieces = zip(torch.split(v, sizes), matrices, torch.split(out, sizes), strict=True)
    return [(rows.flatten(0, 1), matrix, place.flatten(0, 1)) for rows, matrix, place in pieces if len(rows) > 0]


def multiply(products: list[tuple[Tensor, Tensor, Tensor]]) -> None:
    for a, b, out in products:
        torch.mm(a, b, out=out)


def part_by_part(v: Tensor, matrices: Tensor, part: Tensor) -> Tensor:
    """``v[i]`` times the matrix of its part."""
    out = v.new_empty(*v.shape[:2], matrices.shape[2])
    multiply(products_of(v, matrices, sizes_of(part, len(matrices)), out))
    return out


def dot(a: Tensor, b: Tensor) -> Tensor:
    """Inner product of each problem's tensors."""
    products: Tensor = torch.linalg.vecdot(a.flatten(1), b.flatten(1))
    return products


def inner(v: Tensor, w: Tensor) -> Tensor:
    """Inner product of coefficients without intercepts."""
    return dot(v[..., 1:], w[..., 1:])
