"""What all tests share: one thread, no data of the user's own, a small graph, and the command line in process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
import torch

with warnings.catch_warnings():  # torch_geometric's own import calls torch.jit.script, which torch 2.13 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from torch_geometric.data import Data

from sfa.cli import main
from sfa.data import build_graph

# A busy machine is no failure; and CI tries the same examples every time, while a developer's runs look for new ones.
hypothesis.settings.register_profile("sfa", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("sfa")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Small graphs gain nothing from more threads, and bits are compared across processes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def planted_arrays() -> dict[str, np.ndarray]:
    """A planted partition: 60 nodes of 3 classes, dense within and sparse between, 8 features that hint at them."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    probability = np.where(y[:, None] == y[None, :], 0.25, 0.02)
    edges = np.argwhere(np.triu(rng.random((60, 60)) < probability, 1)).T
    x = 0.5 * rng.normal(size=(60, 8))
    x[np.arange(60), y] += 1
    return {"x": x.astype(np.float32), "edge_index": edges, "y": y}


@pytest.fixture
def planted(planted_arrays: dict[str, np.ndarray]) -> Data:
    arrays = planted_arrays
    return build_graph(arrays["x"], arrays["edge_index"], y=arrays["y"], name="planted")


@pytest.fixture(scope="session")
def planted_file(planted_arrays: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "planted.npz"
    np.savez(path, **planted_arrays)
    return path


@pytest.fixture(scope="session")
def molecule_list() -> list[Data]:
    """40 small graphs of 2 classes, rings and paths of 4 to 9 nodes, each with two branches; 4 kinds of nodes."""
    rng = np.random.default_rng(0)
    graphs = []
    for number in range(40):
        size, is_ring = int(rng.integers(4, 10)), number % 2
        pairs = [(i, i + 1) for i in range(size - 1)] + [(size - 1, 0)] * is_ring
        pairs += [(int(rng.integers(size)), size), (int(rng.integers(size)), size + 1)]
        edges = np.array(pairs).T
        x = np.eye(4, dtype=np.float32)[rng.integers(0, 4, size + 2)]
        both = torch.from_numpy(np.concatenate([edges, edges[::-1]], 1))
        graphs.append(Data(x=torch.from_numpy(x), edge_index=both, y=torch.tensor([is_ring])))
    return graphs


@pytest.fixture
def molecules(molecule_list: list[Data]) -> Data:
    """A set of small graphs."""
    from sfa.data import as_graphs

    return as_graphs(molecule_list, name="molecules")


@pytest.fixture(scope="session")
def molecules_file(molecule_list: list[Data], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "molecules.npz"
    from sfa.data import as_graphs

    graphs = as_graphs(molecule_list)
    np.savez(path, **{key: graphs[key].numpy() for key in ("x", "edge_index", "ptr", "y")})
    return path


@pytest.fixture(scope="session")
def pictures_arrays() -> dict[str, np.ndarray]:
    """60 colour images of 12 × 12 pixels: a bright square in one of three corners, which is the class, and noise."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    x = rng.integers(0, 120, (60, 12, 12, 3), dtype=np.uint8)
    for image, label in zip(x, y, strict=True):
        row, column = ((0, 0), (0, 6), (6, 0))[label]
        image[row : row + 6, column : column + 6] += np.uint8(100)
    return {"x": x, "y": y, "train_mask": np.arange(60) < 45, "test_mask": np.arange(60) >= 45}


@pytest.fixture
def pictures(pictures_arrays: dict[str, np.ndarray]) -> Data:
    """A set of small images with parts of its own."""
    from sfa.data import build_images

    return build_images(**pictures_arrays, name="pictures")


@pytest.fixture(scope="session")
def pictures_file(pictures_arrays: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "pictures.npz"
    np.savez(path, **pictures_arrays)
    return path


@dataclass(frozen=True)
class Result:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def run_sfa(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """``run_sfa("train", path, epochs=3)`` runs ``sfa train PATH --epochs 3`` in this process."""

    def run(*words: Any, **options: Any) -> Result:
        flags = [str(part) for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*map(str, words), *flags])
        captured = capsys.readouterr()
        return Result(ended.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def tiny() -> list[str]:
    """Options of ``sfa train`` for a model of GRACE that trains in no time and is not scored."""
    return ["--method", "grace", "--hidden", "8", "--set", "method.projection=8", "--no-evaluate"]


@pytest.fixture(scope="session")
def trained_run(planted_file: Path, tiny: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of GRACE on the planted graph, for reading only: copy it before changing anything in it."""
    path = tmp_path_factory.mktemp("runs") / "planted"
    with pytest.raises(SystemExit) as ended:
        main(["train", str(planted_file), "--epochs", "5", "--out", str(path), "--quiet", *tiny])
    assert not ended.value.code
    return path


@pytest.fixture(autouse=True)
def away_from_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's data and caches are out of sight."""
    monkeypatch.delenv("SFA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path_factory.getbasetemp() / "no-cache"))
