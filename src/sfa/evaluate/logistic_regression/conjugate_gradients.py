"""The direction of a Newton step, by conjugate gradients in float32."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.evaluate.logistic_regression.parts import Parts
from sfa.evaluate.logistic_regression.problems import Problems
from sfa.evaluate.logistic_regression.products import dot, multiply, products_of, sizes_of

INNER_ITERATIONS = 1000
"""Conjugate gradients in a Newton step at most; the step is taken however far they came."""
TINY = 1e-30
"""Keeps 0 / 0 out of problems whose residual has become exactly 0."""


def newton_direction(data: Parts, problems: Problems, p: Tensor, gradient: Tensor, accuracy: Tensor) -> Tensor:
    """Solve ``(XᵀBX + I / C) direction = -gradient / C`` by conjugate gradients in float32, to a relative accuracy.

    Problems that are accurate enough are taken out of the batch as soon as they are an eighth of it: earlier would cost
    more copies than it saves.
    """
    part, scale = problems.part, gradient.abs().amax((1, 2), keepdim=True)
    p = p.float()
    ridge = (1 / problems.c.float())[:, None, None].repeat(1, 1, data.x.shape[2])
    ridge[..., 0] = 0
    curvature = dot(p * (1 - p), data.valid.float()[part].unsqueeze(1).expand_as(p)) / data.counts[part].sum(1).float()
    diagonal = (curvature / p.shape[1])[:, None, None] * data.energy[part].unsqueeze(1) + ridge

    residual = (gradient / -scale).float()
    z = residual / diagonal
    hessian = Hessian(data.x_single, part, p, data.labels[part].unsqueeze(1), ridge, z.clone())
    u = torch.zeros_like(z)
    size = dot(residual, z)
    goal = accuracy.float().square() * size
    number, direction = torch.arange(len(part)), torch.empty_like(u)
    for _ in range(INNER_ITERATIONS):
        q, h = hessian.q, hessian.times_q()
        length = (size / (dot(q, h) + TINY))[:, None, None]
        u.addcmul_(length, q)
        residual.addcmul_(length, h, value=-1)
        torch.div(residual, diagonal, out=z)
        before, size = size + TINY, dot(residual, z)
        torch.addcmul(z, (size / before)[:, None, None], q, out=q)
        left = size > goal
        count = int(left.sum())
        if count == 0:
            break
        if 8 * count <= 7 * len(left):
            direction[number] = u
            kept = left.nonzero().squeeze(1)
            number, diagonal, residual, z, u, size, goal = (
                t.index_select(0, kept) for t in (number, diagonal, residual, z, u, size, goal)
            )
            hessian = hessian.of(kept)
    direction[number] = u
    return direction.double() * (scale / problems.c[:, None, None])


class Hessian:
    """``XᵀBX + I / C`` of every problem, where ``B = diag(p) - p pᵀ`` in each row; intercepts have no ``I / C``.

    It is multiplied by ``q`` ``(p, k, r)``, which the caller changes in place: views of it and of the two buffers are
    made once, as making them takes a sixth of the time of a product.
    """

    def __init__(self, x: Tensor, part: Tensor, p: Tensor, labels: Tensor, ridge: Tensor, q: Tensor) -> None:
        self.x, self.part, self.p, self.labels, self.ridge, self.q = x, part, p, labels, ridge, q
        self.t, self.h = torch.empty_like(p), torch.empty_like(q)
        sizes = sizes_of(part, len(x))
        self.to_scores = products_of(q, x.mT, sizes, self.t)
        self.to_coefficients = products_of(self.t, x, sizes, self.h)

    def of(self, kept: Tensor) -> Hessian:
        """That of some problems."""
        tensors = self.part, self.p, self.labels, self.ridge, self.q
        return Hessian(self.x, *(tensor.index_select(0, kept) for tensor in tensors))

    def times_q(self) -> Tensor:
        """The product, in a buffer that the next one overwrites."""
        t = self.t
        multiply(self.to_scores)
        t -= t.gather(1, self.labels)  # B 1 = 0, so that this changes digits alone: where p is next to 1, B t cancels
        t *= self.p
        t.addcmul_(self.p, t.sum(1, keepdim=True), value=-1)
        multiply(self.to_coefficients)
        return self.h.addcmul_(self.ridge, self.q)
