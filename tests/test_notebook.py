"""The notebook's code runs from top to bottom, without Jupyter, and what it shows is kept small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "embed_my_graph.ipynb"


@pytest.fixture(scope="module")
def cells() -> list[dict[str, Any]]:
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
def test_it_runs(cells: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    backend = matplotlib.get_backend()
    matplotlib.use("Agg")
    namespace: dict[str, Any] = {}
    try:
        for number, cell in enumerate(cells, 1):
            exec(compile("".join(cell["source"]), f"{NOTEBOOK.name}, cell {number}", "exec"), namespace)
    finally:
        namespace["plt"].close("all")
        matplotlib.use(backend)
    assert len(namespace["names"]) == len(namespace["z"]) == 77
    assert {"Enjolras", "Courfeyrac"} & set(namespace["similar"].loc["Gavroche"]), "the men on the barricade"
    members = [namespace["halves"][i] for i, club in enumerate(namespace["club"]) if club == "Officer"]
    assert max(members.count(0), members.count(1)) >= 0.8 * len(members), "one half of the club, one cluster"
    assert (tmp_path / "novel.parquet").exists()


def test_it_was_run_once_in_order_and_is_small(cells: list[dict[str, Any]]) -> None:
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert kinds == {"stream", "execute_result", "display_data"}
    assert NOTEBOOK.stat().st_size < 60_000
