"""Pictures of runs show the numbers that are in their logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfa.errors import InputError
from sfa.evaluate import Diagnostics, diagnose
from sfa.paper.figures import find_figure
from sfa.paper.figures.runs import (
    CURVES,
    LEADING,
    draw_alignment,
    draw_alignment_by_dataset,
    draw_spectrum,
    tell_of_alignment,
    tell_of_alignment_by_dataset,
    tell_of_spectrum,
)
from sfa.plots import save_figure
from sfa.registry import registered
from sfa.train import RunFolder
from sfa.train.run_log import RunLog, read_runs


def measured(seed: int, *, spectral: bool = True, width: int = 40) -> Diagnostics:
    generator = torch.Generator().manual_seed(seed)
    alpha, beta = torch.randn(2, 60, width, generator=generator)
    found = diagnose(alpha, beta, *((alpha / 2, beta / 3) if spectral else (alpha, beta)))
    assert found is not None
    return found


def log(name: str = "run", epochs: Sequence[int] = (1, 10, 20), dataset: str = "", **options: Any) -> RunLog:
    return RunLog(name, list(epochs), [measured(epoch, **options) for epoch in epochs], dataset)


def curves(panel: Axes) -> list[tuple[list[float], list[float]]]:
    return [tuple(np.asarray(data).tolist() for data in line.get_data()) for line in panel.lines]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_spectra_of_the_epochs_before_and_after_the_map() -> None:
    run = log()
    before, after, _ = draw_spectrum(run).axes
    ranks = list(range(1, LEADING + 1))
    assert curves(before) == [(ranks, row.sigma[:LEADING]) for row in run.diagnostics]
    assert curves(after) == [(ranks, row.sigma_tilde[:LEADING]) for row in run.diagnostics]
    assert before.get_ylim() == after.get_ylim()
    colors = [line.get_color() for line in before.lines]
    assert len(set(colors)) == 3
    assert colors == [line.get_color() for line in after.lines]


def test_the_spectra_of_several_runs_are_on_one_scale() -> None:
    plain, spectral = log("plain", spectral=False), log("spectral", epochs=(1, 40))
    *panels, _ = draw_spectrum(plain, spectral).axes
    titles = [panel.get_title(loc="left") for panel in panels]
    assert titles == ["plain: $H$", "spectral: $H$", "spectral: $\\widetilde{H}$"]
    shown = [(plain, "sigma"), (spectral, "sigma"), (spectral, "sigma_tilde")]
    for panel, (run, key) in zip(panels, shown, strict=True):
        assert [sigma for _, sigma in curves(panel)] == [getattr(row, key)[:LEADING] for row in run.diagnostics]
    assert len({panel.get_ylim() for panel in panels}) == 1
    first, second = panels[0].lines, panels[1].lines
    assert first[0].get_color() == second[0].get_color(), "epoch 1 of both"
    assert first[-1].get_color() != second[-1].get_color(), "epochs 20 and 40"


def test_many_runs_have_rows() -> None:
    axes = draw_spectrum(*(log(str(number)) for number in range(2))).axes
    assert sum(bool(panel.lines) for panel in axes) == 4
    assert len({round(panel.get_subplotspec().rowspan.start) for panel in axes if panel.lines}) == 2


def test_what_is_told_of_spectra() -> None:
    run = log("mine", epochs=(1, 200))
    first, last = run.diagnostics
    told = tell_of_spectrum(run)
    assert told.startswith("mine: from epoch 1 to 200 ")
    assert f"from {first.sigma[0] / first.sigma[1]:.2f} to {last.sigma[0] / last.sigma[1]:.2f}" in told
    assert f"σ₂/σ₁₂ from {first.sigma[1] / first.sigma[11]:.2f} to {last.sigma[1] / last.sigma[11]:.2f} and" in told
    assert f"from {first.effective_rank:.1f} to {last.effective_rank:.1f}" in told
    narrow = RunLog("narrow", [1], [measured(1, width=1)])
    assert "∞" in tell_of_spectrum(narrow)
    assert "σ₁₂" not in tell_of_spectrum(narrow)


def test_without_a_spectral_map_there_is_one_panel() -> None:
    figure = draw_spectrum(log(spectral=False))
    assert [bool(panel.lines) for panel in figure.axes] == [True, False], "curves and the scale of colors"


def test_a_map_that_turns_each_view_by_itself_is_one() -> None:
    """It changes how far the views are apart and leaves their spectra as they are."""
    h = torch.eye(5)
    found = diagnose(h, h, h, -h)
    assert found is not None
    run = RunLog("run", [1], [found])
    assert run.has_spectral_map
    assert [len(panel.lines) for panel in draw_alignment(run).axes] == [2, 2]


def test_of_many_epochs_some_are_shown_with_the_first_and_the_last() -> None:
    run = log(epochs=[1, *range(10, 500, 10)], width=3)
    shown = [sigma for _, sigma in curves(draw_spectrum(run).axes[0])]
    assert len(shown) == CURVES
    assert (shown[0], shown[-1]) == (run.diagnostics[0].sigma, run.diagnostics[-1].sigma)


@pytest.mark.parametrize("spectral", [False, True])
def test_one_epoch_is_enough(tmp_path: Path, spectral: bool) -> None:
    run = log(epochs=[1], spectral=spectral)
    save_figure(draw_spectrum(run), tmp_path / "spectrum.png")
    save_figure(draw_alignment(run), tmp_path / "alignment.png")


def test_maps_without_rank_can_be_drawn(tmp_path: Path) -> None:
    zero = torch.zeros(6, 3)
    collapsed = diagnose(zero, zero, zero, zero)
    assert collapsed is not None
    run = RunLog("collapsed", [1, 10], [collapsed, collapsed])
    save_figure(draw_spectrum(run), tmp_path / "spectrum.png")
    save_figure(draw_alignment(run), tmp_path / "alignment.png")


def test_rounding_is_not_drawn_as_signal() -> None:
    h = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))
    h[:, 4] = h[:, 3]
    found = diagnose(h, h, h, h)
    assert found is not None
    ((_, sigma),) = curves(draw_spectrum(RunLog("run", [1], [found])).axes[0])
    assert sigma == found.sigma[:4]


def test_alignment_of_several_runs() -> None:
    plain, spectral = log("plain", spectral=False), log("spectral", epochs=(1, 5))
    figure = draw_alignment(plain, spectral)
    for panel, key in zip(figure.axes, ("alignment", "alignment_relative"), strict=True):
        expected = [(plain, key), (spectral, key), (spectral, f"{key}_tilde")]
        assert curves(panel) == [
            (run.epochs, [getattr(row, name) for row in run.diagnostics]) for run, name in expected
        ]
        colors = [line.get_color() for line in panel.lines]
        assert colors[0] != colors[1] == colors[2]
    assert figure.axes[1].get_ylim()[0] == 0
    assert legend(figure)[:2] == ["plain", "spectral"]
    assert legend(draw_alignment(plain)) == ["plain"]


def ending(name: str, alignment: float, relative: float, dataset: str = "") -> RunLog:
    end = replace(measured(1), alignment=alignment, alignment_relative=relative)
    return RunLog(name, [1], [end], dataset)


def test_what_is_told_of_alignment() -> None:
    near, far = ending("near", 7.0, 0.3), ending("far", 13.5, 0.11)
    told = tell_of_alignment(far, near)
    assert "is 7 (near), 13.5 (far); relative to the size of the maps it is 0.11 (far), 0.3 (near)." in told
    assert "turns round" in told
    assert f"‖H̃α − H̃β‖² is {near.diagnostics[0].alignment_tilde:.3g} (" in told
    assert "turns round" not in tell_of_alignment(near, ending("farther", 13.5, 0.4))


def test_alignment_by_data_set() -> None:
    runs = [log("a", dataset="citeseer", spectral=False), log("b", dataset="citeseer"), log("c", dataset="mine")]
    figure = draw_alignment_by_dataset(*runs)
    above = figure.axes[:3]
    assert [panel.get_title(loc="left") for panel in above] == ["CiteSeer", "WikiCS", "mine"]
    for panel, key in zip((figure.axes[0], figure.axes[3]), ("alignment", "alignment_relative"), strict=True):
        expected = [(runs[0], key), (runs[1], key), (runs[1], f"{key}_tilde")]
        assert [y for _, y in curves(panel)] == [[getattr(row, k) for row in run.diagnostics] for run, k in expected]
    assert [len(panel.lines) for panel in figure.axes] == [3, 0, 2, 3, 0, 2]
    (text,) = above[1].texts
    assert "no run" in text.get_text()
    assert "sfa train wikics --recipe grace/wikics" in text.get_text()
    assert [text.get_text() for text in above[0].get_legend().get_texts()] == ["a", "b"]
    told = tell_of_alignment_by_dataset(*runs)
    assert "WikiCS: no run of it is given." in told
    assert "(a)" in told.split("WikiCS")[0]
    assert "(c)" in told.split("mine: ")[1]


def test_a_single_view_has_no_alignment_to_draw() -> None:
    h = torch.eye(4)
    found = diagnose(h, None, h, None)
    assert found is not None
    with pytest.raises(InputError, match="single view"):
        draw_alignment(log(), RunLog("lonely", [1], [found]))
    with pytest.raises(InputError, match="single view"):
        draw_alignment_by_dataset(RunLog("lonely", [1], [found]))
    draw_spectrum(RunLog("lonely", [1], [found]))


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """A run folder with the metrics given, and neither data nor weights."""

    def write(name: str, *diagnostics: Any, **record: Any) -> Path:
        folder = RunFolder.create(tmp_path / name, {}, record)
        for epoch, value in enumerate(diagnostics, start=1):
            row = {"epoch": epoch, "loss": 1.0, "lr": 0.1, "seconds": 0.1}
            folder.append(row if value is None else {**row, "diagnostics": value})
        return folder.path

    return write


def test_reading_a_run(written: Callable[..., Path]) -> None:
    first, third = measured(1), measured(3)
    (run,) = read_runs([written("mine", asdict(first), None, asdict(third))])
    assert run == RunLog("mine", [1, 3], [first, third])


@pytest.mark.parametrize(
    ("record", "dataset"),
    [
        ({"source": {"data": "citeseer"}}, "citeseer"),
        ({"source": {"data": "/data/my.graph.npz"}}, "my.graph"),
        ({"source": {"data": None}}, ""),
        ({}, ""),
    ],
)
def test_what_a_run_was_trained_on(written: Callable[..., Path], record: dict[str, Any], dataset: str) -> None:
    (run,) = read_runs([written("mine", asdict(measured(1)), **record)])
    assert run.dataset == dataset


def test_a_newer_versions_numbers_are_passed_over(written: Callable[..., Path]) -> None:
    (run,) = read_runs([written("mine", {**asdict(measured(1)), "curvature": 3})])
    assert run.diagnostics == [measured(1)]


def test_names_are_told_apart(written: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/run", "b/run", "b/other"):
        written(name, asdict(measured(1)))
    assert [run.name for run in read_runs([Path("a/run"), Path("b/other")])] == ["run", "other"]
    assert [run.name for run in read_runs([Path("a/run"), Path("b/run")])] == ["a/run", "b/run"]
    monkeypatch.chdir(tmp_path / "a" / "run")
    assert [run.name for run in read_runs([Path()])] == ["run"]


@pytest.mark.parametrize(
    ("diagnostics", "reason"),
    [
        ([], "diagnose_every=10"),
        ([None, None], "diagnose_every=10"),
        ([3], "damaged"),
        ([None, {}], "damaged"),
        ([{**asdict(measured(1)), "sigma": "x"}], "damaged.*sigma"),
        ([{**asdict(measured(1)), "alignment": "far"}], "damaged.*alignment"),
    ],
    ids=["no metrics", "an old run", "a number", "nothing in it", "text for sigma", "text for alignment"],
)
def test_runs_that_cannot_be_drawn(written: Callable[..., Path], diagnostics: list[Any], reason: str) -> None:
    path = written("mine", *diagnostics)
    with pytest.raises(InputError, match=reason) as raised:
        read_runs([path])
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_figure_is_described_in_one_line() -> None:
    for name, figure in registered("figure").items():
        assert find_figure(name) is figure
        assert figure.description.endswith(".")
        assert "\n" not in figure.description
