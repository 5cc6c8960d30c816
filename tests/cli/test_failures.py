"""Failures that no check foresees, and results that must outlive them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunSfa = Callable[..., Any]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 9 bytes"), "enough memory"),
        (RuntimeError("surprise"), "Unforeseen RuntimeError: surprise"),
        (OSError(28, "No space left on device"), "No space left"),
    ],
)
def test_an_error_in_the_middle_is_one_sentence(
    error: Exception, says: str, planted_file: Path, run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("sfa.run.train_recipe.train", fail)
    result = run_sfa("train", planted_file, "--quiet", out="run")
    assert result.code == 1
    assert says in result.err
    assert result.err.startswith("sfa: ")
    assert result.err.count("\n") == 1
    with pytest.raises(type(error)):
        run_sfa("train", planted_file, "--quiet", "--debug", out="other")


def test_scores_are_printed_even_if_they_cannot_be_kept(
    trained_run: Path, run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("sfa.run.score_cache.write_text", fail)
    result = run_sfa("evaluate", trained_run, "--json")
    assert result.code == 0
    assert len(json.loads(result.out)["scores"]) == 4
    assert "could not be kept" in result.err


def test_a_doctor_tells_of_a_missing_data_root(run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFA_DATA", "nowhere")
    result = run_sfa("doctor")
    assert result.code == 0
    assert "torch_geometric" in result.out
    assert "nowhere" in result.out


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["an empty folder", "a link to an empty folder", "a dangling link"])
def test_a_run_goes_where_it_is_told(kind: str, planted_file: Path, tmp_path: Path, tiny: Any, run_sfa: RunSfa) -> None:
    out, target = tmp_path / "out", tmp_path / "target"
    if kind == "an empty folder":
        out.mkdir()
    else:
        if kind == "a link to an empty folder":
            target.mkdir()
        out.symlink_to(target)
    assert run_sfa("train", planted_file, *tiny, "--no-evaluate", out=out).code == 0
    assert (out / "checkpoint.safetensors").is_file()
    assert out.is_symlink() == (kind != "an empty folder")


def test_embedding_never_overwrites_its_own_data(
    trained_run: Path, planted_file: Path, tmp_path: Path, run_sfa: RunSfa
) -> None:
    data = tmp_path / "graph.npz"
    data.write_bytes(planted_file.read_bytes())
    result = run_sfa("embed", trained_run, "--data", data, out=data)
    assert (result.code, data.read_bytes()) == (2, planted_file.read_bytes())
    assert "holds the data" in result.err


@pytest.mark.slow
def test_an_unfinished_run_says_so(planted_file: Path, tmp_path: Path, tiny: Any, run_sfa: RunSfa) -> None:
    from sfa.train import RunFolder, load_tensors, save_tensors

    run_sfa("train", planted_file, *tiny, "--no-evaluate", out=tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    tensors, meta = load_tensors(folder.checkpoint)
    save_tensors(folder.checkpoint, tensors, {**meta, "epoch": 1, "finished": False})
    assert "stands at epoch 1 of" in run_sfa("embed", folder.path, out=tmp_path / "z.npz").err
    assert "stands at epoch 1 of" in run_sfa("evaluate", folder.path).err
