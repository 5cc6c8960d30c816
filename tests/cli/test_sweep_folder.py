"""The folder that a search has where none is named."""

from pathlib import Path

import pytest
from torch_geometric.data import Data

from sfa.run import Recipe
from sfa.sweep.settings import default_folder

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_method_of_ones_own_has_a_plain_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    recipe = Recipe.parse({"method": "examples/own_loss.py:MyMethod"})
    assert default_folder(Data(name="my graph"), recipe) == Path("sweeps/my-graph-examples-own_loss-py-MyMethod")
    assert default_folder(Data(name=""), Recipe.parse({"method": "g-bt"})) == Path("sweeps/graph-g-bt")
