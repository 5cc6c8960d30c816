"""The demo on the bundled Cora, with one epoch, two splits and a plain projection in the place of t-SNE."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from sfa.evaluate.probes import LogisticProbe
from sfa.registry import resolve
from sfa.run import load_recipe
from tests.parts import replace_part


@pytest.fixture
def demo(run_sfa: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Any, Path]:
    honest = "honest-10-10-80"
    replace_part(
        monkeypatch,
        "protocol",
        honest,
        replace(resolve("protocol", honest), repeats=2, probe=LogisticProbe(cs=(1.0, 100.0))),
    )
    for module in ("sfa.plots", "sfa.report.planar_map"):
        monkeypatch.setattr(f"{module}.plane", lambda z, *, seed: z[:, :2])
    return run_sfa("demo", epochs=1, out=tmp_path / "demo"), tmp_path / "demo"


@pytest.mark.slow
def test_demo(demo: tuple[Any, Path]) -> None:
    result, out = demo
    assert result.code == 0, result.err
    assert "\x1b" not in result.out + result.err

    written = json.loads((out / "scores.json").read_text())
    names = [score["name"] for score in written["scores"]]
    assert len(names) == len(set(names)) == 9
    assert names[:3] == ["raw features", "propagated features", "untrained encoder"]
    assert [name.split(",")[0] for name in names[3:7]] == ["GRACE", "GRACE + SFA", "GRACE", "GRACE + gentle SFA"]
    assert names[7:] == ["propagate, nothing trained", "neighbor contrast, the default"]
    by_name = {score["name"]: score for score in written["scores"]}
    assert all(40 < score["mean"] < 90 and len(score["values"]["accuracy"]) == 2 for score in by_name.values())
    pairs = [names[3:5], names[5:7]]
    for (setting, difference), (without, layer) in zip(written["differences"].items(), pairs, strict=True):
        plain, spectral = by_name[without], by_name[layer]
        assert without == f"GRACE, {setting}"
        assert difference["mean"] == pytest.approx(spectral["mean"] - plain["mean"])
        assert difference["low"] <= difference["mean"] <= difference["high"]

    table = (out / "table.md").read_text()
    for score in by_name.values():
        line = f"{score['mean']:.2f} ± {score['std']:.2f}"
        assert f"| {score['name']} | {line} |" in table
        assert line in result.out

    for picture in ("spectrum.png", "embeddings.png"):
        pixels = imread(out / picture)
        assert min(pixels.shape[:2]) > 200
        assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 20, "more than a blank page"

    page = (out / "report.html").read_text()
    (shown,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    own = [run["scores"][-1] for run in json.loads(shown)["runs"]]
    assert [score["mean"] for score in own] == [by_name[name]["mean"] for name in names[3:]]
    assert f"Open {out / 'report.html'} in a browser" in result.out.splitlines()[-2]

    runs = {path.parent.name: load_recipe(path) for path in out.glob("*/recipe.yaml")}
    assert len(runs) == 6
    assert {recipe.spectral["name"] for recipe in runs.values()} == {"none", "sfa"}
    assert {recipe.spectral.get("passes") for recipe in runs.values()} == {None, 1, 64}
    assert {recipe.training.seed for recipe in runs.values()} == {0}
