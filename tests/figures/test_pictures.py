"""Pictures hold what they are said to hold."""

from pathlib import Path

import matplotlib.image
import numpy as np
import torch

from sfa.figures import draw_maps, draw_spectra
from sfa.figures.embedding_map import plane


def blobs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    return (10 * np.eye(8)[y] + rng.normal(size=(90, 8))).astype(np.float32), y


def test_spectra_are_drawn_as_curves_in_svg_text(tmp_path: Path) -> None:
    h = torch.eye(12)
    draw_spectra({"first": (h, h), "second": (h, h[:, :1])}, tmp_path / "spectrum.svg")
    text = (tmp_path / "spectrum.svg").read_text()
    for label in ("first", "second", "with SFA (effective rank 12)", "with SFA (effective rank 1)"):
        assert label in text
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["spectrum.svg"]


def test_maps_are_coloured_by_class_and_named(tmp_path: Path) -> None:
    z, y = blobs()
    y[:5] = -1
    draw_maps({"one": z, "two": z}, y, tmp_path / "map.png", class_names=["a", "b", "c"])
    picture = matplotlib.image.imread(tmp_path / "map.png")
    colours = {tuple(np.round(255 * pixel).astype(int)) for pixel in picture[..., :3].reshape(-1, 3)}
    assert {(0x44, 0x77, 0xAA), (0xEE, 0x66, 0x77), (0x22, 0x88, 0x33), (0xDD, 0xDD, 0xDD)} <= colours


def test_the_plane_keeps_clusters_apart_and_is_reproducible() -> None:
    z, y = blobs()
    xy = plane(z)
    centres = np.stack([xy[y == c].mean(0) for c in range(3)])
    spread = max(xy[y == c].std() for c in range(3))
    gaps = [np.linalg.norm(centres[a] - centres[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert min(gaps) > 2 * spread
    assert np.array_equal(xy, plane(z))
