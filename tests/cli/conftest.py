"""Every test of the command line works in an empty folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def refuses(run_sfa: Callable[..., Any], tmp_path: Path) -> Callable[..., str]:
    """Run a command that must be refused, and give back the one sentence it says."""

    def run(*words: Any, **options: Any) -> str:
        before = contents(tmp_path)
        result = run_sfa(*words, **options)
        assert (result.code, result.out) == (2, ""), result
        assert len(result.err.splitlines()) == 1, result.err
        assert result.err.startswith("sfa: ")
        assert "Traceback" not in result.err
        assert contents(tmp_path) == before
        return str(result.err)

    return run


def contents(path: Path) -> dict[Path, bytes | None]:
    """All below a folder, files with their bytes."""
    return {file: file.read_bytes() if file.is_file() else None for file in path.rglob("*")}
