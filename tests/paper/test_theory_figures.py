"""The figures of the paper by number, and what those of the theory show, at the settings of its captions."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes

from sfa import theory
from sfa.errors import InputError
from sfa.paper.figures import NO_RUN, RUNS, find_figure, implicit_steps, more_theory, toy
from sfa.paper.figures.implicit_steps import (
    ANGLE,
    NEAR,
    STEP,
    align,
    draw_implicit_steps,
    make_views,
    tell_of_implicit_steps,
    until_near,
)
from sfa.paper.figures.more_theory import (
    draw_bound,
    draw_levelling,
    draw_power_law,
    draw_surrogate_error,
    draw_variants,
    tell_of_bound,
    tell_of_levelling,
    tell_of_power_law,
)
from sfa.paper.figures.toy import (
    DECAY,
    draw_density,
    draw_model,
    draw_push_forward,
    draw_simulation,
    draw_toy,
    spectra,
    tell_of_push_forward,
)
from sfa.registry import registered, resolve

OTHERS = [1.5, 0.9, 0.2, 0.01]
ITERATIONS = [1, 2, 4, 8]


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(toy, "DRAWS", 50)
    return 50


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def radii(panel: Axes, place: int) -> np.ndarray:
    return np.hypot(*(np.asarray(data) for data in panel.lines[place].get_data()))


def test_the_paper_has_ten_figures() -> None:
    assert {figure.number for figure in registered("figure").values() if (figure.number or "x").isdecimal()} == set(
        map(str, range(1, 11))
    )
    names = {"1": "implicit-steps", "2": "model", "3": "toy", "3B": "push-forward", "4": "run-time", "5": "spectrum"}
    names |= {"6": "alignment", "7": "variants", "8": "bound", "9": "alignment-by-dataset", "10": "power-law"}
    for number, name in names.items():
        assert find_figure(number) is resolve("figure", name)


@pytest.mark.parametrize("number", ["0", "11", "2b", "3d", "07"])
def test_a_number_that_there_is_not(number: str) -> None:
    with pytest.raises(InputError, match=f"no figure {number}.*3, 3a, 3b, 3c, 4"):
        find_figure(number)


def test_every_figure_of_the_paper_has_its_caption_and_a_finding() -> None:
    for figure in registered("figure").values():
        if figure.number is not None:
            assert figure.caption
            assert figure.tell
        assert bool(figure.datasets) == (figure.takes == RUNS)


def test_toy_views_are_turned_and_else_alike() -> None:
    views = make_views()
    assert views.angles() == pytest.approx([ANGLE] * 8)
    for h in (views.alpha, views.beta):
        assert torch.allclose(torch.linalg.svdvals(h), views.sigma)
    mean = theory.push_forward(views.sigma.numpy(), 1).mean
    assert torch.linalg.svdvals(views.rebalanced().beta).numpy() == pytest.approx(np.sort(mean)[::-1])


def weights(values: np.ndarray) -> np.ndarray:
    """How fast each pair turns: the loss is -Σ (values of the pair)² cos θ, and a step moves both signs of the skew."""
    return np.rad2deg(2 * STEP * np.sin(np.deg2rad(ANGLE)) * (values**2).reshape(-1, 2).sum(axis=1))


def test_a_gradient_step_turns_each_pair_by_its_weight() -> None:
    views = make_views()
    first = next(align(views, spectral=False))
    assert ANGLE - first.angles() == pytest.approx(weights(views.sigma.numpy()))


def test_with_the_layer_the_weights_are_on_average_those_of_the_push_forward_function() -> None:
    views = make_views()
    turned = ANGLE - np.array([next(align(views, spectral=True, seed=seed)).angles() for seed in range(200)])
    mean, error = turned.mean(axis=0), turned.std(axis=0) / np.sqrt(200)
    expected = weights(theory.push_forward(views.sigma.numpy(), 1).mean)
    assert (np.abs(mean - expected) < 4 * error).all()
    assert mean[0] + 4 * error[0] < 0.6 * weights(views.sigma.numpy())[0]


def test_descent_ends_once_the_leading_pair_is_near() -> None:
    path = list(zip(range(200), align(make_views(), spectral=False), strict=False))
    end, steps = until_near(views for _, views in path)
    assert path[steps - 2][1].angles()[0] > NEAR >= end.angles()[0]
    assert (np.diff(end.angles()) > 0).all(), "the smaller the values, the more is left"


@pytest.fixture(scope="module")
def steps() -> dict[str, Axes]:
    """The panels of the three steps, by their titles."""
    names = ("1  unaligned", "2  rebalanced", "3  noise", "4  aligned", "all pairs")
    titles = {panel.get_title(loc="left"): panel for panel in draw_implicit_steps().axes}
    return {name: next(panel for title, panel in titles.items() if title.startswith(name)) for name in names}


def test_the_panels_of_the_three_steps(steps: dict[str, Axes]) -> None:
    unaligned, rebalanced, noise, aligned, pairs = steps.values()
    views = make_views()
    sigma, phi = views.sigma.numpy(), views.rebalanced().sigma.numpy()
    for panel, values in ((unaligned, sigma), (rebalanced, phi)):
        for ellipse in (0, 3):
            radius = radii(panel, ellipse)
            assert (radius.max(), radius.min()) == pytest.approx((values[:2].max(), values[:2].min()), rel=1e-3)
        assert radii(panel, 1)[1] == pytest.approx(values[0]), "the bar of the first vector"
    tilt = [np.rad2deg(np.arctan2(*np.asarray(unaligned.lines[bar].get_xydata())[1][::-1])) for bar in (1, 4)]
    assert tilt[1] - tilt[0] == pytest.approx(ANGLE)
    assert len(noise.lines) == 2 * implicit_steps.DRAWS
    sizes = {round(float(radii(noise, place).max()), 6) for place in range(implicit_steps.DRAWS)}
    assert len(sizes) == implicit_steps.DRAWS
    assert max(sizes) <= sigma[0] + 1e-9, "a projection makes nothing longer"
    bars = [np.asarray(aligned.lines[bar].get_xydata())[1] for bar in (1, 4)]
    assert np.linalg.norm(bars[1] - bars[0]) < 0.12 * np.linalg.norm(bars[0])
    start, plain, longer, spectral = (np.asarray(line.get_ydata()) for line in pairs.lines)
    assert start == pytest.approx([ANGLE] * 8)
    assert max(plain[0], spectral[0]) <= NEAR
    assert spectral[-1] < plain[-1]
    assert longer[0] < spectral[0]


def test_the_finding_of_the_three_steps_is_in_its_panel(steps: dict[str, Axes]) -> None:
    _, plain, longer, spectral = (np.asarray(line.get_ydata()) for line in steps["all pairs"].lines)
    found = re.search(r"the last is (\d+)° off with SFA and (\d+)° without.* leave (\d+)°", tell_of_implicit_steps())
    assert found is not None
    assert [int(degrees) for degrees in found.groups()] == [round(line[-1]) for line in (spectral, plain, longer)]


def test_the_model_shows_real_views_and_real_spectra(few_draws: int) -> None:
    drawing, right = draw_model().axes
    dotted = [line for line in drawing.lines if line.get_linestyle() == ":"]
    assert len(drawing.lines) == 3 * len(toy.EDGES)
    assert 0 < len(dotted) < len(toy.EDGES), "some edges of the two views are gone"
    texts = {text.get_text() for text in drawing.texts}
    assert {"SFA", "loss", "$\\mathcal{A}_G$", "$H^\\alpha$", "$\\widetilde{H}^\\beta$", "$Z^\\alpha$"} <= texts
    before, after, _, again = ([bar.get_height() for bar in group] for group in drawing.containers)
    assert np.array(before) / before[0] == pytest.approx(DECAY[:8] / DECAY[0])
    assert after != again, "each view has a draw of its own"
    for shrunk in (after, again):
        values = np.array(shrunk) / before[0] * DECAY[0]
        assert (values <= DECAY[:8] + 1e-9).all()
        assert (values >= DECAY[1:9] - 1e-9).all(), "the spectrum of a single draw interlaces"
    drawn = right.containers[0].lines[0].get_ydata()
    assert drawn == pytest.approx(theory.simulate(DECAY, 1, few_draws).push_forward.mean(axis=0))


def test_the_toy_figure_is_its_three_parts(few_draws: int) -> None:
    axes = draw_toy().axes
    rows = [axes[place : place + 4] for place in (0, 4, 8)]
    assert [panel.get_title(loc="left") for panel in rows[0]] == [f"$k = {k}$" for k in (1, 2, 4, 8)]
    assert [row[0].get_ylabel()[:3] for row in rows] == ["(a)", "(b)", "(c)"]
    for place, k in enumerate((1, 2, 4, 8)):
        z, exact = rows[0][place].lines[0].get_data()
        assert exact[200] == theory.density(z[200:201], [2, 1.5, 0.9, 0.2, 0.01], 0, k)[0]
        leading, mean = rows[1][place].lines[1].get_data()
        assert mean[100] == theory.push_forward([leading[100], 1.5, 0.9, 0.2, 0.01], k).mean[0]
        some, drawn = rows[2][place].containers[0].lines[0].get_data()
        theirs = theory.push_forward([[s, 1.5, 0.9, 0.2, 0.01] for s in some], k)
        assert (np.abs(drawn - theirs.mean[:, 0]) <= 5 * theirs.deviation[:, 0] / np.sqrt(few_draws) + 1e-9).all()


def test_findings_are_computed() -> None:
    leading = np.linspace(1, 3, 81)
    phi, omega = (part[:, 0] for part in theory.push_forward([[s, 1.5, 0.9, 0.2, 0.01] for s in leading], 1))
    told = tell_of_push_forward()
    assert f"φ lies between {phi.min():.2f} and {phi.max():.2f}" in told
    assert f"a deviation of {omega.min():.2f} to {omega.max():.2f}" in told
    assert numbers(tell_of_power_law())[:2] == [0.25, 0.062]


def test_the_bound_fails_from_the_number_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(more_theory, "MOST", 30)
    found = re.search(r"above (\d+) equal values", tell_of_bound())
    assert found is not None
    count = int(found[1])
    below, above = (theory.push_forward([3.0, *[1.0] * many], 1).mean[0] for many in (count - 1, count))
    assert below <= 1 < above


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
    monkeypatch.setattr(toy, "DRAWS", 200)
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


@pytest.mark.slow
def test_levelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(more_theory, "DRAWS", 60)
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
    monkeypatch.setattr(more_theory, "MOST", 30)
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


@pytest.mark.slow
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
    names = {name for name, figure in registered("figure").items() if figure.takes == NO_RUN}
    parts = {"density", "push-forward", "simulation", "surrogate-error"}
    assert names == {"implicit-steps", "model", "toy", "variants", "bound", "power-law", "levelling", *parts}
