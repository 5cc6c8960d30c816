"""The examples that show the layer in models of others, and parts of one's own: they run, and print what they say."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from sfa import registry
from sfa.run import Recipe

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(autouse=True)
def restored_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the parts that a page or an example registers, when it has run."""
    for kind in registry.HOMES:
        monkeypatch.setitem(registry._parts, kind, dict(registry.registered(kind)))


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


@pytest.mark.slow
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
    names = ("without SFA", "with SFA", "with SFA of the paper")
    without, gentle, paper = found = [numbers(line, of) for line, of in zip(lines, names, strict=True)]
    for accuracy, rank in found:
        assert 2 * chance < accuracy <= 100
        assert 1 < rank <= width
    assert len({without[1], gentle[1], paper[1]}) > 1, "the layer changes what is learned"


def accuracies(lines: list[str]) -> dict[str, float]:
    """Accuracies by name."""
    found = [re.fullmatch(r"(.+): accuracy ([\d.]+) ± [\d.]+", line) for line in lines]
    return {one[1]: float(one[2]) for one in found if one is not None}


@pytest.mark.slow
def test_another_encoder_stands_beside_what_needs_no_training(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = accuracies(output("gat_in_grace.py", monkeypatch, capsys))
    assert list(told) == ["raw features", "propagated features", "untrained GAT", "GAT in GRACE + SFA"]
    assert told["untrained GAT"] != told["GAT in GRACE + SFA"], "it is trained"
    assert min(told.values()) > 50, "seven classes"


@pytest.mark.slow
def test_a_method_of_ones_own_works_in_python_and_by_its_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = accuracies(output("own_loss.py", monkeypatch, capsys))
    assert list(told) == ["without SFA", "with SFA"]
    assert min(told.values()) > 60, "seven classes"
    assert told["without SFA"] != told["with SFA"], "the layer changes what is learned"


def test_the_commands_of_the_examples_make_their_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the docstrings show is what the files hold: classes and options by these names."""
    monkeypatch.chdir(EXAMPLES.parent)
    recipe = Recipe.parse({"method": "examples/own_loss.py:MyMethod"}).updated({"method.spread": 2})
    assert (recipe.method["spread"], recipe.encoder["hidden"], recipe.training.epochs) == (2, 256, 100)
    assert recipe.build(8).spread == 2
    recipe = Recipe.parse({"spectral": "examples/own_spectral_map.py:RemoveMean"}).updated({"spectral.most": 0.5})
    assert recipe.build(8).spectral.most == 0.5
    options = {"hidden_channels": 64, "num_layers": 2, "out_channels": 128}
    recipe = Recipe.parse({"encoder": {"name": "torch_geometric.nn:GAT", **options}})
    assert recipe.build(8).width == 128


@pytest.mark.slow
def test_a_spectral_map_of_ones_own_is_checked_and_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *lines = output("own_spectral_map.py", monkeypatch, capsys)
    assert first == "RemoveMean passes all checks."
    told = accuracies(lines)
    assert list(told) == ["no map", "RemoveMean", "RemoveMean, then SFA"]
    assert len(set(told.values())) == 3, "each map changes what is learned"


def test_the_lines_to_add_to_another_simclr_are_lines_of_this_one() -> None:
    text = (EXAMPLES / "simclr_with_the_layer.py").read_text(encoding="utf-8")
    docstring, code = text.split('"""', 2)[1:]
    lines = [line.split("#")[0].strip() for line in docstring.splitlines() if "#" in line]
    assert len(lines) == 3
    import_, layer, call = lines
    assert import_ in code.splitlines()
    assert layer.removeprefix("self.spectral = ") in code
    assert f"        {call}" in code


@pytest.mark.slow
@pytest.mark.multiprocess
def test_ray_train_joins_two_workers(tmp_path: Path) -> None:
    """In a process of its own, which Ray leaves; CI does not install Ray, which is 270 MB and starts for a minute."""
    pytest.importorskip("ray", reason="pip install 'sfa[ray]' to test the example of Ray Train")
    command = [sys.executable, str(EXAMPLES / "ray_train.py"), "--epochs", "2", "--storage", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^2 workers, loss 6\.\d+$", result.stdout, re.MULTILINE), result.stdout
    assert list(tmp_path.glob("sfa-on-cora/*/embedder.safetensors"))
