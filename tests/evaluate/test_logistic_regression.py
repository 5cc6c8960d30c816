"""Batched logistic regression, against scikit-learn and an objective that spells out every sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import InputError, SfaError
from sfa.evaluate import logistic_regression as regression
from sfa.evaluate import newton
from sfa.evaluate.logistic_regression import LogisticPath, PaddedParts, logistic_regression
from sfa.evaluate.newton import (
    Problems,
    compute_direction,
    compute_gradient,
    compute_objective,
    initialize,
    inner,
    multiply_hessian,
    multiply_parts,
    search_line,
)

CS = (1e-3, 1e-1, 1.0, 30.0, 1e4)


def problem(n: int, d: int, k: int, *, seed: int = 0, signal: float = 1.0) -> tuple[Tensor, Tensor]:
    """Embeddings with a fast-falling spectrum, and labels of which each class has some."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % k
    means = signal * torch.randn(k, d, generator=generator, dtype=torch.float64)
    noise = torch.randn(n, d, generator=generator, dtype=torch.float64) * torch.linspace(2, 0.01, d)
    return means[y] / d**0.5 + noise, y


def solve_one(z: Tensor, y: Tensor, cs: Sequence[float] = CS, *, tolerance: float = 1e-9) -> LogisticPath:
    return logistic_regression(z, y, [torch.arange(len(z))], cs, tolerance=tolerance)[0]


def by_scikit_learn(z: Tensor, y: Tensor, c: float) -> tuple[np.ndarray, np.ndarray]:
    with threadpool_limits(1):
        fit = LogisticRegression(C=c, tol=1e-10, max_iter=100_000).fit(z.numpy(), y.numpy())
    return fit.coef_, fit.intercept_


def slow_objective(z: Tensor, y: Tensor, c: float, w: np.ndarray, b: np.ndarray) -> float:
    """scikit-learn's: one vector for two classes, else one for each; classes are 0, 1, …"""
    total = 0.0
    for row, label in zip(z.tolist(), y.tolist(), strict=True):
        scores = [
            sum(x * v for x, v in zip(row, vector, strict=True)) + shift for vector, shift in zip(w, b, strict=True)
        ]
        scores = [0.0, *scores] if len(scores) == 1 else scores
        largest = max(scores)
        total += largest + math.log(sum(math.exp(score - largest) for score in scores)) - scores[label]
    return c * total + sum(v * v for vector in w for v in vector) / 2


def as_scikit_learn(path: LogisticPath, i: int) -> tuple[np.ndarray, np.ndarray]:
    w, b = path.coefficients[i].numpy(), path.intercepts[i].numpy()
    return (w[1:] - w[:1], b[1:] - b[:1]) if len(w) == 2 else (w, b)


@pytest.mark.parametrize(
    ("n", "d", "k"), [(60, 5, 2), (60, 5, 3), (30, 80, 2), (40, 100, 4), (150, 20, 7), (31, 30, 3), (9, 1, 3)]
)
def test_the_optimum_is_scikit_learns(n: int, d: int, k: int) -> None:
    z, y = problem(n, d, k)
    path = solve_one(z, y)
    for i, c in enumerate(CS):
        (w, b), (w_sklearn, b_sklearn) = as_scikit_learn(path, i), by_scikit_learn(z, y, c)
        np.testing.assert_allclose(w, w_sklearn, atol=2e-3 * np.abs(w_sklearn).max())
        np.testing.assert_allclose(b, b_sklearn, atol=2e-3 * max(1, np.abs(w_sklearn).max()))
        theirs = slow_objective(z, y, c, w_sklearn, b_sklearn)
        assert path.objective[i] == pytest.approx(slow_objective(z, y, c, w, b), rel=1e-10)
        assert path.objective[i] <= theirs * (1 + 1e-8)
        assert path.objective[i] == pytest.approx(theirs, rel=1e-4)


@settings(max_examples=20)
@given(
    n=st.integers(8, 60),
    d=st.integers(1, 40),
    k=st.integers(2, 4),
    log_c=st.floats(-3, 5),
    signal=st.floats(0, 3),
    seed=st.integers(0, 999),
)
def test_the_gap_is_a_bound_and_within_the_tolerance(
    n: int, d: int, k: int, log_c: float, signal: float, seed: int
) -> None:
    z, y = problem(n, d, k, seed=seed, signal=signal)
    rough, fine = (solve_one(z, y, [10**log_c], tolerance=tolerance) for tolerance in (1e-3, 1e-10))
    assert float(rough.objective - fine.objective) <= float(rough.gap) * (1 + 1e-6) + 1e-9 * float(fine.objective)
    assert rough.gap <= 1e-3 * rough.objective
    assert fine.gap <= 1e-10 * fine.objective
    assert fine.objective <= rough.objective * (1 + 1e-12)


@pytest.mark.parametrize(("n", "d"), [(500, 400), (400, 450)])
def test_wide_embeddings_have_the_same_optimum_with_products_in_bfloat16(
    n: int, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With axes that parts share, of which one has fewer rows than columns, and with a rotation for each."""
    z, y = problem(n, d, 3)
    parts = [torch.arange(n), torch.arange(0, n, 2), torch.arange(1, n)]
    found = []
    for low, room in ((True, 2**30), (False, 2**30), (True, 0)):
        monkeypatch.setattr(regression, "has_fast_bfloat16", lambda device, low=low: low)
        monkeypatch.setattr(regression, "ROTATED_BYTES", room)
        found.append(logistic_regression(z, y, parts, CS, tolerance=1e-9))
    for a, b, c, part in zip(*found, parts, strict=True):
        assert (a.gap <= 1e-9 * a.objective).all()
        torch.testing.assert_close(a.objective, b.objective, rtol=2e-9, atol=0)
        torch.testing.assert_close(a.objective, c.objective, rtol=2e-9, atol=0)
        slow = slow_objective(z[part], y[part], CS[3], a.coefficients[3].numpy(), a.intercepts[3].numpy())
        assert a.objective[3] == pytest.approx(slow, rel=1e-9)


def test_coefficients_and_intercepts_sum_to_zero_over_classes() -> None:
    path = solve_one(*problem(60, 5, 4))
    torch.testing.assert_close(path.coefficients.sum(1), torch.zeros(len(CS), 5).double(), rtol=0, atol=1e-2)
    torch.testing.assert_close(path.intercepts.sum(1), torch.zeros(len(CS)).double(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("d", [6, 70])
def test_parts_of_other_sizes_do_not_disturb_each_other(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven parts, padded and in batches, against each alone."""
    z, y = problem(200, d, 3)
    generator = torch.Generator().manual_seed(1)
    parts = [torch.randperm(200, generator=generator)[: 20 + 7 * i] for i in range(7)]
    called: list[int] = []
    together = logistic_regression(z, y, parts, CS, tolerance=1e-9, on_part=lambda: called.append(1))
    assert len(called) == len(together) == 7
    monkeypatch.setattr(regression, "BATCH_BYTES", 1)
    one_by_one = logistic_regression(z, y, parts, CS, tolerance=1e-9)
    for part, a, b in zip(parts, together, one_by_one, strict=True):
        alone = solve_one(z[part], y[part])
        for path in (a, b):
            torch.testing.assert_close(path.objective, alone.objective, rtol=3e-9, atol=0)
            scale = float(alone.coefficients.abs().max())
            torch.testing.assert_close(path.coefficients, alone.coefficients, rtol=0, atol=1e-3 * scale)


def threads_of_new_threads() -> int:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(torch.get_num_threads).result()


@pytest.mark.parametrize(("n", "d", "count"), [(120, 10, 11), (500, 400, 2)])
def test_threads_change_nothing_and_are_given_back(n: int, d: int, count: int) -> None:
    z, y = problem(n, d, 3)
    parts = [torch.arange(i, n - 90 + 9 * i) for i in range(count)]
    before = torch.get_num_threads()
    try:
        alone = logistic_regression(z, y, parts, CS)
        torch.set_num_threads(3)
        several = logistic_regression(z, y, parts, CS)
        assert threads_of_new_threads() == 3
        with regression._single_threads() as pool:
            assert list(pool.map(lambda _: torch.get_num_threads(), range(5))) == [1] * 5

        def stop() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            logistic_regression(z, y, parts, CS, on_part=stop)
        assert torch.get_num_threads() == threads_of_new_threads() == 3
    finally:
        torch.set_num_threads(before)
    for a, b in zip(alone, several, strict=True):
        assert torch.equal(a.coefficients, b.coefficients)
        assert torch.equal(a.intercepts, b.intercepts)


def started(n: int, d: int, k: int, c: float) -> tuple[PaddedParts, Problems, Tensor, Tensor]:
    """One problem away from its start, with its probabilities and gradient."""
    z, y = problem(n, d, k)
    data = PaddedParts([z], [y])
    problems = initialize(data, torch.tensor([c]).double())
    w = torch.randn(problems.w.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    scores = multiply_parts(w, data.x.mT, problems.part)
    problems = problems._replace(w=w, scores=scores)
    p = scores.softmax(1)
    return data, problems, p, compute_gradient(data, problems, p)


@pytest.mark.parametrize(("n", "d", "k"), [(30, 4, 3), (12, 20, 4)])
def test_gradient_and_newton_direction_against_automatic_derivatives(n: int, d: int, k: int) -> None:
    c = 5.0
    data, problems, p, gradient = started(n, d, k, c)

    def objective(w: Tensor) -> Tensor:
        cross_entropy = torch.nn.functional.cross_entropy(data.x[0] @ w.mT, data.labels[0], reduction="sum")
        return c * cross_entropy + w[:, 1:].square().sum() / 2

    w = problems.w[0]
    torch.testing.assert_close(gradient[0], torch.autograd.functional.jacobian(objective, w))
    hessian = torch.autograd.functional.hessian(objective, w).flatten(2).flatten(0, 1)
    direction = compute_direction(data, problems, p, gradient, torch.tensor([1e-5]).double(), data.x_single)
    torch.testing.assert_close(hessian @ direction.flatten(), -gradient.flatten(), rtol=0, atol=1e-3)


def test_curvature_keeps_its_digits_where_a_class_is_almost_certain() -> None:
    data, problems, _, _ = started(30, 4, 3, 1.0)
    p = torch.full((1, 3, 30), 1e-7, dtype=torch.float64).scatter(1, data.labels.unsqueeze(1), 1 - 2e-7)
    q = problems.w + 100  # a shift of all classes has no curvature
    ridge = torch.zeros(1, 1, data.x.shape[2])
    labels = data.labels.unsqueeze(1)
    found = multiply_hessian(data.x_single, problems.part, p.float(), labels, ridge, q.float())
    t = q @ data.x.mT
    expected = (p * (t - (p * t).sum(1, keepdim=True))) @ data.x
    torch.testing.assert_close(found.double(), expected, rtol=1e-2, atol=1e-2 * float(expected.abs().max()))


@pytest.mark.parametrize("length", [1.0, 1e3, 1e6])
def test_a_step_that_is_too_long_is_made_shorter(length: float) -> None:
    data, problems, p, gradient = started(30, 4, 3, 100.0)
    before = compute_objective(data, problems, problems.scores, inner(problems.w, problems.w))
    direction = length * compute_direction(data, problems, p, gradient, torch.tensor([0.1]).double(), data.x_single)
    after = search_line(data, problems, before, gradient, direction)
    scores = multiply_parts(after.w, data.x.mT, after.part)
    torch.testing.assert_close(after.scores, scores)
    assert compute_objective(data, after, scores, inner(after.w, after.w)) < before


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize(("n", "d"), [(50, 6), (50, 70), (420, 400)])
def test_the_unit_of_the_embeddings_is_free(scale: float, n: int, d: int) -> None:
    """``s z`` with ``C / s²`` is the same problem, and float32 inside does not see ``s``."""
    z, y = problem(n, d, 3)
    plain, scaled = solve_one(z, y), solve_one(scale * z, y, [c / scale**2 for c in CS])
    torch.testing.assert_close(scaled.objective * scale**2, plain.objective, rtol=1e-8, atol=0)
    largest = float(plain.coefficients.abs().max())
    torch.testing.assert_close(scaled.coefficients * scale, plain.coefficients, rtol=0, atol=1e-3 * largest)


@pytest.mark.parametrize(("n", "d"), [(60, 5), (420, 400)])
def test_a_shift_of_the_embeddings_goes_into_the_intercepts(n: int, d: int) -> None:
    z, y = problem(n, d, 3)
    plain, shifted = solve_one(z, y), solve_one(z + 1000, y)
    torch.testing.assert_close(shifted.objective, plain.objective, rtol=1e-8, atol=0)
    assert torch.equal(shifted.predict(z + 1000), plain.predict(z))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_embeddings_of_any_dtype_are_what_they_are_in_double(dtype: torch.dtype) -> None:
    z, y = problem(60, 5, 3)
    z = z.to(dtype).requires_grad_()
    found, expected = solve_one(z, y), solve_one(z.detach().double(), y)
    assert torch.equal(found.coefficients, expected.coefficients)
    assert found.coefficients.dtype == torch.float64
    assert not found.coefficients.requires_grad


def test_embeddings_that_say_nothing_leave_the_frequencies() -> None:
    y = torch.tensor([0] * 6 + [1] * 3 + [2])
    path = solve_one(torch.full((10, 4), 7.0), y, [1.0])
    assert path.coefficients.abs().max() == 0
    torch.testing.assert_close(path.intercepts.softmax(1), torch.tensor([[0.6, 0.3, 0.1]]).double())
    entropy = -sum(p * math.log(p) for p in (0.6, 0.3, 0.1))
    assert path.objective.item() == pytest.approx(10 * entropy)


def test_repeated_rows_and_columns() -> None:
    z, y = problem(20, 3, 2)
    rows = solve_one(torch.cat([z, z]), torch.cat([y, y]), [1.0])
    torch.testing.assert_close(rows.coefficients, solve_one(z, y, [2.0]).coefficients, rtol=1e-4, atol=1e-6)
    columns = solve_one(torch.cat([z, z], 1), y, [1.0])
    expected = solve_one(2**0.5 * z, y, [1.0]).coefficients / 2**0.5
    torch.testing.assert_close(columns.coefficients, torch.cat([expected, expected], 2), rtol=1e-4, atol=1e-6)


def test_labels_are_any_numbers_and_those_outside_the_parts_are_not_looked_at() -> None:
    z, y = problem(40, 5, 3)
    names = torch.tensor([-7, 3, 1000])
    more = torch.cat([z, torch.full((5, 5), torch.nan).double()])
    labels = torch.cat([names[y], torch.full((5,), -1)])
    (path,) = logistic_regression(more, labels, [torch.arange(40)], CS)
    plain = solve_one(z, y, tolerance=1e-6)
    assert path.classes.tolist() == names.tolist()
    assert torch.equal(path.coefficients, plain.coefficients)
    assert torch.equal(path.predict(z), names[plain.predict(z)])


def test_low_precision_gives_way_to_float32_where_it_does_not_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    z, y = problem(60, 5, 3)
    data = PaddedParts([z], [y])
    data.x_low = torch.zeros_like(data.x_low)  # as if it knew nothing
    monkeypatch.setattr(newton, "LOW_STEPS", 2)
    _, objective, gap = newton.solve_newton(data, torch.tensor([1.0, 100.0]).double(), 1e-9, 200)
    assert (gap <= 1e-9 * objective).all()


def test_gradients_in_float32_are_no_part_of_the_result() -> None:
    z, y = problem(60, 5, 3)
    found = []
    for wide in (False, True):
        data = PaddedParts([z], [y])
        data.wide = wide
        data.x_single = data.x_single * (1.1 if wide else 1)  # as if it were of very few digits
        found.append(newton.solve_newton(data, torch.tensor([1.0, 100.0]).double(), 1e-9, 200))
    for w, objective, gap in found:
        assert (gap <= 1e-9 * objective).all()
        scores = w @ data.x[0].mT  # (2, k, n)
        cross_entropy = torch.nn.functional.cross_entropy(scores, y.expand(2, -1), reduction="none")
        exact = torch.tensor([1.0, 100.0]) * cross_entropy.sum(1) + inner(w, w) / 2
        torch.testing.assert_close(objective, exact, rtol=1e-12, atol=0)
    torch.testing.assert_close(found[1][1], found[0][1], rtol=2e-9, atol=0)


def test_predictions_are_the_largest_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    z, y = problem(60, 5, 3)
    path = solve_one(z, y)
    scores = torch.einsum("mkd,nd->mnk", path.coefficients, z) + path.intercepts[:, None]
    assert torch.equal(path.predict(z), scores.argmax(2))
    monkeypatch.setattr(regression, "ROWS_TOGETHER", 7)
    assert torch.equal(path.predict(z.float()), scores.argmax(2))


def test_what_has_not_converged_is_an_error() -> None:
    z, y = problem(150, 20, 7)
    with pytest.raises(SfaError, match="optimum after 2 steps"):
        logistic_regression(z, y, [torch.arange(150)], [1e-3, 1e4], max_steps=2)
    with pytest.raises(SfaError, match="after 0 steps"):
        logistic_regression(z, y, [torch.arange(150)], [1.0], max_steps=0)


def test_a_rounding_floor_is_an_error_too() -> None:
    """No float64 gradient is small enough for such a ``C``; to say so is all that can be done."""
    z, y = problem(150, 20, 7)
    with pytest.raises(SfaError, match="is not within"):
        logistic_regression(z, y, [torch.arange(150)], [1e25], tolerance=1e-10, max_steps=30)


BASE = {"z": torch.eye(4), "y": torch.tensor([0, 1, 0, 1]), "parts": [torch.arange(4)], "cs": [1.0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"z": torch.ones(4)}, r"floating-point matrix \(n, d\)"),
        ({"z": torch.ones(4, 2, dtype=torch.int64)}, r"torch.int64 of shape \(4, 2\)"),
        ({"y": torch.tensor([0, 1, 0])}, "4 embeddings need as many"),
        ({"y": torch.ones(4)}, "whole numbers as labels"),
        ({"cs": []}, "C must be"),
        ({"cs": [1.0, 0.0]}, "C must be"),
        ({"cs": [math.nan]}, "C must be"),
        ({"cs": [math.inf]}, "C must be"),
        ({"tolerance": 0.0}, "tolerance must be"),
        ({"tolerance": 1.0}, "tolerance must be"),
        ({"parts": []}, "At least one training part"),
        ({"parts": [torch.tensor([], dtype=torch.int64)]}, "row numbers from 0 to 3"),
        ({"parts": [torch.tensor([0, 4])]}, "row numbers from 0 to 3"),
        ({"parts": [torch.tensor([-1, 1])]}, "row numbers from 0 to 3"),
        ({"z": torch.full((4, 2), torch.inf)}, "must be finite"),
        ({"parts": [torch.tensor([0, 2])]}, "at least 2 classes"),
        ({"parts": [torch.arange(4), torch.tensor([0, 2])]}, "Training part 1 has no row of class 1"),
    ],
)
def test_wrong_input_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        logistic_regression(**(BASE | change))  # type: ignore[arg-type]
