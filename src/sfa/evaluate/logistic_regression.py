"""Softmax regression with an L2 penalty for many training parts and many ``C`` at once, as a linear probe needs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sfa.errors import InputError, SfaError
from sfa.evaluate.newton import solve_newton
from sfa.modes import has_fast_bfloat16

PARTS_TOGETHER = 5  # training parts in a batch: enough to hide Python's time, few enough to share among threads
BATCH_BYTES = 2**24  # a batch of which a product would need more is made smaller, down to one part: caches are small
ROWS_TOGETHER = 2**14  # rows that are classified at a time, fewer if they would take more than PIECE_BYTES
PIECE_BYTES = 2**24
WIDE = 384  # columns from which on products with directions are in bfloat16, where the processor has it
BASIS_PARTS = 3  # training parts whose principal axes serve all
ROTATED_BYTES = 2**30  # of the rows of all parts, 8 n d; if they need more, each part is rotated when it is solved


@dataclass(frozen=True)
class LogisticPath:
    """Softmax classifiers of one training part, one for each of ``m`` values of ``C``; all numbers in float64."""

    classes: Tensor  # the k labels in rising order
    coefficients: Tensor  # W for every C, (m, k, d); their sum over the classes is zero
    intercepts: Tensor  # b for every C, (m, k); likewise
    objective: Tensor  # what was minimized, (m,)
    gap: Tensor  # how far the objective is from its minimum at most, (m,)

    def predict(self, z: Tensor) -> Tensor:
        """Return labels ``(m, n)`` of embeddings ``(n, d)`` by the classifiers of all ``C``."""
        scores = linear_scores(z, self.coefficients, self.intercepts)
        return self.classes[torch.cat([piece.argmax(2) for piece in scores]).mT]


def linear_scores(z: Tensor, w: Tensor, b: Tensor) -> Iterator[Tensor]:
    """Yield ``W z + b`` of ``m`` classifiers ``(m, k, d)`` and ``(m, k)``, a piece of the rows at a time."""
    for rows in split_rows(z, z.shape[1]):
        yield torch.addmm(b.flatten(), rows.to(w.dtype), w.flatten(0, 1).mT).view(-1, *b.shape)


def split_rows(rows: Tensor, d: int) -> tuple[Tensor, ...]:
    """Split rows with ``d`` columns, or their numbers, into pieces that a cache nearly holds in float64."""
    return torch.split(rows, max(1, min(ROWS_TOGETHER, PIECE_BYTES // (8 * max(1, d)))))


def logistic_regression(
    z: Tensor,
    y: Tensor,
    parts: Sequence[Tensor],
    cs: Sequence[float],
    *,
    tolerance: float = 1e-6,
    max_steps: int = 200,
    on_part: Callable[[], None] = lambda: None,
) -> list[LogisticPath]:
    r"""Fit L2-regularized softmax regression for every training part and every ``C``, to scikit-learn's optimum.

    .. math::
        f(W, b) = C \sum_i \Big( \log \sum_k e^{w_k^\top z_i + b_k} - w_{y_i}^\top z_i - b_{y_i} \Big)
                  + \tfrac12 \lVert W \rVert_F^2

    With two classes the penalty is twice that, as scikit-learn has one vector ``w = w₁ - w₀`` and ``½ |w|²`` then.

    :func:`solve_newton` solves the problems of a batch at once, in coordinates where ``ZᵀZ`` is nearly diagonal. As
    ``f`` is convex and its curvature in ``W`` at least 1,

    .. math::
        f(W, b) - f^* \le \tfrac12 \lVert \nabla_W f \rVert_F^2 + \nabla_b f^\top (b - b^*),

    and a problem is solved when this is at most ``tolerance · f``, with intercepts taken to be no further than 1 from
    the best. They have a Newton step of their own after every step, which leaves ``∇_b f`` next to nothing. Batches
    share the threads that torch may use, one each; the result does not depend on their number.

    Of embeddings ``z`` ``(n, d)`` only the rows in use are copied to float64, those of wide embeddings all at once if
    they take 1 GiB or less. All ``parts``, numbers of rows, have the same classes. A dozen Newton steps is usual;
    more than ``max_steps`` are an error. ``on_part`` is called after each part.
    """
    z, y = z.detach(), y.detach()
    classes = _check(z, y, parts, cs, tolerance)
    longest, d = max(len(part) for part in parts), z.shape[1]

    def find_axes() -> Tensor:
        rows = [z[part].double() for part in parts[:BASIS_PARTS]]
        return principal_axes([part.sub_(part.mean(0)) for part in rows])

    def solve(batch: Sequence[Tensor]) -> list[LogisticPath]:
        labels = [torch.searchsorted(classes, y[part]) for part in batch]
        data = PaddedParts([take(part) for part in batch], labels, axes)
        return _solve(data, classes, cs, tolerance, max_steps)

    size = max(1, min(PARTS_TOGETHER, BATCH_BYTES // (longest * (4 * min(d, longest) + 8 * len(classes) * len(cs)))))
    paths = []
    with _single_threads() as pool:
        # too wide to rotate every batch by axes of its own; a single thread's, so that their number changes nothing
        axes = pool.submit(find_axes).result() if WIDE < d <= longest else None
        take = rotate_rows(z, parts, axes, pool)
        for batch in pool.map(solve, [parts[start : start + size] for start in range(0, len(parts), size)]):
            for path in batch:
                paths.append(path)
                on_part()
    return paths


def _solve(
    data: PaddedParts, classes: Tensor, cs: Sequence[float], tolerance: float, max_steps: int
) -> list[LogisticPath]:
    """Solve all problems of a batch in its coordinates and bring them back."""
    unit = (2 if len(classes) == 2 else 1) / data.scale**2  # f(W; C) = unit · f(scale · W; C / unit) with |x| ≤ 1
    results = solve_newton(data, torch.tensor(list(cs), dtype=torch.float64) / unit, tolerance, max_steps)
    w, objective, gap = (result.view(-1, len(cs), *result.shape[1:]) for result in results)
    unsolved = ~(gap / objective <= tolerance)
    if unsolved.any():
        which = f"Logistic regression with C = {cs[int(unsolved.any(0).nonzero()[-1])]:g}"
        advice = "allow more steps or a larger tolerance, or let scikit-learn solve it"
        raise SfaError(f"{which} is not within {tolerance:g} of its optimum after {max_steps} steps; {advice}.")
    coefficients = torch.stack([data.to_embeddings(part, v) for part, v in enumerate(w[..., 1:].div_(data.scale))])
    intercepts = w[..., 0] - (coefficients @ data.mean[:, None, :, None]).squeeze(3)
    intercepts -= intercepts.mean(2, keepdim=True)
    paths = zip(coefficients, intercepts, unit * objective, unit * gap, strict=True)
    return [LogisticPath(classes, *path) for path in paths]


@contextmanager
def _single_threads() -> Iterator[Executor]:
    """Open as many threads as torch may use, each computing on its own."""
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def _check(z: Tensor, y: Tensor, parts: Sequence[Tensor], cs: Sequence[float], tolerance: float) -> Tensor:
    """Return the classes, if everything given can be used."""
    if z.dim() != 2 or not z.is_floating_point():
        raise InputError(f"Embeddings are a floating-point matrix (n, d), not {z.dtype} of shape {tuple(z.shape)}.")
    if y.shape != z.shape[:1] or y.is_floating_point():
        raise InputError(f"{len(z)} embeddings need as many whole numbers as labels, not {y.dtype} {tuple(y.shape)}.")
    if len(cs) == 0 or not all(0 < c < math.inf for c in cs) or not 1e-10 <= tolerance < 1:
        allowed = "C must be finite numbers above 0, and tolerance must be 1e-10 or more and below 1"
        raise InputError(f"{allowed}, not {list(cs)} and {tolerance}.")
    used = torch.unique(torch.cat([*parts, torch.empty(0, dtype=torch.int64)]))
    if len(used) == 0 or used[0] < 0 or used[-1] >= len(z):
        raise InputError(f"At least one training part is needed, with row numbers from 0 to {len(z) - 1}.")
    if not all(z[numbers].isfinite().all() for numbers in split_rows(used, z.shape[1])):
        raise InputError("Embeddings must be finite; there is NaN or infinity in a training part.")
    classes: Tensor = torch.unique(y[used])
    if len(classes) < 2:
        raise InputError(f"Labels of at least 2 classes are needed; there are {len(classes)}.")
    for number, part in enumerate(parts):
        missing = classes[~torch.isin(classes, y[part])]
        if len(missing) > 0:
            raise InputError(f"Training part {number} has no row of class {missing[0]}; each needs all classes.")
    return classes


class PaddedParts:
    """Training parts of a batch, rows ``(n, d)`` and labels ``(n,)`` of each, padded with rows of zeros.

    Rotations leave the penalty as it is. With more rows than columns one rotation serves all parts, as they are samples
    of the same embeddings: that to orthonormal ``axes`` ``(d, d)``, if the rows are given in their coordinates, or else
    to the principal axes of the batch. With fewer, each part's own has but as many directions as rows. The rows are
    overwritten.
    """

    def __init__(self, rows: Sequence[Tensor], labels: Sequence[Tensor], axes: Tensor | None = None) -> None:
        n, d = max(len(part) for part in rows), rows[0].shape[1]
        self.mean = torch.stack([part.mean(0) for part in rows])  # (parts, d)
        self.rows = [part.sub_(mean) for part, mean in zip(rows, self.mean, strict=True)]
        self.axes = principal_axes(self.rows) if axes is None and d <= n else axes
        if axes is not None:
            self.mean = self.mean @ axes
        x = rows[0].new_zeros(len(rows), n, 1 + (n if self.axes is None else d))
        self.inverse = []  # (n, n) for each part with a rotation of its own
        for part, place in zip(self.rows, x, strict=True):
            place[: len(part), 0] = 1
            if axes is not None:
                coordinates = part
            elif self.axes is None:
                coordinates, inverse = row_space(part)
                self.inverse.append(inverse)
            else:
                coordinates = part @ self.axes.mT
            place[: len(part), 1 : 1 + coordinates.shape[1]] = coordinates
        # length of the longest centered row, so that float32 has room for any embedding
        self.scale = float(torch.linalg.vector_norm(x[..., 1:], dim=2).amax()) or 1.0
        x[..., 1:] /= self.scale
        self.x = x  # (parts, n, r): a constant 1, then coordinates
        self.x_single = x.float()
        self.wide = x.shape[2] > WIDE
        self.x_low = self.x_single.bfloat16() if self.wide and has_fast_bfloat16(x.device) else self.x_single
        self.energy = self.x_single.square().sum(1)  # of each column, (parts, r)
        self.labels = pad_sequence(list(labels), batch_first=True)  # positions among the classes, (parts, n)
        self.valid = x[..., 0].contiguous()  # 1 for a row, 0 for padding, (parts, n)
        self.counts = torch.stack([part.bincount() for part in labels]).double()  # rows of each class, (parts, k)

    def to_embeddings(self, part: int, w: Tensor) -> Tensor:
        """Return coefficients ``(m, k, r - 1)`` of a part as those of embeddings, ``(m, k, d)``."""
        if self.axes is not None:
            return w @ self.axes
        return w[..., : len(self.rows[part])] @ self.inverse[part] @ self.rows[part]


def rotate_rows(z: Tensor, parts: Sequence[Tensor], axes: Tensor | None, pool: Executor) -> Callable[[Tensor], Tensor]:
    """Return a function that gives the rows of a part, along the axes if there are any, as a copy in float64.

    Splits share most rows, so that all are rotated once, unless that takes too much memory.
    """
    if axes is None:
        return lambda part: z[part].double()
    used = torch.unique(torch.cat(list(parts)))
    if 8 * len(used) * z.shape[1] > ROTATED_BYTES:
        return lambda part: z[part].double() @ axes.mT
    rotated = axes.new_empty(len(used), z.shape[1])

    def rotate(numbers: Tensor, place: Tensor) -> None:
        torch.mm(z[numbers].double(), axes.mT, out=place)

    list(pool.map(rotate, split_rows(used, z.shape[1]), split_rows(rotated, z.shape[1])))
    return lambda part: rotated[torch.searchsorted(used, part)]


def principal_axes(rows: Sequence[Tensor]) -> Tensor:
    """Return orthonormal axes ``(d, d)``, one a row, in which the sum of ``rowsᵀ rows`` is diagonal."""
    axes: Tensor = torch.linalg.eigh(torch.stack([part.mT @ part for part in rows]).sum(0)).eigenvectors.mT
    return axes


def row_space(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return coordinates ``(n, n)`` of rows ``(n, d)``, and ``A`` for which ``A rows`` are their principal axes."""
    eigenvalues, u = torch.linalg.eigh(rows @ rows.mT)
    kept = eigenvalues > 1e-12 * eigenvalues[-1]
    sigma = torch.where(kept, eigenvalues, 0).sqrt()
    inverse = torch.where(kept, eigenvalues, torch.inf).rsqrt()
    return u * sigma, inverse.unsqueeze(1) * u.mT
