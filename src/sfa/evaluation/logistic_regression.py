"""Logistic regression on many training parts with many ``C`` at once, as a linear probe needs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sfa.errors import InputError, SfaError

PARTS_TOGETHER = 5
"""Training parts in a batch: enough to hide Python's time, few enough for several threads to have one each."""
BATCH_BYTES = 2**28
"""A batch that would need more is made smaller, down to one part."""
ROWS_TOGETHER = 2**14
"""Rows that are classified at a time."""
INNER_ITERATIONS = 1000
"""Conjugate gradients in a Newton step at most; the step is taken however far they came."""
HALVINGS = 50
"""How often a step is halved at most."""
ROUNDING = 1e-14
"""Relative error of an objective; no fall below it is asked for."""
TINY = 1e-30
"""Keeps 0 / 0 out of problems whose residual has become exactly 0."""


@dataclass(frozen=True)
class LogisticPath:
    """Softmax classifiers of one training part, one for each of ``m`` values of ``C``; all numbers in float64.

    Attributes:
        classes: The ``k`` labels in rising order.
        coefficients: ``W`` for every ``C``, ``(m, k, d)``; their sum over the classes is zero.
        intercepts: ``b`` for every ``C``, ``(m, k)``; likewise.
        objective: What was minimised, ``(m,)``.
        gap: How far ``objective`` is from its minimum at most, ``(m,)``.
    """

    classes: Tensor
    coefficients: Tensor
    intercepts: Tensor
    objective: Tensor
    gap: Tensor

    def predict(self, z: Tensor, which: slice = slice(None)) -> Tensor:
        """Labels ``(m, n)`` of embeddings ``(n, d)`` by the classifiers of all ``C``, or of a slice of them."""
        w, b = self.coefficients[which], self.intercepts[which]
        likeliest = [
            (rows.to(w.dtype) @ w.flatten(0, 1).mT + b.flatten()).view(-1, *b.shape).argmax(2)
            for rows in torch.split(z, ROWS_TOGETHER)
        ]
        return self.classes[torch.cat(likeliest).mT]


def logistic_regression(
    z: Tensor,
    y: Tensor,
    parts: Sequence[Tensor],
    cs: Sequence[float],
    *,
    tolerance: float = 1e-6,
    max_steps: int = 200,
    on_part: Callable[[], None] | None = None,
) -> list[LogisticPath]:
    r"""L2-regularised softmax regression for every training part and every ``C``, to scikit-learn's optimum.

    .. math::
        f(W, b) = C \sum_i \Big( \log \sum_k e^{w_k^\top z_i + b_k} - w_{y_i}^\top z_i - b_{y_i} \Big)
                  + \tfrac12 \lVert W \rVert_F^2

    With two classes scikit-learn has one vector ``w = w₁ - w₀`` and the penalty ``½ |w|²``, twice the one above. So it
    is here: ``f`` has the penalty ``|W|²`` then, and the classifier is the same.

    Newton's method on all problems of a batch at once. The scores for every ``C`` of a part are one matrix product. A
    step comes from conjugate gradients in float32, preconditioned with ``I + C mean(p (1 - p)) ZᵀZ``, in coordinates
    where that is nearly diagonal; objective and gradient are computed in float64 and correct what it lacks. As ``f`` is
    convex and its curvature in ``W`` at least 1,

    .. math::
        f(W, b) - f^* \le \tfrac12 \lVert \nabla_W f \rVert_F^2 + \nabla_b f^\top (b - b^*),

    and a problem is solved when this is at most ``tolerance · f``, with intercepts taken to be no further than 1 from
    the best. They have a Newton step of their own after every step, which leaves ``∇_b f`` next to nothing.

    Batches share the threads that torch may use, one each, as products of this size gain nothing from a second. The
    result does not depend on their number.

    Args:
        z: Embeddings ``(n, d)`` of any floating-point dtype; only the rows in use are copied to float64.
        y: Labels ``(n,)``, whole numbers.
        parts: Row numbers of each training part, which all have the same classes.
        cs: Inverse strengths of the penalty.
        tolerance: Largest relative distance from the optimum, ``1e-10`` or more.
        max_steps: Newton steps before giving up with an error; a dozen is usual.
        on_part: Called after each part.

    Returns:
        One path of classifiers a part, in order; those of a path in the order of ``cs``.
    """
    z, y = z.detach(), y.detach()
    classes = _check(z, y, parts, cs, tolerance)

    def solve(batch: Sequence[Tensor]) -> list[LogisticPath]:
        data = _Parts.of([z[part].double() for part in batch], [torch.searchsorted(classes, y[part]) for part in batch])
        return _solve(data, classes, cs, tolerance, max_steps)

    paths = []
    with _single_threads() as pool:
        for batch in pool.map(solve, _batches(parts, z.shape[1], len(classes) * len(cs))):
            for path in batch:
                paths.append(path)
                if on_part is not None:
                    on_part()
    return paths


@dataclass(frozen=True)
class _Parts:
    """Training parts of a batch, padded with rows of zeros, which no product sees.

    Attributes:
        x: Rows ``(parts, n, r)``: a constant 1, then coordinates of the centred embeddings, over ``scale``.
        x_single: The same in float32.
        energy: Sum of squares of each column, float32 ``(parts, r)``.
        labels: Positions among the classes, ``(parts, n)``.
        valid: 1 for a row, 0 for padding, ``(parts, n)``.
        counts: Rows of each class, ``(parts, k)``.
        basis: Rows ``(parts, r - 1, d)``, orthonormal or zero, that turn coordinates into embeddings.
        mean: What was taken off, ``(parts, d)``.
        scale: Length of the longest centred row, so that float32 has room for any embedding.
    """

    x: Tensor
    x_single: Tensor
    energy: Tensor
    labels: Tensor
    valid: Tensor
    counts: Tensor
    basis: Tensor
    mean: Tensor
    scale: float

    @classmethod
    def of(cls, rows: Sequence[Tensor], labels: Sequence[Tensor]) -> _Parts:
        mean = torch.stack([part.mean(0) for part in rows])
        centred = pad_sequence([part - m for part, m in zip(rows, mean, strict=True)], batch_first=True)
        valid = pad_sequence([torch.ones_like(part[:, :1]) for part in rows], batch_first=True)
        coordinates, basis = _coordinates(centred)
        scale = float(torch.linalg.vector_norm(centred, dim=2).amax()) or 1.0
        x = torch.cat([valid, coordinates / scale], 2)
        x_single = x.float()
        return cls(
            x=x,
            x_single=x_single,
            energy=x_single.square().sum(1),
            labels=pad_sequence(list(labels), batch_first=True),
            valid=valid.squeeze(2),
            counts=torch.stack([part.bincount() for part in labels]).double(),
            basis=basis,
            mean=mean,
            scale=scale,
        )


def _coordinates(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Coordinates ``(parts, n, r)`` and basis ``(parts, r, d)`` in which ``rowsᵀ rows`` is diagonal, or nearly.

    Rotations leave the penalty as it is. With more rows than columns one rotation serves all parts, as they are samples
    of the same embeddings; with fewer, each part's own has but as many directions as rows.
    """
    if rows.shape[2] <= rows.shape[1]:
        basis = torch.linalg.eigh((rows.mT @ rows).sum(0)).eigenvectors.mT
        return rows @ basis.mT, basis.expand(len(rows), -1, -1)
    eigenvalues, u = torch.linalg.eigh(rows @ rows.mT)
    kept = eigenvalues > 1e-12 * eigenvalues[:, -1:]
    sigma = torch.where(kept, eigenvalues, 0).sqrt()
    inverse = torch.where(kept, eigenvalues, torch.inf).rsqrt()
    return u * sigma.unsqueeze(1), inverse.unsqueeze(2) * (u.mT @ rows)


@dataclass(frozen=True)
class _Problems:
    """Problems not solved yet, those of a part next to each other.

    Attributes:
        number: Place of each in the results, ``(p,)``.
        part: Which training part, ``(p,)``.
        c: Its ``C``, ``(p,)``.
        w: Coefficients in the coordinates of its part, the intercept first, ``(p, k, r)``.
        scores: ``w xᵀ``, ``(p, k, n)``.
    """

    number: Tensor
    part: Tensor
    c: Tensor
    w: Tensor
    scores: Tensor

    def where(self, mask: Tensor) -> _Problems:
        return _Problems(*(getattr(self, field.name)[mask] for field in fields(self)))


def _solve(data: _Parts, classes: Tensor, cs: Sequence[float], tolerance: float, max_steps: int) -> list[LogisticPath]:
    """All problems of a batch, solved in its coordinates and brought back."""
    unit = (2 if len(classes) == 2 else 1) / data.scale**2  # f(W; C) = unit · f(scale · W; C / unit) with |x| ≤ 1
    results = _newton(data, torch.tensor(list(cs), dtype=torch.float64) / unit, tolerance, max_steps)
    w, objective, gap = (result.view(-1, len(cs), *result.shape[1:]) for result in results)
    _check_solved(gap / objective, cs, tolerance, max_steps)
    coefficients = (w[..., 1:].flatten(1, 2) @ data.basis).view(*w.shape[:3], -1).div_(data.scale)
    intercepts = w[..., 0] - (coefficients @ data.mean[:, None, :, None]).squeeze(3)
    intercepts -= intercepts.mean(2, keepdim=True)
    paths = zip(coefficients, intercepts, unit * objective, unit * gap, strict=True)
    return [LogisticPath(classes, *path) for path in paths]


def _newton(data: _Parts, c: Tensor, tolerance: float, max_steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Coefficients ``(p, k, r)``, objective and gap ``(p,)`` of all ``p`` problems, ``C`` changing fastest."""
    problems = _start(data, c)
    w, objective, gap = problems.w.clone(), problems.c.clone(), problems.c.clone()
    for step in range(max_steps + 1):
        p = problems.scores.softmax(1)
        value = _objective(data, problems, problems.scores, _inner(problems.w, problems.w))
        gradient = _gradient(data, problems, p)
        distance = _inner(gradient, gradient) / 2 + gradient[..., 0].abs().sum(1)
        w[problems.number], objective[problems.number], gap[problems.number] = problems.w, value, distance
        left = ~(distance <= tolerance * value)  # what is not a number is not solved
        if step == max_steps or not left.any():
            break
        problems, p, gradient, value = problems.where(left), p[left], gradient[left], value[left]
        ratio = distance[left] / value
        accuracy = ratio.pow(0.25).clamp_max(0.4).maximum((tolerance / ratio).sqrt() / 2)
        direction = _newton_direction(data, problems, p, gradient, accuracy)
        problems = _line_search(data, problems, value, gradient, direction)
        _settle_intercepts(data, problems)
    return w, objective, gap


def _start(data: _Parts, c: Tensor) -> _Problems:
    """No coefficients, and the intercepts that are best then."""
    (parts, n, r), k = data.x.shape, data.counts.shape[1]
    part = torch.arange(parts).repeat_interleave(len(c))
    w = data.x.new_zeros(len(part), k, r)
    w[..., 0] = data.counts.log()[part]
    return _Problems(torch.arange(len(part)), part, c.repeat(parts), w, w[..., :1].expand(-1, -1, n))


def _objective(data: _Parts, problems: _Problems, scores: Tensor, squares: Tensor) -> Tensor:
    """``f`` of each problem with these scores and ``|W|²``."""
    own = scores.gather(1, data.labels[problems.part].unsqueeze(1)).squeeze(1)
    return problems.c * _dot(scores.logsumexp(1) - own, data.valid[problems.part]) + squares / 2


def _gradient(data: _Parts, problems: _Problems, p: Tensor) -> Tensor:
    """``C (p - y) x + W``, the intercepts without the second term, ``(p, k, r)``."""
    residual = p.scatter_add(1, data.labels[problems.part].unsqueeze(1), -torch.ones_like(p[:, :1]))
    gradient = _part_by_part(residual, data.x, problems.part).mul_(problems.c[:, None, None])
    gradient[..., 1:] += problems.w[..., 1:]
    return gradient


def _newton_direction(data: _Parts, problems: _Problems, p: Tensor, gradient: Tensor, accuracy: Tensor) -> Tensor:
    """Solve ``(XᵀBX + I / C) direction = -gradient / C`` by conjugate gradients in float32, to a relative accuracy.

    Problems that are accurate enough are taken out of the batch as soon as they are an eighth of it: earlier would cost
    more copies than it saves.
    """
    part, scale = problems.part, gradient.abs().amax((1, 2), keepdim=True)
    p = p.float()
    ridge = (1 / problems.c.float())[:, None, None].repeat(1, 1, data.x.shape[2])
    ridge[..., 0] = 0
    curvature = _dot(p * (1 - p), data.valid.float()[part].unsqueeze(1).expand_as(p)) / data.counts[part].sum(1).float()
    diagonal = (curvature / p.shape[1])[:, None, None] * data.energy[part].unsqueeze(1) + ridge

    residual = (gradient / -scale).float()
    z = residual / diagonal
    hessian = _Hessian(data.x_single, part, p, data.labels[part].unsqueeze(1), ridge, z.clone())
    u = torch.zeros_like(z)
    size = _dot(residual, z)
    goal = accuracy.float().square() * size
    number, direction = torch.arange(len(part)), torch.empty_like(u)
    for _ in range(INNER_ITERATIONS):
        q, h = hessian.q, hessian.times_q()
        length = (size / (_dot(q, h) + TINY))[:, None, None]
        u.addcmul_(length, q)
        residual.addcmul_(length, h, value=-1)
        torch.div(residual, diagonal, out=z)
        before, size = size + TINY, _dot(residual, z)
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


class _Hessian:
    """``XᵀBX + I / C`` of every problem, where ``B = diag(p) - p pᵀ`` in each row; intercepts have no ``I / C``.

    It is multiplied by ``q`` ``(p, k, r)``, which the caller changes in place: views of it and of the two buffers are
    made once, as making them takes a sixth of the time of a product.
    """

    def __init__(self, x: Tensor, part: Tensor, p: Tensor, labels: Tensor, ridge: Tensor, q: Tensor) -> None:
        self.x, self.part, self.p, self.labels, self.ridge, self.q = x, part, p, labels, ridge, q
        self.t, self.h = torch.empty_like(p), torch.empty_like(q)
        sizes = _sizes(part, len(x))
        self.to_scores = _products(q, x.mT, sizes, self.t)
        self.to_coefficients = _products(self.t, x, sizes, self.h)

    def of(self, kept: Tensor) -> _Hessian:
        """That of some problems."""
        tensors = self.part, self.p, self.labels, self.ridge, self.q
        return _Hessian(self.x, *(tensor.index_select(0, kept) for tensor in tensors))

    def times_q(self) -> Tensor:
        """The product, in a buffer that the next one overwrites."""
        t = self.t
        _multiply(self.to_scores)
        t -= t.gather(1, self.labels)  # B 1 = 0, so that this changes digits alone: where p is next to 1, B t cancels
        t *= self.p
        t.addcmul_(self.p, t.sum(1, keepdim=True), value=-1)
        _multiply(self.to_coefficients)
        return self.h.addcmul_(self.ridge, self.q)


def _line_search(data: _Parts, problems: _Problems, value: Tensor, gradient: Tensor, direction: Tensor) -> _Problems:
    """Go along the direction, half as far until the objective falls. No trial needs a product with ``X``."""
    change = _part_by_part(direction, data.x.mT, problems.part)
    slope = _dot(gradient, direction)
    squares, mixed, quadratic = (
        _inner(a, b) for a, b in ((problems.w, problems.w), (problems.w, direction), (direction, direction))
    )
    t = torch.ones_like(value)
    for _ in range(HALVINGS):
        scores = torch.addcmul(problems.scores, t[:, None, None], change)
        trial = _objective(data, problems, scores, squares + 2 * t * mixed + t.square() * quadratic)
        too_far = ~(trial <= value + 1e-4 * t * slope + ROUNDING * value)
        if not too_far.any():
            break
        t = torch.where(too_far, t / 2, t)
    w = torch.addcmul(problems.w, t[:, None, None], direction)
    return _Problems(problems.number, problems.part, problems.c, w, scores)


def _settle_intercepts(data: _Parts, problems: _Problems) -> None:
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


def _sizes(part: Tensor, parts: int) -> list[int]:
    """How many problems each part has."""
    sizes: list[int] = part.bincount(minlength=parts).tolist()
    return sizes


def _products(v: Tensor, matrices: Tensor, sizes: list[int], out: Tensor) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Factors and place of ``v[i]`` times the matrix of its part, one product for all problems of a part."""
    pieces = zip(torch.split(v, sizes), matrices, torch.split(out, sizes), strict=True)
    return [(rows.flatten(0, 1), matrix, place.flatten(0, 1)) for rows, matrix, place in pieces if len(rows) > 0]


def _multiply(products: list[tuple[Tensor, Tensor, Tensor]]) -> None:
    for a, b, out in products:
        torch.mm(a, b, out=out)


def _part_by_part(v: Tensor, matrices: Tensor, part: Tensor) -> Tensor:
    """``v[i]`` times the matrix of its part."""
    out = v.new_empty(*v.shape[:2], matrices.shape[2])
    _multiply(_products(v, matrices, _sizes(part, len(matrices)), out))
    return out


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """Inner product of each problem's tensors."""
    products: Tensor = torch.linalg.vecdot(a.flatten(1), b.flatten(1))
    return products


def _inner(v: Tensor, w: Tensor) -> Tensor:
    """Inner product of coefficients without intercepts."""
    return _dot(v[..., 1:], w[..., 1:])


@contextmanager
def _single_threads() -> Iterator[Executor]:
    """As many threads as torch may use, each computing on its own."""
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def _batches(parts: Sequence[Tensor], d: int, columns: int) -> Iterator[Sequence[Tensor]]:
    """Neighbouring parts, as many as are solved together; ``columns`` counts classes times values of ``C``."""
    bytes_a_part = max(len(part) for part in parts) * (28 * d + 80 * columns)
    size = max(1, min(PARTS_TOGETHER, BATCH_BYTES // bytes_a_part))
    return (parts[start : start + size] for start in range(0, len(parts), size))


def _check(z: Tensor, y: Tensor, parts: Sequence[Tensor], cs: Sequence[float], tolerance: float) -> Tensor:
    """The classes, if everything given can be used."""
    if z.dim() != 2 or not z.is_floating_point():
        raise InputError(f"Embeddings are a floating-point matrix (n, d), not {z.dtype} of shape {tuple(z.shape)}.")
    if y.shape != z.shape[:1] or y.is_floating_point():
        raise InputError(
            f"{len(z)} embeddings need as many whole numbers as labels, not {y.dtype} of {tuple(y.shape)}."
        )
    if len(cs) == 0 or not all(0 < c < math.inf for c in cs):
        raise InputError(f"C must be one or more finite numbers above 0, not {list(cs)}.")
    if not 1e-10 <= tolerance < 1:
        raise InputError(f"tolerance must be 1e-10 or more and below 1, not {tolerance}.")
    if len(parts) == 0:
        raise InputError("At least one training part is needed; there is none.")
    used = torch.unique(torch.cat(list(parts)))
    if len(used) == 0 or used[0] < 0 or used[-1] >= len(z):
        raise InputError(f"Training parts hold row numbers from 0 to {len(z) - 1}.")
    if not all(rows.isfinite().all() for rows in torch.split(z[used], ROWS_TOGETHER)):
        raise InputError("Embeddings must be finite; there is NaN or infinity in a training part.")
    classes: Tensor = torch.unique(y[used])
    if len(classes) < 2:
        raise InputError(f"Labels of at least 2 classes are needed; there are {len(classes)}.")
    for number, part in enumerate(parts):
        missing = classes[~torch.isin(classes, y[part])]
        if len(missing) > 0:
            raise InputError(f"Training part {number} has no row of class {missing[0]}; each needs all classes.")
    return classes


def _check_solved(ratio: Tensor, cs: Sequence[float], tolerance: float, max_steps: int) -> None:
    unsolved = ~(ratio <= tolerance)
    if unsolved.any():
        c = cs[int(unsolved.any(0).nonzero()[-1])]
        raise SfaError(
            f"Logistic regression with C = {c:g} is not within {tolerance:g} of its optimum after {max_steps} steps; "
            "allow more steps or a larger tolerance, or let scikit-learn solve it."
        )
