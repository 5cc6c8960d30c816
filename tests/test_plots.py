"""Pictures hold what they are said to hold."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.image
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from sfa.errors import InputError
from sfa.plots import draw_maps, draw_spectra, logarithmic_y, plane, save_figure, style


def blobs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    return (10 * np.eye(8)[y] + rng.normal(size=(90, 8))).astype(np.float32), y


def test_spectra_are_drawn_as_curves_in_svg_text(tmp_path: Path) -> None:
    h = torch.eye(12)
    save_figure(draw_spectra({"first": (h, h), "second": (h, h[:, :1])}), tmp_path / "spectrum.svg")
    text = (tmp_path / "spectrum.svg").read_text()
    for label in ("first", "second", "with SFA (effective rank 12)", "with SFA (effective rank 1)"):
        assert label in text
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["spectrum.svg"]


@pytest.mark.slow
def test_maps_are_coloured_by_class_and_named(tmp_path: Path) -> None:
    z, y = blobs()
    y[:5] = -1
    save_figure(draw_maps({"one": z, "two": z}, y, class_names=["a", "b", "c"]), tmp_path / "map.png")
    picture = matplotlib.image.imread(tmp_path / "map.png")
    colors = {tuple(np.round(255 * pixel).astype(int)) for pixel in picture[..., :3].reshape(-1, 3)}
    assert {(0x44, 0x77, 0xAA), (0xEE, 0x66, 0x77), (0x22, 0x88, 0x33), (0xDD, 0xDD, 0xDD)} <= colors


def test_the_plane_keeps_clusters_apart_and_is_reproducible() -> None:
    z, y = blobs()
    xy = plane(z)
    centres = np.stack([xy[y == c].mean(0) for c in range(3)])
    spread = max(xy[y == c].std() for c in range(3))
    gaps = [np.linalg.norm(centres[a] - centres[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert min(gaps) > 2 * spread
    assert np.array_equal(xy, plane(z))


@style()
def one_line() -> Figure:
    figure = Figure()
    panel = figure.subplots()
    panel.plot([1, 2, 3], [1, 4, 9], "o-", label="squares")
    panel.legend()
    return figure


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_drawing_again_gives_the_same_bytes(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, time in (("a", "0"), ("b", "1000000000")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", time)  # what matplotlib would take for now
        save_figure(one_line(), tmp_path / f"{name}{suffix}")
    a, b = ((tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert a == b


def test_the_callers_own_settings_neither_matter_nor_change(tmp_path: Path) -> None:
    save_figure(one_line(), tmp_path / "a.svg")
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": None}):
        save_figure(one_line(), tmp_path / "b.svg")
        assert mpl.rcParams["svg.fonttype"] == "path"
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "squares" in (tmp_path / "a.svg").read_text()


def test_an_unknown_format_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.png, \.svg, \.pdf"):
        save_figure(one_line(), tmp_path / "a.xcf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.2, 8], ["0.2", "0.5", "1", "2", "5"]),
        ([1e-5, 1], [f"$\\mathdefault{{10^{{{power}}}}}$" for power in range(-5, 1)]),
        ([0, 1], ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ([0, 0], ["0.00", "0.01", "0.02", "0.03", "0.04", "0.05"]),
        ([], ["0.00", "0.01", "0.02", "0.03", "0.04", "0.05"]),
    ],
)
def test_logarithmic_axes_have_readable_labels(values: list[float], labels: list[str]) -> None:
    figure = Figure()
    panel = figure.subplots()
    panel.plot(values)
    logarithmic_y(panel)
    figure.draw_without_rendering()
    low, high = panel.get_ylim()
    shown = [tick.label1.get_text() for tick in panel.yaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert shown == labels
