"""Every Python block of the documentation runs, and the examples do what they say."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from sfa import registry

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WITH_PYTHON = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]


@pytest.fixture(autouse=True)
def restored_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the parts that a page or an example registers, when it has run."""
    for kind in registry.HOMES:
        monkeypatch.setitem(registry._parts, kind, dict(registry.registered(kind)))


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_recipe_in_the_docs_is_valid() -> None:
    import yaml

    from sfa.run import Recipe

    text = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert Recipe.parse(yaml.safe_load(block)).training.epochs == 1000


@pytest.mark.slow
def test_the_example_trains_with_and_without_the_layer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["layer_in_a_plain_model.py", "--epochs", "2"])
    runpy.run_path(str(ROOT / "examples" / "layer_in_a_plain_model.py"), run_name="__main__")
    without, *with_ = capsys.readouterr().out.splitlines()
    rank = [float(line.rsplit(" ", 1)[1]) for line in (without, *with_)]
    assert [line.split(":")[0] for line in with_] == ["with SFA", "with SFA of the paper"]
    assert without.startswith("without SFA: accuracy")
    assert rank[0] != rank[1], "the layer changes what is learned"


def test_the_example_embeds_many_graphs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["embed_my_graphs.py", "--epochs", "1"])
    runpy.run_path(str(ROOT / "examples" / "embed_my_graphs.py"), run_name="__main__")
    without, with_, alike = capsys.readouterr().out.splitlines()
    for line, name in ((without, "without SFA"), (with_, "with SFA")):
        accuracy = re.match(rf"{name}: accuracy ([\d.]+) ± ", line)
        assert accuracy is not None
        assert float(accuracy[1]) > 75, "two molecules in three are mutagenic"
    nearest = re.fullmatch(r"most like molecule 0: ([\d, ]+); (\d) of 5 are of its class", alike)
    assert nearest is not None
    assert len(set(nearest[1].split(", ")) - {"0"}) == 5, "it is not among those most like it"


def test_the_table_of_the_surrogates_error_is_what_the_code_computes() -> None:
    from sfa.theory import expectation, variance

    text = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    table = text.split("| $\\sigma_1$ | k |")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) == 16
    for leading, k, *printed in rows:
        sigma = [float(leading), 1.5, 0.9, 0.2, 0.01]
        computed = [
            value
            for of, power in ((expectation, 1), (variance, 0.5))
            for value in (of(sigma, int(k))[0] ** power, of(sigma, int(k), "surrogate")[0] ** power)
        ]
        assert printed == [f"{value:.4f}" for value in computed]


@pytest.mark.slow
def test_the_example_embeds_images(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["embed_my_images.py", "--epochs", "1"])
    runpy.run_path(str(ROOT / "examples" / "embed_my_images.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    for line, name in zip(lines, ("raw pixels", "without SFA", "with SFA"), strict=True):
        accuracies = re.match(rf"{name}: accuracy ([\d.]+) with 5 labels a digit, ([\d.]+) with all", line)
        assert accuracies is not None
        assert float(accuracies[1]) > 30, "ten digits"
        assert float(accuracies[2]) > float(accuracies[1])
