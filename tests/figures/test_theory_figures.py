"""Pictures of the theory show the theory's numbers, at the settings of the paper's captions."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes

from sfa import theory
from sfa.figures import Takes
from sfa.figures.theory import (
    bound,
    draw_bound,
    draw_density,
    draw_levelling,
    draw_power_law,
    draw_push_forward,
    draw_simulation,
    draw_surrogate_error,
    draw_variants,
    levelling,
    simulation,
    tell_of_levelling,
)
from sfa.figures.theory.settings import spectra
from sfa.registry import registered

OTHERS = [1.5, 0.9, 0.2, 0.01]
ITERATIONS = [1, 2, 4, 8]


def line(panel: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    (found,) = [curve for curve in panel.lines if str(curve.get_label()).startswith(label)]
    x, y = found.get_data()
    return np.asarray(x), np.asarray(y)


def test_density() -> None:
    panels = draw_density().axes
    assert [panel.get_title(loc="left") for panel in panels] == [f"$k = {k}$" for k in ITERATIONS]
    for panel, k in zip(panels, ITERATIONS, strict=True):
        z, exact = line(panel, "exact")
        np.testing.assert_array_equal(exact, theory.density(z, [2, *OTHERS], 0, k))
        np.testing.assert_array_equal(line(panel, "surrogate")[1], theory.density(z, [2, *OTHERS], 0, k, "surrogate"))
        assert z[0] < 0.001
        assert z[-1] > 0.9999
        assert f"{theory.expectation([2, *OTHERS], k)[0]:.3f}" in [str(c.get_label())[-5:] for c in panel.lines]


def test_push_forward() -> None:
    panels = draw_push_forward().axes
    for panel, k in zip(panels, ITERATIONS, strict=True):
        leading, mean = line(panel, "$\\phi")
        assert (leading[0], leading[-1]) == (0, 3)
        for place in (0, 60, 200):
            assert mean[place] == theory.push_forward([leading[place], *OTHERS], k).mean[0]
        (band,) = panel.collections
        edges = band.get_paths()[0].vertices
        expected = theory.push_forward([3, *OTHERS], k)
        at_three = sorted(edges[edges[:, 0] == 3, 1])
        assert at_three[0] == pytest.approx((expected.mean - expected.deviation)[0])
        assert at_three[-1] == pytest.approx((expected.mean + expected.deviation)[0])


def test_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "DRAWS", 200)
    panels = draw_simulation().axes
    assert len(panels) == 8
    for panel, k in zip(panels[:4], ITERATIONS, strict=True):
        leading, drawn = panel.containers[0].lines[0].get_data()
        expected = theory.push_forward([[s, *OTHERS] for s in leading], k)
        error = expected.deviation[:, 0] / np.sqrt(200)
        assert (np.abs(drawn - expected.mean[:, 0]) <= 5 * error + 1e-9).all(), "the points lie on the curve"
        assert np.abs(drawn - expected.mean[:, 0]).max() > 0, "and are drawn, not computed"
    sigma = line(panels[4], "$\\sigma_i$ of $H$")[1]
    interlaced = line(panels[4], "$\\sigma_i$ of $\\widetilde")[1]
    np.testing.assert_allclose(interlaced, theory.simulate(sigma, 1, 200).spectrum.mean(axis=0)[:-1])


def test_levelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levelling, "DRAWS", 60)
    harsh, _, gentle = draw_levelling().axes
    assert (harsh.get_title(loc="left"), gentle.get_title(loc="left")) == (
        "8 passes of strength 1",
        "64 passes of strength 0.125",
    )
    flow = line(gentle, "flow")[1]
    distance = {}
    for panel in (harsh, gentle):
        _, drawn = panel.containers[0].lines[0].get_data()
        distance[panel] = np.abs(drawn - flow).max()
    assert distance[gentle] < 0.05 < 0.4 < distance[harsh], "harsh passes delete what gentle ones level"
    assert "from 6.3 to 1.2" in tell_of_levelling()


def test_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "MOST", 30)
    left, right = draw_bound().axes
    leading, axmin = line(left, "AxMin")
    np.testing.assert_array_equal(axmin, np.minimum(leading, 1.5))
    for k in ITERATIONS:
        phi = line(left, f"$k = {k}$")[1]
        assert (phi <= axmin + 1e-12).all(), "on the toy spectrum the paper's bound holds"
        np.testing.assert_array_equal(phi, theory.push_forward(spectra(leading), k).mean[:, 0])
    dashed = [curve.get_ydata() for curve in left.lines if curve.get_linestyle() == "--" and len(curve.get_ydata())]
    for k, jensen in zip(ITERATIONS, dashed, strict=True):
        np.testing.assert_array_equal(jensen, theory.jensen_bound(spectra(leading), k)[:, 0])
    counts, phi = right.lines[0].get_data()
    assert phi[counts == 1] < 1 < phi[counts == 30], "above many equal values it does not"
    exact = [theory.push_forward([3.0, *[1.0] * count], 1).mean[0] for count in counts]
    np.testing.assert_allclose(phi, exact, rtol=1e-10)


def test_power_law() -> None:
    (panel,) = draw_power_law().axes
    for k in ITERATIONS:
        ratio, weight = line(panel, f"$k = {k}$")
        np.testing.assert_allclose(weight, np.linspace(0, 1, len(ratio)) ** (2 * k))


def test_surrogate_error() -> None:
    of_mean, of_deviation, of_sum = draw_surrogate_error().axes
    leading, error = line(of_mean, "$k = 1$")
    at_one = int(np.abs(leading - 1).argmin())
    assert error[at_one] == pytest.approx(0.260 - 0.235, abs=1e-3), "0.260 for 0.235"
    assert of_deviation.lines[0].get_ydata().max() == pytest.approx(0.054, abs=1e-3)
    assert of_sum.lines[0].get_ydata()[-1] == pytest.approx(1.186, abs=1e-3)


def test_variants_show_maps_by_their_names() -> None:
    panels = draw_variants().axes
    titles = [panel.get_title(loc="left").split(",")[0] for panel in panels]
    assert len(set(titles)) == len(titles) > 1
    assert set(titles) <= set(registered("spectral"))
    for panel, title in zip(panels, titles, strict=True):
        sigma, drawn = panel.lines[0].get_data()
        of = {"sfa": lambda s: theory.push_forward(s, 1), "power-norm*": theory.rivals.power_norm_star}.get(
            title, getattr(theory.rivals, title.replace("-", "_").replace("*", ""), None)
        )
        expected = of(sigma, 1000) if title in ("whiten", "noise", "costa") else of(sigma)
        np.testing.assert_array_equal(drawn, expected.mean)
        (band,) = panel.collections
        edges = band.get_paths()[0].vertices
        widest = int(np.argmax(expected.deviation))
        there = edges[np.isclose(edges[:, 0], sigma[widest], rtol=1e-12), 1]
        assert there.max() - there.min() == pytest.approx(2 * expected.deviation[widest], abs=1e-9), title


def test_all_theory_figures_can_be_asked_for() -> None:
    names = {name for name, figure in registered("figure").items() if figure.takes is Takes.NO_RUN}
    parts = {"density", "push-forward", "simulation", "surrogate-error"}
    assert names == {"implicit-steps", "model", "toy", "variants", "bound", "power-law", "levelling", *parts}
