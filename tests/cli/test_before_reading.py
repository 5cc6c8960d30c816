"""What is wrong with a command is said before its data are read, which takes minutes where they are images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sfa.run.source import Source

RunSfa = Callable[..., Any]
IMAGE_METHODS = "Allowed: barlow-twins, byol, simclr, simsiam, swav."


@pytest.fixture
def unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of images that must not be read."""
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.fromarray(np.zeros((8, 8, 3), dtype=np.uint8)).save(folder / "a.png")

    def read(*_: object, **__: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr("sfa.run.source.load", read)
    return folder


@pytest.mark.parametrize("data", ["photos", "digits", "cifar10"])
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--method", "grace"], "grace embeds the nodes of one graph, and {} is a set of images"),
        (["--recipe", "grace/cora"], "grace embeds the nodes of one graph, and {} is a set of images"),
        (["--method", "simclrr"], "Unknown method 'simclrr': did you mean 'simclr'? " + IMAGE_METHODS),
        (["--set", "method=grcae"], "Unknown method 'grcae'. " + IMAGE_METHODS),
        (["--spectral", "sfaa"], "did you mean 'sfa'"),
        (["--sampler", "neighbours"], "leave the sampler out"),
        (["--set", "method.taus=1"], "did you mean 'tau'"),
        (["--set", "spectral.directions=1000"], "below the number of features"),
        (["--lr", "nan"], "lr"),
        (["--batch-size", "0"], "batch_size"),
        (["--recipe", "missing.yaml"], "missing.yaml"),
        (["--precision", "16-mixed", "--device", "cpu"], "16-mixed"),
        (["--precision", "half"], "precision"),
        (["--out", "occupied"], "already holds files"),
        (["--out", "occupied/file"], "is a file"),
        (["--out", "/proc/xx"], "Cannot make the folder /proc/xx: "),
    ],
    ids=str,
)
def test_options(
    unreadable: Path, workplace: Path, refuses: Callable[..., str], data: str, options: list[str], says: str
) -> None:
    (workplace / "occupied").mkdir()
    (workplace / "occupied" / "file").touch()
    given = unreadable if data == "photos" else data
    assert says.format(data) in refuses("train", given, *options)


def test_the_folder_of_all_runs(
    unreadable: Path, workplace: Path, refuses: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (workplace / "runs").touch()
    assert "runs/photos-simclr-sfa" in refuses("train", unreadable)


def test_the_level_is_known_of_names_and_of_images(unreadable: Path, planted_file: Path, pictures_file: Path) -> None:
    given = ["Cora", "mutag", "digits", str(unreadable), str(pictures_file), str(planted_file), "missing.npz", "", None]
    tasks = ["node", "graph", "image", "image", "image", None, None, None, None]
    assert [Source(data).task() for data in given] == tasks


def test_recipes_are_told_of_for_the_same_kind_of_data_alone(
    unreadable: Path, planted_file: Path, refuses: Callable[..., str]
) -> None:
    images = refuses("train", unreadable, recipe="paper")
    assert "cifar10" in images
    assert "cora" not in images
    assert "they are all for images" in refuses("train", "cora", recipe="simsiam")


def test_methods_are_told_of_for_the_same_kind_of_data_alone(
    planted_file: Path, molecules_file: Path, refuses: Callable[..., str]
) -> None:
    nodes, graphs = (refuses("train", file, method="grrace") for file in (planted_file, molecules_file))
    assert "did you mean 'grace'" in nodes
    assert "graphcl" in graphs
    assert "simclr" not in nodes + graphs
    assert "graphcl" not in nodes
