"""Encoders, augmentations, maps and methods of a run are chosen by name or by ``module:Class``."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfa import registry
from sfa.registry import registered
from sfa.run import load_recipe
from sfa.run.run import open_run

RunSfa = Callable[..., Any]
Refuses = Callable[..., str]

GRACE = ["--method", "grace"]
GAT = [*GRACE, "--encoder", "torch_geometric.nn:GAT", "--set", "encoder.hidden_channels=8", "encoder.num_layers=2"]
SOURCE = '''
"""Parts of a user."""
from torch import nn

from sfa.methods import GRACE
from sfa.spectral import SpectralMap


class MyMethod(GRACE):
    """GRACE by another name."""


class Needy(GRACE):
    """It has an option without a default."""

    def __init__(self, encoder, augmentation=None, *, factor: float, spectral=None):
        super().__init__(encoder, augmentation, projection=4, spectral=spectral)
        self.factor = factor


class Linear(nn.Linear):
    """One layer, which looks at no edge."""

    def __init__(self, in_features: int, width: int = 5):
        super().__init__(in_features, width)


class Twice(SpectralMap):
    """Doubles the features."""

    def augment(self, h, generator=None):
        return 2 * h


def views(data, generator=None):
    """No class, and no section's options: two views as they are."""
    return data, data


NUMBER = 3
'''


@pytest.fixture
def my_module(workplace: Path) -> Iterator[Path]:
    """A module in the current folder, which is forgotten at the end."""
    file = workplace / "my_module.py"
    file.write_text(SOURCE)
    importlib.invalidate_caches()
    yield file
    sys.modules.pop("my_module", None)


def train(run_sfa: RunSfa, data: Path, *words: Any, **options: Any) -> Path:
    result = run_sfa("train", data, "--no-evaluate", *words, **{"epochs": 2, "out": "run", **options})
    assert result.code == 0, result.err
    return Path("run")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "section", "width"),
    [
        ([*GRACE, "--encoder", "mlp", "--hidden", 8], {"name": "mlp", "hidden": 8}, 8),
        (GAT, {"name": "torch_geometric.nn:GAT", "hidden_channels": 8, "num_layers": 2}, 8),
        ([*GRACE, "--encoder", "my_module:Linear"], {"name": "my_module:Linear", "width": 5}, 5),
        (
            [*GRACE, "--encoder", "my_module:Linear", "--set", "encoder.width=6"],
            {"name": "my_module:Linear", "width": 6},
            6,
        ),
    ],
    ids=str,
)
@pytest.mark.usefixtures("my_module")
def test_encoders(planted_file: Path, run_sfa: RunSfa, words: list[Any], section: dict[str, Any], width: int) -> None:
    result = run_sfa("train", planted_file, *words, epochs=2, out="run")
    assert result.code == 0, result.err
    assert f"encoder {section['name']}" in result.err, "what is not the method's own is told"
    encoder = load_recipe("run/recipe.yaml").encoder
    assert {key: encoder[key] for key in section} == section
    assert run_sfa("embed", "run", out="z.npz").code == 0
    assert np.load("z.npz")["embeddings"].shape == (60, width)
    again = run_sfa("evaluate", "run")
    assert again.code == 0, again.err
    assert again.out == result.out, "scores of the weights that were trained"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--augmentation", "identity"], "identity"),
        (["--augmentation", "none"], "identity"),
        (["--augmentation", "adaptive", "--set", "augmentation.centrality=pagerank"], "adaptive"),
        (["--set", "augmentation=[identity, uniform]"], ["identity", "uniform"]),
        (["--augmentation", "my_module:views"], "my_module:views"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("my_module")
def test_augmentations(planted_file: Path, run_sfa: RunSfa, words: list[str], names: Any) -> None:
    run = train(run_sfa, planted_file, *GRACE, *words)
    found = load_recipe(run / "recipe.yaml").augmentation
    assert ([one["name"] for one in found] if isinstance(found, list) else found["name"]) == names
    assert run_sfa("embed", run, out="z.npz").code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("my_module")
def test_several_maps(planted_file: Path, run_sfa: RunSfa, refuses: Refuses, tiny: list[str]) -> None:
    words = ["--spectral", "noise,sfa", "--set", "spectral.1.iterations=3", *tiny]
    result = run_sfa("train", planted_file, *words, epochs=2)
    assert result.code == 0, result.err
    run = Path("runs/planted-grace-noise-sfa")
    assert "grace + noise + sfa" in result.err
    noise, sfa = load_recipe(run / "recipe.yaml").spectral
    assert (noise["name"], sfa["name"], sfa["iterations"]) == ("noise", "sfa", 3)
    assert [type(one).__name__ for one in open_run(run).method.spectral.maps] == [
        "GaussianNoise",
        "SpectralFeatureAugmentation",
    ]
    assert "spectral.0.iterations" in refuses("train", planted_file, spectral="noise,sfa", iterations=3)
    mine = train(run_sfa, planted_file, "--spectral", "my_module:Twice,sfa", *tiny)
    assert load_recipe(mine / "recipe.yaml").spectral_name == "my_module:Twice + sfa"
    assert run_sfa("evaluate", mine, "-q").code == 0


@pytest.mark.slow
def test_a_method_in_the_current_folder(
    planted_file: Path, run_sfa: RunSfa, refuses: Refuses, tiny: list[str], my_module: Path
) -> None:
    result = run_sfa("train", planted_file, *tiny, "--method", "my_module:MyMethod", epochs=2)
    assert result.code == 0, result.err
    (run,) = Path("runs").iterdir()
    assert run.name == "planted-my_module-MyMethod-sfa-64-passes", "a name that needs no quotes"
    plain = train(run_sfa, planted_file, *tiny)
    evaluated = run_sfa("evaluate", run)
    assert evaluated.code == 0, evaluated.err
    assert "my_module:MyMethod + sfa" in evaluated.out
    assert run_sfa("embed", run, out="z.npz").code == 0
    assert run_sfa("embed", plain, out="plain.npz").code == 0
    np.testing.assert_array_equal(np.load("z.npz")["embeddings"], np.load("plain.npz")["embeddings"])

    my_module.unlink()
    del sys.modules["my_module"]
    importlib.invalidate_caches()
    says = (
        r"^sfa: The method my_module:MyMethod cannot be imported: .*No module named 'my_module'; install it, or work .*"
    )
    for words in (["evaluate", run], ["embed", run, "--out", "y.npz"], ["train", "--resume", "--out", run]):
        assert re.match(says, refuses(*words))


@pytest.mark.usefixtures("my_module")
def test_a_method_in_a_file_and_one_with_an_option_of_its_own(
    planted_file: Path, run_sfa: RunSfa, refuses: Refuses
) -> None:
    words = ["train", planted_file, "--no-evaluate", "--epochs", 1, "--hidden", 8]
    assert run_sfa(*words, method="./my_module.py:MyMethod").code == 0
    assert "'factor' is missing" in refuses(*words, method="my_module:Needy")
    assert run_sfa(*words, method="my_module:Needy", set="method.factor=3").code == 0
    names = sorted(run.name for run in Path("runs").iterdir())
    assert names == ["planted-my_module-Needy-sfa-64-passes", "planted-my_module-py-MyMethod-sfa-64-passes"]
    assert load_recipe("runs/planted-my_module-Needy-sfa-64-passes/recipe.yaml").method == {
        "name": "my_module:Needy",
        "factor": 3,
    }
    assert run_sfa("embed", "runs/planted-my_module-Needy-sfa-64-passes", out="z.npz").code == 0
    assert np.load("z.npz")["embeddings"].shape == (60, 8)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--method", "grcae"], "Unknown method 'grcae': did you mean 'grace'?"),
        (["--method", "my_module:Mine"], "Unknown method of my_module 'Mine'"),
        (["--method", "my_module:Linear"], "The method 'my_module:Linear' is no subclass of sfa.methods.Method"),
        (["--method", "my_module:NUMBER"], "The method 'my_module:NUMBER' is no subclass"),
        (["--method", "my_missing:Mine"], "The method my_missing:Mine cannot be imported: ModuleNotFoundError"),
        (["--method", "missing.py:Mine"], "There is no file"),
        (["--method", "<grace>"], "Unknown method '<grace>'"),
        (["--encoder", "gcnn"], "Unknown encoder 'gcnn': did you mean 'gcn'?"),
        (["--encoder", "my_missing:Mine"], "The encoder my_missing:Mine cannot be imported"),
        (["--encoder", "my_module:Mine"], "Unknown encoder of my_module 'Mine'"),
        (["--encoder", "my_module:NUMBER"], "my_module:NUMBER"),
        (["--encoder", "my_module:views"], "An encoder is a torch.nn.Module, not (8, 8)"),
        (["--encoder", "os:getcwd"], "os:getcwd"),
        (["--encoder", "<GAT>"], "The encoder <GAT> was given as an object"),
        (["--encoder", "small"], "embeds images"),
        (["--encoder", "torch_geometric.nn:GAT"], "Encoder key 'hidden_channels' is missing"),
        ([*GAT, "encoder.nonsense=1"], "'nonsense'"),
        ([*GAT, "--hidden", "8"], "'hidden'"),
        (["--set", "encoder.nonsense=1"], "Unknown encoder key 'nonsense'. Allowed: "),
        (["--set", "encoder.hiden=1"], "Unknown encoder key 'hiden': did you mean 'hidden'?"),
        (["--set", "encoder=3"], "is a name or a mapping with a name, not 3"),
        ([*GRACE, "--augmentation", "identiti"], "Unknown augmentation 'identiti': did you mean 'identity'?"),
        ([*GRACE, "--augmentation", "my_missing:Mine"], "The augmentation my_missing:Mine cannot be imported"),
        ([*GRACE, "--augmentation", "random-choice"], "The augmentation random-choice is of a set of graphs"),
        ([*GRACE, "--set", "augmentation.nonsense=1"], "Unknown augmentation key 'nonsense'"),
        ([*GRACE, "--augmentation", "identity", "--set", "augmentation.edge_drop=[0.1,0.1]"], "takes no options"),
        (["--spectral", "noise,sfaa"], "Unknown spectral map 'sfaa': did you mean 'sfa'?"),
        (["--spectral", "noise,"], "Unknown spectral map ''"),
        (["--spectral", "my_missing:Mine"], "The spectral map my_missing:Mine cannot be imported"),
        (["--set", "postprocess=propagat"], "Unknown postprocessing step 'propagat': did you mean 'propagate'?"),
        (["--set", "postprocess=[{name: propagate, hop: 3}]"], "did you mean 'hops'?"),
        (["--sampler", "neighbourz"], "Unknown sampler 'neighbourz'"),
        (["--method", "deepwalk", "--encoder", "gcn"], "deepwalk has weights for each node and no encoder"),
        (["--method", "deepwalk", "--set", "encoder.layers=3"], "deepwalk has weights for each node and no encoder"),
        (["--method", "gae", "--augmentation", "identity"], "gae makes no views of its data: leave out augmentation."),
    ],
    ids=str,
)
@pytest.mark.usefixtures("my_module")
def test_what_does_not_go_is_told_before_training(
    planted_file: Path, refuses: Refuses, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    """`refuses` sees to it that there is one sentence, and no run folder; Python keeps no byte code meanwhile."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert says in refuses("train", planted_file, *words)


@pytest.mark.parametrize("method", ["vgae", "deepwalk", "gae", "g-bt"])
def test_hidden_is_the_width_of_the_embeddings(planted_file: Path, run_sfa: RunSfa, method: str) -> None:
    run = train(run_sfa, planted_file, method=method, hidden=8)
    assert open_run(run).method.width == 8
    assert run_sfa("embed", run, out="z.npz").code == 0
    assert np.load("z.npz")["embeddings"].shape == (60, 8)


def test_encoders_of_graphs_and_images(
    molecules_file: Path, pictures_file: Path, run_sfa: RunSfa, refuses: Refuses
) -> None:
    gin = ["--encoder", "torch_geometric.nn:GIN", "--set", "encoder.hidden_channels=8", "encoder.num_layers=2"]
    for words, data, width in (
        (gin, molecules_file, 8),
        (["--encoder", "pooled-gcn", "--hidden", 4], molecules_file, 12),
    ):
        result = run_sfa("train", data, "--no-evaluate", *words, epochs=1, out=f"run-{width}")
        assert result.code == 0, result.err
        assert open_run(Path(f"run-{width}")).method.width == width
    assert "Unknown encoder 'resnet'" in refuses("train", pictures_file, encoder="resnet")
    assert "embeds the nodes of one graph, not images" in refuses("train", pictures_file, encoder="gcn")
    assert "embeds images" in refuses("train", molecules_file, encoder="small")
    assert "is of one graph, and simclr embeds images" in refuses("train", pictures_file, augmentation="uniform")


@pytest.mark.parametrize(
    ("listed", "kind"), [("encoders", "encoder"), ("augmentations", "augmentation"), ("postprocess", "postprocess")]
)
def test_lists(run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch, listed: str, kind: str) -> None:
    """Parts of installed packages are among them."""
    built_in = list(registered(kind))
    monkeypatch.setitem(registry._parts, kind, dict(registered(kind)))
    entry = EntryPoint(name="theirs", value=f"{__name__}:Theirs", group=f"sfa.{kind}")
    monkeypatch.setattr(registry, "entry_points", lambda *, group, name=None: [entry] if group == entry.group else [])
    result = run_sfa("list", listed)
    assert (result.code, result.err) == (0, "")
    lines = [line for line in result.out.splitlines() if line and not line.startswith(" ")]
    assert [line.split()[0] for line in lines] == [*built_in, "theirs"]
    assert lines[-1].split(maxsplit=1)[1].strip() == "A part of a package that is installed."
    assert ":" not in "".join(re.findall(r":\w+:", result.out)), "no markup"


class Theirs:
    """A part of a package that is installed."""


def test_help_names_the_parts(run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run_sfa("train", "--help")
    assert result.code == 0
    for option in ("--method", "--encoder", "--augmentation", "--spectral"):
        assert re.search(rf"{option} +\S+ +\w+", result.out), f"{option} is shown whole"
    assert not re.search(r"\w…", result.out), "nothing is cut off"
    assert "encoders" in result.out, "lists that tell the names are named"
    assert max(map(len, result.out.splitlines())) <= 80
