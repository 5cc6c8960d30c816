"""Embeddings in the tables of other programs, with the labels that are known and those that a probe gives."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfa.run.run import open_run

RunSfa = Callable[..., Any]


def test_labels_and_what_a_probe_takes_them_for(trained_run: Path, run_sfa: RunSfa) -> None:
    result = run_sfa("embed", trained_run, "--with-labels", out="z.parquet", layout="list")
    assert (result.code, result.out) == (0, "")
    frame = pd.read_parquet("z.parquet")
    assert list(frame.columns) == ["node_id", "embedding", "label", "predicted", "part"]
    run = open_run(trained_run)
    np.testing.assert_array_equal(np.stack(frame.embedding), run.method.embed(run.data).numpy())
    assert frame.label.astype(int).tolist() == run.data.y.tolist()
    assert frame.part.value_counts().to_dict() == {"train": 6, "validation": 6, "test": 48}
    assert "learned from the 6 nodes whose part is train" in result.err
    right = (frame.label == frame.predicted)[frame.part == "test"]
    assert 100 * right.mean() == pytest.approx(_first_split_accuracy(trained_run), abs=1e-9)


def _first_split_accuracy(run: Path) -> float:
    from sfa.registry import resolve

    opened = open_run(run)
    return resolve("protocol", "honest-10-10-80").evaluate(opened.method.embed(opened.data), opened.data).of()[0]


def test_too_few_labels_for_a_probe(trained_run: Path, run_sfa: RunSfa, planted_arrays: dict[str, np.ndarray]) -> None:
    y = np.full(60, -1)
    y[:2] = 0, 1
    np.savez("other.npz", **{**planted_arrays, "y": y})
    result = run_sfa("embed", trained_run, "--with-labels", data="other.npz", out="z.csv")
    assert result.code == 0
    assert "No predicted labels: " in result.err
    frame = pd.read_csv("z.csv")
    assert list(frame.columns) == ["node_id", *(f"z{i}" for i in range(8)), "label"]
    assert frame.label.notna().sum() == 2


def test_no_labels_at_all(
    trained_run: Path, refuses: Callable[..., str], planted_arrays: dict[str, np.ndarray]
) -> None:
    np.savez("other.npz", x=planted_arrays["x"], edge_index=planted_arrays["edge_index"])
    assert "other has none" in refuses("embed", trained_run, "--with-labels", data="other.npz", out="z.csv")


def test_a_layout_for_a_matrix(trained_run: Path, refuses: Callable[..., str]) -> None:
    assert "The layout list is for tables" in refuses("embed", trained_run, out="z.pt", layout="list")


def test_anndata_with_its_recipe(trained_run: Path, run_sfa: RunSfa) -> None:
    import anndata
    import yaml

    assert run_sfa("embed", trained_run, "--quiet", out="z.h5ad").err == ""
    about = anndata.read_h5ad("z.h5ad").uns["sfa"]
    assert (about["method"], about["data"], about["items"]) == ("grace + sfa (64 passes)", "planted", "nodes")
    assert yaml.safe_load(about["recipe"])["encoder"]["hidden"] == 8


@pytest.mark.parametrize("file", ["z.h5ad", "z.parquet", "z.csv"])
def test_a_full_disk_leaves_the_old_file(trained_run: Path, run_sfa: RunSfa, workplace: Path, file: str) -> None:
    (workplace / file).write_text("the old ones")
    layout = [] if file == "z.h5ad" else ["--layout", "list"]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        result = run_sfa("embed", trained_run, "--quiet", *layout, out=file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (result.code, result.out, result.err) == (1, "", f"sfa: Cannot write {file}: File too large.\n")
    assert {path.name: path.read_text() for path in workplace.iterdir()} == {file: "the old ones"}
