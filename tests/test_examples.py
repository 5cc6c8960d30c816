"""The examples that show the layer in models of others: they run, and print what they say."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def output(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What an example prints for one epoch."""
    monkeypatch.setattr(sys, "argv", [name, "--epochs", "1"])
    capsys.readouterr()
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def numbers(line: str, name: str) -> tuple[float, float]:
    """Accuracy and effective rank of a line."""
    found = re.fullmatch(rf"{name}: accuracy ([\d.]+)\b.*, effective rank ([\d.]+)", line)
    assert found is not None, line
    return float(found[1]), float(found[2])


@pytest.mark.parametrize(
    ("name", "chance", "width"),
    [
        ("simclr_with_the_layer.py", 10, 128),
        ("layer_in_pyg.py", 30, 128),
        pytest.param(
            *("lightning_model.py", 10, 128),
            marks=[
                pytest.mark.filterwarnings("ignore:.*treespec.*:FutureWarning"),
                pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
                pytest.mark.filterwarnings("ignore:.*LeafSpec.*"),
            ],
        ),
    ],
)
def test_with_and_without_the_layer(
    name: str, chance: float, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line for line in output(name, monkeypatch, capsys) if line.startswith("with")]
    without, with_ = (numbers(line, of) for line, of in zip(lines, ("without SFA", "with SFA"), strict=True))
    for accuracy, rank in (without, with_):
        assert 2 * chance < accuracy <= 100
        assert 1 < rank <= width
    assert without[1] != with_[1], "the layer changes what is learnt"


def test_the_lines_to_add_to_another_simclr_are_lines_of_this_one() -> None:
    text = (EXAMPLES / "simclr_with_the_layer.py").read_text(encoding="utf-8")
    docstring, code = text.split('"""', 2)[1:]
    lines = [line.split("#")[0].strip() for line in docstring.splitlines() if "#" in line]
    assert len(lines) == 3
    import_, layer, call = lines
    assert import_ in code.splitlines()
    assert layer.removeprefix("self.spectral = ") in code
    assert f"        {call}" in code
