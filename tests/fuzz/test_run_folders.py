"""The files of a run folder and of a search, changed at random: success, or one sentence and nothing touched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import event, given
from hypothesis import strategies as st
from torch import Tensor

from sfa.run import evaluate_run, open_run, report_run, train_run
from sfa.train import load_tensors, save_tensors
from sfa.train.run_log import read_runs
from tests.fuzz.outcomes import contents, examples, outcome

plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([2**31, 2**63, 10**30, -1, "", "x", "1", "\ud800", "<b>", 1e308])
    | st.text(max_size=8)
)
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
KEYS = ("epoch", "loss", "best_loss", "stale", "finished", "step", "step_losses", "more")
DTYPES = (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.uint8, torch.complex64)
NUMBERS = (float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e10)


@pytest.fixture(scope="module")
def unfinished(planted_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that stands at epoch 2 of 3, and has the best weights, diagnostics and scores."""
    path = tmp_path_factory.mktemp("unfinished") / "run"
    recipe = {"method": {"name": "grace", "projection": 8}, "encoder": {"hidden": 8}, "spectral": "none"}
    training = {"epochs": 2, "restore_best": True, "diagnose_every": 1}
    train_run(planted_file, recipe={**recipe, "training": training}, out=path, embed="none", evaluate=False)
    evaluate_run(path)
    file = path / "recipe.yaml"
    file.write_text(file.read_text().replace("epochs: 2", "epochs: 3"))
    tensors, meta = load_tensors(path / "checkpoint.safetensors")
    tensors |= {f"best.weights.{name[6:]}": one.clone() for name, one in tensors.items() if name.startswith("model.")}
    tensors["best.loss"] = torch.tensor(meta["loss"], dtype=torch.float64)
    save_tensors(path / "checkpoint.safetensors", tensors, {**meta, "finished": False})  # without a digest
    return path


def go_on(path: Path) -> None:
    train_run(out=path, resume=True, embed="none", evaluate=False)


READERS: dict[str, Callable[[Path], Any]] = {
    "open": lambda path: open_run(path).embedding(),
    "resume": go_on,
    "report": lambda path: report_run(path, no_scores="They take time."),
    "evaluate": evaluate_run,
    "figure": lambda path: read_runs([path]),
}


def check(reader: str, original: Path, folder: Path, change: Callable[[Path], None]) -> None:
    """Change something in a copy of a run: what it then cannot be used for leaves it as it is."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    change(folder)
    before = contents(folder)
    refused = outcome(lambda: READERS[reader](folder))
    event("refused" if refused else "accepted")
    assert refused is None or contents(folder) == before


readers = st.sampled_from(sorted(READERS))


@examples(60)
@given(
    readers, st.dictionaries(st.sampled_from(KEYS), values | st.integers(-1, 5), min_size=1, max_size=2), st.booleans()
)
def test_metadata_of_checkpoints(
    unfinished: Path, tmp_path: Path, reader: str, changes: dict[str, Any], drop: bool
) -> None:
    def change(folder: Path) -> None:
        tensors, meta = load_tensors(folder / "checkpoint.safetensors")
        meta = {key: one for key, one in meta.items() if not drop or key not in changes}
        save_tensors(folder / "checkpoint.safetensors", tensors, meta if drop else {**meta, **changes})

    check(reader, unfinished, tmp_path / "run", change)


def changed(tensors: dict[str, Tensor], name: str, how: str, data: st.DataObject) -> dict[str, Tensor]:
    value, others = tensors[name], {key: one for key, one in tensors.items() if key != name}
    if how == "without":
        prefix = data.draw(st.sampled_from([name, name.rpartition(".")[0], name.partition(".")[0]]))
        return {key: one for key, one in tensors.items() if not key.startswith(prefix)}
    if how == "renamed":
        return {
            **others,
            data.draw(st.sampled_from([f"{name}.x", "model.x", "optimizer.99.step", "x.y", "optimizer.a"])): value,
        }
    if how == "another type":
        return {**others, name: value.to(data.draw(st.sampled_from(DTYPES)))}
    if how == "another shape":
        return {**others, name: torch.ones(data.draw(st.sampled_from([(), (0,), (1, 1), (3, 8), (2, 2, 2)])))}
    return {
        **others,
        name: torch.full_like(value, data.draw(st.sampled_from(NUMBERS[3:] if how == "whole" else NUMBERS))),
    }


@examples(100)
@given(readers, st.data())
def test_tensors_of_checkpoints(unfinished: Path, tmp_path: Path, reader: str, data: st.DataObject) -> None:
    def change(folder: Path) -> None:
        tensors, meta = load_tensors(folder / "checkpoint.safetensors")
        name = data.draw(st.sampled_from(sorted(tensors)))
        how = data.draw(st.sampled_from(["without", "renamed", "another type", "another shape", "other numbers"]))
        how = "whole" if how == "other numbers" and not tensors[name].is_floating_point() else how
        save_tensors(folder / "checkpoint.safetensors", changed(tensors, name, how, data), meta)

    check(reader, unfinished, tmp_path / "run", change)


FILES = ("checkpoint.safetensors", "metrics.jsonl", "run.json", "recipe.yaml", "scores-honest-10-10-80.json")


@examples(100)
@given(readers, st.sampled_from(FILES), st.data())
def test_bytes_of_the_files_of_a_run(
    unfinished: Path, tmp_path: Path, reader: str, name: str, data: st.DataObject
) -> None:
    def change(folder: Path) -> None:
        content = (folder / name).read_bytes()
        start = data.draw(st.integers(0, min(len(content), 2000) if data.draw(st.booleans()) else len(content)))
        end = data.draw(st.sampled_from([start, start + 1, start + 40, len(content)]))
        middle = data.draw(
            st.binary(max_size=6) | st.sampled_from([b"\0" * 99, b'"', b"[" * 5000, b"9" * 5000, b"-1", content])
        )
        (folder / name).write_bytes(content[:start] + middle + content[end:])

    check(reader, unfinished, tmp_path / "run", change)


@st.composite
def put(draw: st.DrawFn, content: Any) -> Any:
    """JSON with another value, or none, in one place."""
    if isinstance(content, dict) and content and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(content)))
        if not draw(st.integers(0, 5)):
            return {other: one for other, one in content.items() if other != key}
        return {**content, key: draw(put(content[key]))}
    if isinstance(content, list) and content and draw(st.integers(0, 5)):
        place = draw(st.integers(0, len(content) - 1))
        return [*content[:place], draw(put(content[place])), *content[place + 1 :]]
    return draw(values)


@examples(150)
@given(readers, st.sampled_from([name for name in FILES if ".json" in name]), st.data())
def test_values_of_the_files_of_a_run(
    unfinished: Path, tmp_path: Path, reader: str, name: str, data: st.DataObject
) -> None:
    def change(folder: Path) -> None:
        lines = (folder / name).read_text().splitlines() if name.endswith("l") else [(folder / name).read_text()]
        place = data.draw(st.integers(0, len(lines) - 1))
        lines[place] = json.dumps(data.draw(put(json.loads(lines[place]))))
        (folder / name).write_text("\n".join(lines) + "\n")

    check(reader, unfinished, tmp_path / "run", change)


@pytest.mark.parametrize("reader", READERS)
def test_a_run_that_nobody_changed(unfinished: Path, tmp_path: Path, reader: str) -> None:
    shutil.copytree(unfinished, tmp_path / "run")
    assert outcome(lambda: READERS[reader](tmp_path / "run")) is None
