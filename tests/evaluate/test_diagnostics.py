"""Diagnostics of feature maps, against references that spell out every sum."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sfa.evaluate import diagnose, effective_rank, relative_view_distance, uniformity, view_distance
from sfa.evaluate.diagnostics import UNIFORMITY_ROWS


def random_map(n: int = 12, d: int = 5, *, seed: int = 0) -> Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def squared_distance(a: list[float], b: list[float]) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def slow_alignment(a: Tensor, b: Tensor) -> float:
    return sum(squared_distance(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True))


def slow_uniformity(h: Tensor) -> float:
    units = [[x / math.hypot(*row) for x in row] for row in h.tolist() if any(row)]
    pairs = [(i, j) for i in range(len(units)) for j in range(i)]
    return math.log(sum(math.exp(-2 * squared_distance(units[i], units[j])) for i, j in pairs) / len(pairs))


def test_alignment_against_its_definition() -> None:
    a, b = random_map(seed=1), random_map(seed=2)
    size = (slow_alignment(a, torch.zeros_like(a)) + slow_alignment(b, torch.zeros_like(b))) / 2
    assert view_distance(a, b) == pytest.approx(slow_alignment(a, b), rel=1e-12)
    assert relative_view_distance(a, b) == pytest.approx(slow_alignment(a, b) / size, rel=1e-12)


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-10, 1e10))
def test_scaling_both_views_changes_the_distance_and_not_the_relative_one(seed: int, scale: float) -> None:
    a, b = random_map(seed=seed).double(), random_map(seed=seed + 1).double()
    assert view_distance(scale * a, scale * b) == pytest.approx(scale**2 * view_distance(a, b))
    assert relative_view_distance(scale * a, scale * b) == pytest.approx(relative_view_distance(a, b))
    assert 0 < relative_view_distance(a, b) < 4


def test_ends_of_the_scale() -> None:
    h = random_map()
    assert view_distance(h, h) == relative_view_distance(h, h) == 0
    assert relative_view_distance(h, -h) == pytest.approx(4)
    assert relative_view_distance(0 * h, 0 * h) == 0
    wide = random_map(2000, 50, seed=1), random_map(2000, 50, seed=2)
    assert relative_view_distance(*wide) == pytest.approx(2, abs=0.05)


def test_uniformity_against_its_definition() -> None:
    h = random_map()
    assert uniformity(h) == pytest.approx(slow_uniformity(h), rel=1e-12)
    h[3] = 0
    assert uniformity(h) == pytest.approx(slow_uniformity(h), rel=1e-12)


def test_uniformity_of_known_maps() -> None:
    lengths = torch.arange(1.0, 7)
    assert uniformity(torch.outer(lengths, torch.tensor([1.0, 2.0, 3.0]))) == pytest.approx(0, abs=1e-12)
    assert uniformity(torch.tensor([[1.0, 0.0], [-3.0, 0.0]])) == pytest.approx(-8)
    assert uniformity(torch.eye(6)) == pytest.approx(-4)


@pytest.mark.parametrize("h", [torch.zeros(4, 3), torch.ones(1, 3), torch.empty(0, 3)], ids=["zeros", "one", "none"])
def test_rows_that_make_no_pair_count_as_collapsed(h: Tensor) -> None:
    assert uniformity(h) == 0


def test_uniformity_does_not_depend_on_lengths_nor_on_a_rotation() -> None:
    h = random_map().double()
    lengths = torch.rand(len(h), 1, generator=torch.Generator().manual_seed(0)) + 0.1
    rotation, _ = torch.linalg.qr(random_map(5, 5).double())
    assert uniformity(lengths * h) == pytest.approx(uniformity(h))
    assert uniformity(h @ rotation) == pytest.approx(uniformity(h))


def test_a_sample_stands_for_many_rows() -> None:
    h = random_map(10, 3)
    assert uniformity(h, rows=4) == pytest.approx(slow_uniformity(h[[0, 2, 5, 7]]))
    assert uniformity(h, rows=10) == uniformity(h, rows=100) == uniformity(h)
    many = random_map(300_000, 3)  # all pairs would need 720 GB
    assert uniformity(many) == pytest.approx(uniformity(many[1::290]), abs=0.05)
    assert UNIFORMITY_ROWS <= 2048


def test_all_of_them() -> None:
    maps = [random_map(seed=seed) for seed in range(4)]
    found = diagnose(*maps)
    assert found is not None
    for suffix, (a, b) in {"": maps[:2], "_tilde": maps[2:]}.items():
        values = {name: getattr(found, name + suffix) for name in ("sigma", "effective_rank", "uniformity")}
        assert values["sigma"] == pytest.approx(torch.linalg.svdvals(a.double()).tolist(), rel=1e-6)
        assert values["effective_rank"] == pytest.approx(effective_rank(a), rel=1e-6)
        assert values["uniformity"] == pytest.approx(slow_uniformity(a), rel=1e-6)
        assert getattr(found, f"alignment{suffix}") == pytest.approx(slow_alignment(a, b), rel=1e-6)
        assert getattr(found, f"alignment_relative{suffix}") == pytest.approx(relative_view_distance(a, b), rel=1e-6)


def test_plain_short_numbers_that_survive_json() -> None:
    found = diagnose(*(random_map(seed=seed) for seed in range(4)))
    assert found is not None
    written = json.dumps(asdict(found), allow_nan=False)
    assert json.loads(written) == asdict(found)
    numbers = [number for value in asdict(found).values() for number in (value if isinstance(value, list) else [value])]
    assert all(type(number) is float for number in numbers)
    assert all(float(f"{number:.7g}") == number for number in numbers)


def test_a_map_that_changes_the_number_of_rows() -> None:
    found = diagnose(random_map(12), random_map(12, seed=1), random_map(3), random_map(3, seed=1))
    assert found is not None
    assert (len(found.sigma), len(found.sigma_tilde)) == (5, 3)
    assert found.alignment_tilde == pytest.approx(slow_alignment(random_map(3), random_map(3, seed=1)), rel=1e-6)


def test_a_single_view_has_no_alignment() -> None:
    h = random_map()
    one, two = diagnose(h, None, 2 * h, None), diagnose(h, h, 2 * h, 2 * h)
    assert one is not None
    assert two is not None
    assert one.alignment is one.alignment_relative is one.alignment_tilde is one.alignment_relative_tilde is None
    assert (one.sigma, one.uniformity_tilde) == (two.sigma, two.uniformity_tilde)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("place", range(4))
def test_maps_that_are_not_finite_raise_nothing(bad: float, place: int) -> None:
    maps = [random_map(seed=seed) for seed in range(4)]
    maps[place][1, 1] = bad
    assert diagnose(*maps) is None


def test_a_collapsed_map_has_finite_numbers() -> None:
    zero = torch.zeros(6, 3)
    found = diagnose(zero, zero, zero, zero)
    assert found is not None
    assert (found.effective_rank, found.uniformity, found.alignment, found.alignment_relative) == (0, 0, 0, 0)


def test_each_map_is_decomposed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decompose, calls = torch.linalg.eigvalsh, []
    monkeypatch.setattr(torch.linalg, "eigvalsh", lambda gram: calls.append(gram.shape) or decompose(gram))
    diagnose(*(random_map(100, 5, seed=seed) for seed in range(4)))
    assert calls == [(5, 5), (5, 5)]
