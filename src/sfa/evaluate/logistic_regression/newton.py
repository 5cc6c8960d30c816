"""Newton's method on all problems of a batch at once."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.evaluate.logistic_regression.conjugate_gradients import newton_direction
from sfa.evaluate.logistic_regression.parts import Parts
from sfa.evaluate.logistic_regression.problems import Problems
from sfa.evaluate.logistic_regression.products import dot, inner, part_by_part

HALVINGS = 50
"""How often a step is halved at most."""
ROUNDING = 1e-14
"""Relative error of an objective; no fall below it is asked for."""


def newton(data: Parts, c: Tensor, tolerance: float, max_steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Coefficients ``(p, k, r)``, objective and gap ``(p,)`` of all ``p`` problems, ``C`` changing fastest."""
    problems = start(data, c)
    w, objective, gap = problems.w.clone(), problems.c.clone(), problems.c.clone()
    for step in range(max_steps + 1):
        p = problems.scores.softmax(1)
        value = objective_of(data, problems, problems.scores, inner(problems.w, problems.w))
        gradient = gradient_of(data, problems, p)
        distance = inner(gradient, gradient) / 2 + gradient[..., 0].abs().sum(1)
        w[problems.number], objective[problems.number], gap[problems.number] = problems.w, value, distance
        left = ~(distance <= tolerance * value)  # what is not a number is not solved
        if step == max_steps or not left.any():
            break
        problems, p, gradient, value = problems.where(left), p[left], gradient[left], value[left]
        ratio = distance[left] / value
        accuracy = ratio.pow(0.25).clamp_max(0.4).maximum((tolerance / ratio).sqrt() / 2)
        direction = newton_direction(data, problems, p, gradient, accuracy)
        problems = line_search(data, problems, value, gradient, direction)
        settle_intercepts(data, problems)
    return w, objective, gap


def start(data: Parts, c: Tensor) -> Problems:
    """No coefficients, and the intercepts that are best then."""
    (parts, n, r), k = data.x.shape, data.counts.shape[1]
    part = torch.arange(parts).repeat_interleave(len(c))
    w = data.x.new_zeros(len(part), k, r)
    w[..., 0] = data.counts.log()[part]
    return Problems(torch.arange(len(part)), part, c.repeat(parts), w, w[..., :1].expand(-1, -1, n))


def objective_of(data: Parts, problems: Problems, scores: Tensor, squares: Tensor) -> Tensor:
    """``f`` of each problem with these scores and ``|W|²``."""
    own = scores.gather(1, data.labels[problems.part].unsqueeze(1)).squeeze(1)
    return problems.c * dot(scores.logsumexp(1) - own, data.valid[problems.part]) + squares / 2


def gradient_of(data: Parts, problems: Problems, p: Tensor) -> Tensor:
    """``C (p - y) x + W``, the intercepts without the second term, ``(p, k, r)``."""
    residual = p.scatter_add(1, data.labels[problems.part].unsqueeze(1), -torch.ones_like(p[:, :1]))
    gradient = part_by_part(residual, data.x, problems.part).mul_(problems.c[:, None, None])
    gradient[..., 1:] += problems.w[..., 1:]
    return gradient


def line_search(data: Parts, problems: Problems, value: Tensor, gradient: Tensor, direction: Tensor) -> Problems:
    """Go along the direction, half as far until the objective falls. No trial needs a product with ``X``."""
    change = part_by_part(direction, data.x.mT, problems.part)
    slope = dot(gradient, direction)
    squares, mixed, quadratic = (
        inner(a, b) for a, b in ((problems.w, problems.w), (problems.w, direction), (direction, direction))
    )
    t = torch.ones_like(value)
    for _ in range(HALVINGS):
        scores = torch.addcmul(problems.scores, t[:, None, None], change)
        trial = objective_of(data, problems, scores, squares + 2 * t * mixed + t.square() * quadratic)
        too_far = ~(trial <= value + 1e-4 * t * slope + ROUNDING * value)
        if not too_far.any():
            break
        t = torch.where(too_far, t / 2, t)
    w = torch.addcmul(problems.w, t[:, None, None], direction)
    return Problems(problems.number, problems.part, problems.c, w, scores)


def settle_intercepts(data: Parts, problems: Problems) -> None:
    """A Newton step on the intercepts alone, in place.

    It lowers the objective, however far it goes: where the largest shift exceeds the smallest by no more than 1, third
    derivatives are too small to spoil a whole step. (``+ 1`` stands for the one direction without curvature.)
    """
    p = problems.scores.softmax(1).mul_(data.valid[problems.part].unsqueeze(1))
    expected = p.sum(2)
    hessian = torch.diag_embed(expected + 1e-12 * p.shape[2]) - p @ p.mT + 1
    shift = torch.linalg.solve(hessian, data.counts[problems.part] - expected)
    shift /= (shift.amax(1, keepdim=True) - shift.amin(1, keepdim=True)).clamp_min(1)
    problems.w[..., 0] += shift
    problems.scores.add_(shift.unsqueeze(2))
