"""A small graph with everything in it, and a cache folder of the test's own."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

with warnings.catch_warnings():  # torch_geometric's own import calls torch.jit.script, which torch 2.13 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from torch_geometric.data import Data

from sfa.data import build_graph


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SFA_DATA", raising=False)
    return tmp_path / "cache" / "sfa"


@pytest.fixture
def graph() -> Data:
    """Five nodes (one of them alone), weights that float32 holds, one unknown label."""
    return build_graph(
        np.array([[0.5, 1], [0, -2], [3, 0], [0.1, 7], [0, 0]], dtype=np.float32),
        np.array([[0, 1, 2], [1, 2, 3]]),
        edge_weight=[0.5, 2.0, 1.0],
        y=[1, 0, -1, 1, 0],
        name="small",
    )
