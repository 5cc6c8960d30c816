"""Newton's method for the softmax regressions of a batch, one for each training part and each ``C``, all at once."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from sfa.evaluate.logistic_regression import PaddedParts

HALVINGS = 50  # of a step at most
ROUNDING = 1e-14  # relative error of an objective; no fall below it is asked for
LOW_STEPS = 30  # Newton steps with products of low precision, should they ever not suffice
INNER_ITERATIONS = 1000  # conjugate gradients in a Newton step at most; the step is taken however far they came
ROUGH = 1e-6  # least tolerance of steps with gradients in float32
TINY = 1e-30  # keeps 0 / 0 out of problems whose residual has become exactly 0


class Problems(NamedTuple):
    """Problems not solved yet, those of a part next to each other."""

    number: Tensor  # place of each in the results, (p,)
    part: Tensor  # its training part, (p,)
    c: Tensor  # its C, (p,)
    w: Tensor  # coefficients in the coordinates of its part, the intercept first, (p, k, r)
    scores: Tensor  # w xᵀ, (p, k, n)


def solve_newton(data: PaddedParts, c: Tensor, tolerance: float, max_steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return coefficients ``(p, k, r)``, objective and gap ``(p,)`` of all ``p`` problems, ``C`` changing fastest.

    Wide problems come near the optimum by products in float32; what is returned is always from products in float64.
    """
    problems = initialize(data, c)
    if data.wide:
        rough = copy(data)
        rough.x = data.x_single
        w, _, _ = take_steps(rough, problems, max(tolerance, ROUGH), min(max_steps, LOW_STEPS))
        problems = problems._replace(w=w, scores=multiply_parts(w, data.x.mT, problems.part))
    return take_steps(data, problems, tolerance, max_steps)


def take_steps(
    data: PaddedParts, problems: Problems, tolerance: float, max_steps: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Take Newton steps until all gaps are small enough, by products with ``data.x`` in its precision."""
    w, objective, gap = problems.w.clone(), problems.c.clone(), problems.c.clone()
    for step in range(max_steps + 1):
        p = problems.scores.softmax(1)
        value = compute_objective(data, problems, problems.scores, inner(problems.w, problems.w))
        gradient = compute_gradient(data, problems, p)
        distance = inner(gradient, gradient) / 2 + gradient[..., 0].abs().sum(1)
        w[problems.number], objective[problems.number], gap[problems.number] = problems.w, value, distance
        left = ~(distance <= tolerance * value)  # what is not a number is not solved
        if step == max_steps or not left.any():
            break
        problems = Problems(*(tensor[left] for tensor in problems))
        p, gradient, value = p[left], gradient[left], value[left]
        ratio = distance[left] / value
        accuracy = ratio.pow(0.25).clamp_max(0.4).maximum((tolerance / ratio).sqrt() / 2)
        x = data.x_low if step < LOW_STEPS else data.x_single
        direction = compute_direction(data, problems, p, gradient, accuracy, x)
        problems = search_line(data, problems, value, gradient, direction)
        update_intercepts_(data, problems)
    return w, objective, gap


def initialize(data: PaddedParts, c: Tensor) -> Problems:
    """Start from no coefficients, and the intercepts that are best then."""
    (parts, n, r), k = data.x.shape, data.counts.shape[1]
    part = torch.arange(parts).repeat_interleave(len(c))
    w = c.new_zeros(len(part), k, r)
    w[..., 0] = data.counts.log()[part]
    return Problems(torch.arange(len(part)), part, c.repeat(parts), w, w[..., :1].expand(-1, -1, n))


def compute_objective(data: PaddedParts, problems: Problems, scores: Tensor, squares: Tensor) -> Tensor:
    """Return ``f`` of each problem with these scores and ``|W|²``."""
    own = scores.gather(1, data.labels[problems.part].unsqueeze(1)).squeeze(1)
    return problems.c * dot(scores.logsumexp(1) - own, data.valid[problems.part]) + squares / 2


def compute_gradient(data: PaddedParts, problems: Problems, p: Tensor) -> Tensor:
    """Return ``C (p - y) x + W``, the intercepts without the second term, ``(p, k, r)``."""
    residual = p.scatter_add(1, data.labels[problems.part].unsqueeze(1), -torch.ones_like(p[:, :1]))
    gradient = multiply_parts(residual, data.x, problems.part).mul_(problems.c[:, None, None])
    gradient[..., 1:] += problems.w[..., 1:]
    return gradient


def search_line(data: PaddedParts, problems: Problems, value: Tensor, gradient: Tensor, direction: Tensor) -> Problems:
    """Go along the direction, half as far until the objective falls. No trial needs a product with ``X``."""
    change = multiply_parts(direction, data.x.mT, problems.part)
    slope = dot(gradient, direction)
    squares, mixed, quadratic = inner(problems.w, problems.w), inner(problems.w, direction), inner(direction, direction)
    t = torch.ones_like(value)
    for _ in range(HALVINGS):
        scores = torch.addcmul(problems.scores, t[:, None, None], change)
        trial = compute_objective(data, problems, scores, squares + 2 * t * mixed + t.square() * quadratic)
        too_far = ~(trial <= value + 1e-4 * t * slope + ROUNDING * value)
        if not too_far.any():
            break
        t = torch.where(too_far, t / 2, t)
    return problems._replace(w=torch.addcmul(problems.w, t[:, None, None], direction), scores=scores)


def update_intercepts_(data: PaddedParts, problems: Problems) -> None:
    """Take a Newton step on the intercepts alone, in place.

    Shifts that differ by no more than 1 lower the objective, as third derivatives are too small to spoil such a step.
    (``+ 1`` stands for the one direction without curvature.)
    """
    p = problems.scores.softmax(1).mul_(data.valid[problems.part].unsqueeze(1))
    expected = p.sum(2)
    hessian = torch.diag_embed(expected + 1e-12 * p.shape[2]) - p @ p.mT + 1
    shift = torch.linalg.solve(hessian, data.counts[problems.part] - expected)
    shift /= (shift.amax(1, keepdim=True) - shift.amin(1, keepdim=True)).clamp_min(1)
    problems.w[..., 0] += shift
    problems.scores.add_(shift.unsqueeze(2))


def compute_direction(
    data: PaddedParts, problems: Problems, p: Tensor, gradient: Tensor, accuracy: Tensor, x: Tensor
) -> Tensor:
    """Solve ``(XᵀBX + I / C) direction = -gradient / C`` by conjugate gradients in float32, to a relative accuracy.

    Products are in the dtype of ``x``. As the columns of ``X`` are nearly orthogonal, and their scales are the
    preconditioner's, bfloat16 needs hardly more iterations. Problems that are accurate enough are taken out of the
    batch as soon as they are an eighth of it: earlier would cost more copies than it saves.
    """
    part, scale = problems.part, gradient.abs().amax((1, 2), keepdim=True)
    p = p.float()
    ridge = (1 / problems.c.float())[:, None, None].repeat(1, 1, data.x.shape[2])
    ridge[..., 0] = 0
    curvature = dot(p * (1 - p), data.valid.float()[part].unsqueeze(1).expand_as(p)) / data.counts[part].sum(1).float()
    diagonal = (curvature / p.shape[1])[:, None, None] * data.energy[part].unsqueeze(1) + ridge

    residual = (gradient / -scale).float()
    z = residual / diagonal
    q, u, labels = z, torch.zeros_like(z), data.labels[part].unsqueeze(1)
    size = dot(residual, z)
    goal = accuracy.float().square() * size
    number, direction = torch.arange(len(part)), torch.empty_like(u)
    for _ in range(INNER_ITERATIONS):
        h = multiply_hessian(x, part, p, labels, ridge, q)
        length = (size / (dot(q, h) + TINY))[:, None, None]
        u.addcmul_(length, q)
        residual.addcmul_(length, h, value=-1)
        z = residual / diagonal
        before, size = size + TINY, dot(residual, z)
        q = torch.addcmul(z, (size / before)[:, None, None], q)
        left = size > goal
        count = int(left.sum())
        if count == 0:
            break
        if 8 * count <= 7 * len(left):
            direction[number] = u
            tensors = number, diagonal, residual, q, u, size, goal, part, p, labels, ridge
            number, diagonal, residual, q, u, size, goal, part, p, labels, ridge = (t[left] for t in tensors)
    direction[number] = u
    return direction.double() * (scale / problems.c[:, None, None])


def multiply_hessian(x: Tensor, part: Tensor, p: Tensor, labels: Tensor, ridge: Tensor, q: Tensor) -> Tensor:
    """Return ``(XᵀBX + ridge) q`` of every problem, ``(p, k, r)``, where ``B = diag(p) - p pᵀ`` in each row."""
    t = multiply_parts(q, x.mT, part)
    t -= t.gather(1, labels)  # B 1 = 0, so that this changes digits alone: where p is next to 1, B t cancels
    t *= p
    t.addcmul_(p, t.sum(1, keepdim=True), value=-1)
    return multiply_parts(t, x, part).addcmul_(ridge, q)


def multiply_parts(v: Tensor, matrices: Tensor, part: Tensor) -> Tensor:
    """Multiply ``v[i]`` by the matrix of its part, one product for all problems of a part, in its precision."""
    out = matrices.new_empty(*v.shape[:2], matrices.shape[2])
    sizes = part.bincount(minlength=len(matrices)).tolist()
    pieces = torch.split(v.to(matrices.dtype), sizes), matrices, torch.split(out, sizes)
    for rows, matrix, place in zip(*pieces, strict=True):
        torch.mm(rows.flatten(0, 1), matrix, out=place.flatten(0, 1))
    return out.to(v.dtype)


def dot(a: Tensor, b: Tensor) -> Tensor:
    """Return the inner product of each problem's tensors."""
    products: Tensor = torch.linalg.vecdot(a.flatten(1), b.flatten(1))
    return products


def inner(v: Tensor, w: Tensor) -> Tensor:
    """Return the inner product of coefficients without intercepts."""
    return dot(v[..., 1:], w[..., 1:])
