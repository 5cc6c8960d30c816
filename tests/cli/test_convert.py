"""``sfa convert`` and what other commands do with a store."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfa.run.display import Display

RunSfa = Callable[..., Any]
pytest.importorskip("duckdb")


@pytest.fixture
def tables(planted_arrays: dict[str, np.ndarray]) -> list[str]:
    """Write tables of a graph; return the words that name them."""
    arrays, ids = planted_arrays, np.array([f"n{i}" for i in range(60)])
    nodes = pd.DataFrame(arrays["x"]).set_axis([f"f{i}" for i in range(8)], axis=1)
    nodes.assign(label=arrays["y"]).set_index(ids).rename_axis("id").to_csv("nodes.csv")
    source, target = ids[arrays["edge_index"]]
    pd.DataFrame({"source": source, "target": target}).to_csv("edges.csv", index=False)
    return ["edges.csv", "--features", "nodes.csv"]


def test_a_store_trains_like_its_tables(run_sfa: RunSfa, tables: list[str]) -> None:
    made = run_sfa("convert", *tables, "--out", "store")
    assert made.code == 0
    assert "60 nodes" in made.out
    assert "source -> target" in made.err
    scores = []
    for data in (["store"], [*tables, "--encode", "none"]):
        out = f"run-{data[0]}"
        options = ["--epochs", 2, "--method", "grace", "--sampler", "neighbours", "--batch-size", 32, "--out", out]
        trained = run_sfa("train", *data, *options)
        assert trained.code == 0, trained
        scores.append(trained.out)
    assert scores[0] == scores[1]
    embeddings = [pd.read_parquet(f"run-{name}") for name in ("store/embeddings", "edges.csv/embeddings.parquet")]
    pd.testing.assert_frame_equal(*embeddings)
    assert run_sfa("neighbors", "run-store", "n5", "-k", 2).code == 0
    assert run_sfa("train", "--resume", "--out", "run-store", "--no-evaluate").code == 0
    assert run_sfa("doctor", "store").out.startswith("store is whole: 60 nodes")


def test_a_changed_store_is_refused(run_sfa: RunSfa, refuses: Callable[..., str], tables: list[str]) -> None:
    assert run_sfa("convert", *tables, "--out", "store", "--float16", "--quiet").code == 0
    assert "features" in refuses("train", "store", "--features", "nodes.csv")
    assert "exists" in refuses("convert", *tables, "--out", "store")
    file = Path("store/x.npy")
    file.write_bytes(file.read_bytes()[:-1])
    assert "x.npy" in refuses("train", "store")
    assert "x.npy" in refuses("doctor", "store")


def test_an_interrupt_leaves_nothing(run_sfa: RunSfa, tables: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def counting(display: Display, title: str) -> Any:
        if title.startswith("sorting"):
            raise KeyboardInterrupt
        yield lambda done, total: None

    monkeypatch.setattr(Display, "counting", counting)
    result = run_sfa("convert", *tables, "--out", "store")
    assert (result.code, len(result.err.splitlines())) == (1, 1)
    assert "Interrupted" in result.err
    assert sorted(path.name for path in Path().iterdir()) == ["edges.csv", "nodes.csv"]


@pytest.mark.parametrize("limit", [500, 20_000, 400_000])
def test_a_full_disk_leaves_nothing(tables: list[str], limit: int, run_sfa: RunSfa) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).integers(60, size=(200_000, 2)), columns=["source", "target"])
    frame.map("n{}".format).to_csv("edges.csv", index=False)
    pd.concat([pd.read_csv("nodes.csv", index_col=0)] * 40, axis=1).to_csv("nodes.csv")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
    try:
        result = run_sfa("convert", *tables, "--out", "store", "--quiet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (result.code, len(result.err.splitlines())) == (1, 1), result
    assert "Cannot write" in result.err
    assert sorted(path.name for path in Path().iterdir()) == ["edges.csv", "nodes.csv"]
