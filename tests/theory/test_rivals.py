"""The push-forward functions of the rivals are what their maps do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from sfa import spectral
from sfa.errors import InputError
from sfa.theory import PushForward, rivals
from tests.cases import each

SIGMA = np.array([2.5, 1.2, 0.8, 0.3, 0.05])
ROWS, DRAWS = 40, 4000


def map_with_spectrum(sigma: np.ndarray, n: int = ROWS) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A centred map, so that maps that centre have the same spectrum, and its singular vectors."""
    generator = torch.Generator().manual_seed(1)
    raw = torch.randn(n, len(sigma), dtype=torch.float64, generator=generator)
    u = torch.linalg.qr(raw - raw.mean(dim=0)).Q
    v = torch.linalg.qr(torch.randn(len(sigma), len(sigma), dtype=torch.float64, generator=generator)).Q
    return (u * torch.from_numpy(sigma)) @ v.T, u, v


def drawn(augment: Callable[[torch.Tensor, torch.Generator], torch.Tensor], draws: int = DRAWS) -> np.ndarray:
    """``(draws, d)``: what single calls leave along the singular vectors."""
    h, u, v = map_with_spectrum(SIGMA)
    h_tilde = augment(h.expand(draws, *h.shape), torch.Generator().manual_seed(2))
    return torch.einsum("ni,bnm,mi->bi", u, h_tilde, v).numpy()


def assert_agree(theory: PushForward, values: np.ndarray) -> None:
    """Mean and deviation within five standard errors."""
    error = values.std(axis=0) / np.sqrt(len(values))
    assert (np.abs(values.mean(axis=0) - theory.mean) <= 5 * error + 1e-6).all()
    fourth = ((values - values.mean(axis=0)) ** 4).mean(axis=0)
    of_variance = np.sqrt(np.maximum(0, fourth - values.var(axis=0) ** 2) / len(values))
    assert (np.abs(values.var(axis=0) - theory.deviation**2) <= 5 * of_variance + 1e-9).all()


@each(
    ("theory", "augment"),
    [
        (rivals.maxexp(SIGMA, 4, noise=0.0), lambda h, _: spectral.maxexp(h, 4, noise=0.0)),
        (rivals.power_norm(SIGMA, 0.3, noise=0.0), lambda h, _: spectral.power_norm(h, 0.3, noise=0.0)),
        (rivals.power_norm_star(SIGMA, 0.3, noise=0.0), lambda h, _: spectral.power_norm_star(h, 0.3, noise=0.0)),
        (rivals.grassmann(SIGMA, 3, noise=0.0), lambda h, _: spectral.grassmann(h, 3, noise=0.0)),
        (rivals.pca(SIGMA, 3), lambda h, _: spectral.pca(h, 3)),
        (rivals.precondition(SIGMA, 0.2), lambda h, _: spectral.precondition(h, 0.2)),
        (rivals.whiten(SIGMA, ROWS, 0.2), lambda h, _: spectral.whiten(h, 0.2)),
    ],
    ids=["maxexp", "power-norm", "power-norm*", "grassmann", "pca", "precondition", "whiten"],
)
def test_without_noise(theory: PushForward, augment: Callable[..., torch.Tensor]) -> None:
    assert not theory.deviation.any()
    np.testing.assert_allclose(drawn(augment, draws=1)[0], theory.mean, rtol=1e-5, atol=1e-6)


@each(
    ("theory", "augment"),
    [
        (
            rivals.maxexp(SIGMA, 3, noise=2.0),
            lambda h, generator: spectral.maxexp(h, 3, noise=2.0, generator=generator),
        ),
        (
            rivals.power_norm(SIGMA, 0.7, noise=0.5),
            lambda h, generator: spectral.power_norm(h, 0.7, noise=0.5, generator=generator),
        ),
        (
            rivals.power_norm_star(SIGMA, 0.7, noise=0.8),
            lambda h, generator: spectral.power_norm_star(h, 0.7, noise=0.8, generator=generator),
        ),
        (
            rivals.grassmann(SIGMA, 3, noise=0.4),
            lambda h, generator: spectral.grassmann(h, 3, noise=0.4, generator=generator),
        ),
        (
            rivals.noise(SIGMA, ROWS, 0.5),
            lambda h, generator: spectral.add_noise(h, 0.5, generator=generator),
        ),
    ],
    ids=["maxexp", "power-norm", "power-norm*", "grassmann", "noise"],
)
def test_with_noise(theory: PushForward, augment: Callable[..., torch.Tensor]) -> None:
    assert theory.deviation.any()
    assert_agree(theory, drawn(augment))


def test_costa_keeps_lengths_on_average() -> None:
    h, _, v = map_with_spectrum(SIGMA, n=8)
    h_tilde = spectral.costa(h.expand(DRAWS, *h.shape), 0.5, generator=torch.Generator().manual_seed(2))
    lengths = torch.linalg.vector_norm(h_tilde @ v, dim=-2).numpy()
    assert h_tilde.shape == (DRAWS, 4, 5)
    assert_agree(rivals.costa(SIGMA, 8, 0.5), lengths)


@each(
    "of", [rivals.maxexp, rivals.power_norm, rivals.power_norm_star, rivals.grassmann, rivals.pca, rivals.precondition]
)
def test_batches_orders_and_zeros(of: Callable[[np.ndarray], PushForward]) -> None:
    spectra = np.array([SIGMA, SIGMA[::-1], np.zeros(5)])
    mean, deviation = of(spectra)
    assert mean.shape == deviation.shape == (3, 5)
    np.testing.assert_allclose(mean[0], mean[1][::-1])
    np.testing.assert_allclose(mean[1], of(SIGMA[::-1]).mean)
    assert not mean[2].any()


@each(
    ("wrong", "key"),
    [
        (lambda: rivals.pca(SIGMA, 0), "kappa"),
        (lambda: rivals.grassmann(SIGMA, 1.5), "kappa"),  # type: ignore[arg-type]
        (lambda: rivals.maxexp(SIGMA, 0), "eta"),
        (lambda: rivals.maxexp(SIGMA, 3, noise=-1.0), "noise"),
        (lambda: rivals.power_norm(SIGMA, 5.0), "beta"),
        (lambda: rivals.power_norm_star(SIGMA, 0.5, noise=float("nan")), "noise"),
        (lambda: rivals.precondition(SIGMA, 0.0), "ridge"),
        (lambda: rivals.whiten(SIGMA, -4), "n"),
        (lambda: rivals.noise(SIGMA, 0), "n"),
        (lambda: rivals.costa(SIGMA, 8, 1.5), "ratio"),
    ],
)
def test_what_the_map_refuses_is_refused(wrong: Callable[[], PushForward], key: str) -> None:
    with pytest.raises(InputError, match=f"^{key} must be "):
        wrong()


def test_a_map_with_fewer_rows_than_features_has_zeros_that_count() -> None:
    h = torch.randn(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sigma = np.append(torch.linalg.svdvals(h).numpy(), np.zeros(3))
    flattened = torch.linalg.svdvals(spectral.precondition(h, 0.2)).numpy()
    np.testing.assert_allclose(rivals.precondition(sigma, 0.2).mean[:3], flattened, rtol=1e-9)
