"""Embedders take their parts as names, ``package.module:Class``, classes or objects, and say so in their recipes."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GAT, GIN

import sfa
from sfa import GraphEmbedder, ImageEmbedder, NodeEmbedder, registry
from sfa.augment import Compose, DropEdges, Identity, MaskFeatures, UniformDrop
from sfa.errors import InputError
from sfa.losses import nt_xent
from sfa.methods import GRACE, Method
from sfa.nn import GCN, MLP
from sfa.registry import registered
from sfa.spectral import GaussianNoise, SpectralFeatureAugmentation, Whiten

SMALL: dict[str, Any] = {"epochs": 2, "random_state": 0}
GAT_OPTIONS = {"encoder.hidden_channels": 8, "encoder.num_layers": 2}


class Simple(Method):
    """A method of one's own: NT-Xent between two views, without a head."""

    takes_augmentation = True
    defaults: ClassVar = {"training": {"lr": 0.01}}

    def __init__(self, encoder: nn.Module, augmentation: Any = None, *, tau: float = 0.5, spectral: Any = None) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.tau = tau

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Any = None) -> Tensor:
        views = self.augmentation(data, generator)
        h_alpha, h_beta = self.encode(self.encoder, views, data, generator)
        return nt_xent(*self.apply_spectral(h_alpha, h_beta, generator=generator, observe=observe), tau=self.tau)


def gat(dropout: float = 0.0) -> GAT:
    torch.manual_seed(0)
    return GAT(8, 8, num_layers=2, dropout=dropout)


def same_weights(one: nn.Module, other: dict[str, Tensor]) -> bool:
    return all(torch.equal(value, other[key]) for key, value in one.state_dict().items())


ENCODERS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "name": ("mlp", {"encoder.hidden": 8}, "mlp"),
    "mapping": ({"name": "mlp", "hidden": 8}, {}, "mlp"),
    "class": (MLP, {"encoder.hidden": 8}, "mlp"),
    "path": ("torch_geometric.nn:GAT", GAT_OPTIONS, "torch_geometric.nn:GAT"),
    "someone else's class": (GAT, GAT_OPTIONS, "torch_geometric.nn.models.basic_gnn:GAT"),
    "object": (gat(), {}, "<GAT>"),
    "object with dropout": (gat(dropout=0.5), {}, "<GAT>"),
    "own object": (GCN(8, 8), {}, "<GCN>"),
    "torch's own": (nn.Sequential(nn.Linear(8, 8), nn.ReLU()), {}, "<Sequential>"),
}


@pytest.mark.parametrize("form", ENCODERS)
def test_an_encoder_in_every_form(planted: Data, tmp_path: Path, form: str) -> None:
    encoder, options, name = ENCODERS[form]
    before = copy.deepcopy(encoder.state_dict()) if isinstance(encoder, nn.Module) else None
    embedder = NodeEmbedder("grace", encoder=encoder, options=options, **SMALL)
    z = embedder.fit_transform(planted)
    assert z.shape == (60, 8)
    assert np.isfinite(z).all()
    assert embedder.recipe_.encoder["name"] == name
    assert embedder.recipe_.as_dict()["encoder"]["name"] == name
    assert embedder.get_params()["encoder"] is encoder, "the argument itself is kept"
    np.testing.assert_array_equal(embedder.fit(planted).embedding_, z, err_msg="fitted again")
    np.testing.assert_array_equal(clone(embedder).fit_transform(planted), z, err_msg="a clone")
    again = NodeEmbedder("grace", **SMALL).set_params(encoder=encoder, options=options)
    np.testing.assert_array_equal(again.fit_transform(planted), z, err_msg="by set_params")
    path = tmp_path / "embedder.safetensors"
    embedder.save(path)
    if before is None:
        loaded = NodeEmbedder.load(path)
    else:
        assert same_weights(encoder, before), "training has changed the caller's encoder"
        assert not same_weights(
            embedder.method_.encoder.get_submodule("module" if form != "own object" else ""), before
        )
        wanted = rf"^The encoder {name} was given as an object, and is needed again: encoder=…\.$"
        with pytest.raises(InputError, match=wanted):
            NodeEmbedder.load(path)
        loaded = NodeEmbedder.load(path, encoder=encoder)
        assert same_weights(encoder, before), "loading has changed the caller's encoder"
    np.testing.assert_array_equal(loaded.transform(planted), z)
    assert loaded.recipe_ == embedder.recipe_
    np.testing.assert_array_equal(clone(loaded).fit_transform(planted), z)


def test_options_of_an_object_are_refused(planted: Data) -> None:
    for given in ({"hidden": 4}, {"options": {"encoder.layers": 2}}):
        with pytest.raises(InputError, match="encoder <GAT> was given"):
            NodeEmbedder("grace", encoder=gat(), **given).fit(planted)
    with pytest.raises(InputError, match="leave out iterations"):
        NodeEmbedder("grace", spectral=Whiten(), iterations=2).fit(planted)


def test_a_wrong_object_to_load(planted: Data, tmp_path: Path) -> None:
    path = tmp_path / "embedder.safetensors"
    NodeEmbedder("grace", encoder=gat(), **SMALL).fit(planted).save(path)
    with pytest.raises(InputError, match="weights of this encoder"):
        NodeEmbedder.load(path, encoder=GAT(8, 4, num_layers=2))
    NodeEmbedder("grace", hidden=8, **SMALL).fit(planted).save(path)
    with pytest.raises(InputError, match="load it without encoder=…"):
        NodeEmbedder.load(path, encoder=gat())


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ({"encoder": "gcnn"}, "Unknown encoder 'gcnn': did you mean 'gcn'"),
        ({"encoder": "no_such_module:Net"}, "The encoder no_such_module:Net cannot be imported: ModuleNotFoundError"),
        ({"encoder": "torch_geometric.nn:GATT"}, "Unknown encoder of torch_geometric.nn 'GATT'"),
        ({"encoder": "torch_geometric.nn:GAT"}, "'hidden_channels' is missing"),
        ({"encoder": "torch_geometric.nn:GAT", "options": {**GAT_OPTIONS, "encoder.nonsense": 1}}, "nonsense"),
        ({"encoder": 3}, "An encoder is a torch.nn.Module, not 3"),
        ({"augmentation": "uniformm"}, "Unknown augmentation 'uniformm': did you mean 'uniform'"),
        ({"augmentation": "random-choice"}, "random-choice is of a set of graphs"),
        ({"spectral": ["noise", "sfaa"]}, "Unknown spectral map 'sfaa': did you mean 'sfa'"),
        ({"method": 3}, "A method is a name, a subclass of sfa.methods.Method or an object of one, not 3"),
        ({"method": nn.Linear}, "is no subclass of sfa.methods.Method"),
        ({"method": "deepwalk", "encoder": "gcn"}, "deepwalk has weights for each node and no encoder"),
        ({"method": "deepwalk", "encoder": gat()}, "deepwalk has weights for each node and no encoder"),
        ({"method": "gae", "augmentation": Identity()}, "gae makes no views of its data"),
    ],
    ids=str,
)
def test_what_does_not_go_is_told_by_fit(planted: Data, argument: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=re.escape(reason)):
        NodeEmbedder(**{"method": "grace", **argument}).fit(planted)


def keep_all(data: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
    return data, data


AUGMENTATIONS: dict[str, tuple[Any, Any]] = {
    "name": ("identity", "identity"),
    "class": (Identity, "identity"),
    "object": (Identity(), "<Identity>"),
    "function": (keep_all, "<keep_all>"),
    "lambda": (lambda data, generator: (data, data), "<lambda>"),
    "composed": (Compose([DropEdges(0.0), MaskFeatures(0.0)]), "<Compose>"),
    "list of objects": ([DropEdges(0.0), MaskFeatures(0.0)], ["<DropEdges>", "<MaskFeatures>"]),
    "list of both": (["identity", Identity(), Identity], ["identity", "<Identity>", "identity"]),
}


@pytest.mark.parametrize("form", AUGMENTATIONS)
def test_an_augmentation_in_every_form(planted: Data, tmp_path: Path, form: str) -> None:
    """All of these leave the graph as it is, and so give the same embeddings."""
    augmentation, name = AUGMENTATIONS[form]
    embedder = NodeEmbedder("grace", augmentation=augmentation, hidden=8, **SMALL).fit(planted)
    section = embedder.recipe_.augmentation
    assert (section["name"] if isinstance(section, dict) else [one["name"] for one in section]) == name
    options = {"augmentation.edge_drop": (0.0, 0.0), "augmentation.feature_drop": (0.0, 0.0)}
    plain = NodeEmbedder("grace", hidden=8, options=options, **SMALL).fit(planted)
    np.testing.assert_allclose(embedder.embedding_, plain.embedding_, atol=1e-4)
    np.testing.assert_array_equal(clone(embedder).fit_transform(planted), embedder.embedding_)
    path = tmp_path / "embedder.safetensors"
    embedder.save(path)
    if "<" in str(name):
        with pytest.raises(InputError, match="given as an object"):
            NodeEmbedder.load(path)
        loaded = NodeEmbedder.load(path, augmentation=augmentation)
    else:
        loaded = NodeEmbedder.load(path)
    np.testing.assert_array_equal(loaded.transform(planted), embedder.embedding_)
    np.testing.assert_array_equal(clone(loaded).fit_transform(planted), embedder.embedding_)


MAPS: dict[str, tuple[Any, str]] = {
    "name": ("sfa", "sfa"),
    "class": (SpectralFeatureAugmentation, "sfa"),
    "object": (SpectralFeatureAugmentation(), "<SpectralFeatureAugmentation>"),
    "path": ("sfa.spectral:SpectralFeatureAugmentation", "sfa.spectral:SpectralFeatureAugmentation"),
    "list of one": (["sfa"], "sfa"),
    "list of names": (["noise", "sfa"], "noise + sfa"),
    "tuple of names": (("noise", "sfa"), "noise + sfa"),
    "list of classes": ([GaussianNoise, SpectralFeatureAugmentation], "noise + sfa"),
    "list of objects": (
        [GaussianNoise(), SpectralFeatureAugmentation()],
        "<GaussianNoise> + <SpectralFeatureAugmentation>",
    ),
    "list of all": (["noise", SpectralFeatureAugmentation()], "noise + <SpectralFeatureAugmentation>"),
}


@pytest.mark.parametrize("form", MAPS)
def test_a_spectral_map_in_every_form(planted: Data, tmp_path: Path, form: str) -> None:
    spectral, name = MAPS[form]
    embedder = NodeEmbedder("grace", spectral=spectral, hidden=8, **SMALL).fit(planted)
    assert embedder.recipe_.spectral_name == name
    named = ["noise", "sfa"] if "noise" in name.lower() else "sfa"
    np.testing.assert_array_equal(
        embedder.embedding_, NodeEmbedder("grace", spectral=named, hidden=8, **SMALL).fit_transform(planted)
    )
    np.testing.assert_array_equal(clone(embedder).fit_transform(planted), embedder.embedding_)
    path = tmp_path / "embedder.safetensors"
    embedder.save(path)
    if "<" in name:
        with pytest.raises(InputError, match="given as an object"):
            NodeEmbedder.load(path)
    loaded = NodeEmbedder.load(path, spectral=spectral if "<" in name else None)
    np.testing.assert_array_equal(loaded.transform(planted), embedder.embedding_)
    np.testing.assert_array_equal(clone(loaded).fit_transform(planted), embedder.embedding_)


def test_no_spectral_map(planted: Data) -> None:
    plain = NodeEmbedder("grace", spectral="none", hidden=8, **SMALL).fit(planted)
    for spectral in (None, [], ["none"]):
        embedder = NodeEmbedder("grace", spectral=spectral, hidden=8, **SMALL).fit(planted)
        np.testing.assert_array_equal(embedder.embedding_, plain.embedding_)
        assert embedder.recipe_.spectral_name == "none"


def test_options_of_one_map_of_several(planted: Data) -> None:
    embedder = NodeEmbedder("grace", spectral=["noise", "sfa"], hidden=8, options={"spectral.1.iterations": 3}, **SMALL)
    assert [one.get("iterations") for one in embedder.fit(planted).recipe_.spectral] == [None, 3]
    with pytest.raises(InputError, match=r"spectral\.iterations"):
        embedder.set_params(iterations=2).fit(planted)


METHODS: dict[str, tuple[Any, str]] = {
    "path": (f"{__name__}:Simple", f"{__name__}:Simple"),
    "class": (Simple, f"{__name__}:Simple"),
}


@pytest.mark.parametrize("form", METHODS)
def test_a_method_of_ones_own(planted: Data, tmp_path: Path, form: str) -> None:
    method, name = METHODS[form]
    embedder = NodeEmbedder(method, hidden=8, tau=0.7, **SMALL).fit(planted)
    assert embedder.recipe_.method == {"name": name, "tau": 0.7}
    assert embedder.recipe_.encoder["hidden"] == 8, "the encoder of its level, with this width"
    assert embedder.recipe_.training.lr == 0.01, "its own default"
    assert type(embedder.method_) is Simple
    np.testing.assert_array_equal(clone(embedder).fit_transform(planted), embedder.embedding_)
    embedder.save(tmp_path / "embedder.safetensors")
    loaded = NodeEmbedder.load(tmp_path / "embedder.safetensors")
    np.testing.assert_array_equal(loaded.transform(planted), embedder.embedding_)
    with_object = NodeEmbedder(method, encoder=gat(), spectral=["noise", Whiten()], **SMALL).fit(planted)
    assert with_object.embedding_.shape == (60, 8)


@pytest.fixture
def forgotten_methods() -> Iterator[None]:
    """Methods that a test registers are gone when it ends."""
    before = dict(registered("method"))
    yield
    registry._parts["method"].clear()
    registry._parts["method"].update(before)


@pytest.mark.slow
@pytest.mark.usefixtures("forgotten_methods")
def test_a_method_that_cannot_be_imported(planted: Data, tmp_path: Path) -> None:
    """A class inside a function is known by its name while the process lasts; another one is given the class."""

    class Local(Simple):
        pass

    embedder = NodeEmbedder(Local, hidden=8, **SMALL).fit(planted)
    assert embedder.recipe_.method["name"] == "Local"
    assert registered("method")["Local"] is Local
    path = tmp_path / "embedder.safetensors"
    embedder.save(path)
    np.testing.assert_array_equal(NodeEmbedder.load(path).transform(planted), embedder.embedding_)
    np.testing.assert_array_equal(clone(embedder).fit_transform(planted), embedder.embedding_)
    moved = NodeEmbedder.load(path, method=f"{__name__}:Simple")
    assert type(moved.method_) is Simple
    assert moved.recipe_.method["name"] == f"{__name__}:Simple"
    np.testing.assert_array_equal(clone(moved).fit_transform(planted), embedder.embedding_)
    code = f"""
from sfa import NodeEmbedder
from tests.estimators.test_parts import Simple
try: NodeEmbedder.load({str(path)!r})
except Exception as error: print(type(error).__name__, error)
class Outer:
    class Local(Simple): pass

print(type(NodeEmbedder.load({str(path)!r}, method=Outer.Local).method_).__name__)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    first, last = done.stdout.splitlines()
    assert first.startswith("InputError Unknown method 'Local'")
    assert last == "Local"


def whole_method() -> GRACE:
    torch.manual_seed(1)
    return GRACE(gat(), UniformDrop((0.1, 0.2), (0.1, 0.2)), projection=4, tau=0.9, spectral=Whiten())


def test_a_whole_method(planted: Data, tmp_path: Path) -> None:
    method = whole_method()
    before = copy.deepcopy(method.state_dict())
    embedder = NodeEmbedder(method, **SMALL).fit(planted)
    assert same_weights(method, before), "training has changed the caller's method"
    recipe = embedder.recipe_.as_dict()
    assert recipe["method"] == {"name": "<grace>"}, "its options are not GRACE's defaults, and are not said"
    assert recipe["encoder"] == {"name": "<GAT>"}
    assert recipe["augmentation"] == {"name": "<UniformDrop>"}
    assert recipe["spectral"] == {"name": "<Whiten>"}
    assert embedder.method_.tau == 0.9
    assert isinstance(embedder.method_.spectral, Whiten)
    np.testing.assert_array_equal(
        embedder.fit(planted).embedding_, NodeEmbedder(whole_method(), **SMALL).fit_transform(planted)
    )
    np.testing.assert_array_equal(clone(embedder).fit_transform(planted), embedder.embedding_)
    path = tmp_path / "embedder.safetensors"
    embedder.save(path)
    with pytest.raises(InputError, match=r"is needed again: method=…\."):
        NodeEmbedder.load(path)
    loaded = NodeEmbedder.load(path, method=whole_method())
    np.testing.assert_array_equal(loaded.transform(planted), embedder.embedding_)
    np.testing.assert_array_equal(clone(loaded).fit_transform(planted), embedder.embedding_)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"encoder": "mlp"}, "which has its own encoder: leave out encoder"),
        ({"augmentation": Identity()}, "which has its own augmentation: leave out augmentation"),
        ({"spectral": "sfa"}, "which has its own spectral: leave out spectral"),
        ({"tau": 0.5}, "The method <grace> was given as an object, which has its options already: leave out tau"),
        ({"hidden": 8}, "leave out hidden"),
        ({"iterations": 8}, "leave out iterations"),
    ],
    ids=str,
)
def test_a_whole_method_brings_its_parts(planted: Data, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        NodeEmbedder(whole_method(), **arguments).fit(planted)


def test_a_whole_method_of_another_level(molecule_list: list[Data]) -> None:
    with pytest.raises(InputError, match=r"not graphs: use sfa\.NodeEmbedder\."):
        GraphEmbedder(whole_method()).fit(molecule_list)


def test_a_whole_method_without_a_map_and_one_of_nodes(planted: Data) -> None:
    plain = NodeEmbedder(GRACE(gat()), **SMALL).fit(planted)
    assert plain.recipe_.spectral == {"name": "none"}
    walk = sfa.run.Recipe.parse({"method": {"name": "deepwalk", "hidden": 4}}).build(8, 60)
    embedder = NodeEmbedder(walk, **SMALL).fit(planted)
    assert embedder.recipe_.method["name"] == "<deepwalk>"
    assert embedder.embedding_.shape == (60, 4)


def test_parts_of_a_recipe_can_be_exchanged(planted: Data) -> None:
    """What a recipe says of a part goes with the part."""
    embedder = NodeEmbedder.from_recipe("paper/cora").set_params(epochs=1)
    embedder.set_params(encoder=gat(), augmentation=Identity(), spectral=Whiten()).fit(planted)
    names = {kind: getattr(embedder.recipe_, kind) for kind in ("encoder", "augmentation", "spectral")}
    assert names == {
        "encoder": {"name": "<GAT>"},
        "augmentation": {"name": "<Identity>"},
        "spectral": {"name": "<Whiten>"},
    }
    assert embedder.recipe_.method == sfa.run.load_recipe("paper/cora").method
    embedder.set_params(encoder="mlp", hidden=4, augmentation=None, spectral="whiten").fit(planted)
    assert (embedder.recipe_.encoder["name"], embedder.recipe_.spectral["name"]) == ("mlp", "whiten")
    assert embedder.embedding_.shape == (60, 4)


def test_a_recipe_of_several_maps(planted: Data, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("encoder: {hidden: 8}\nspectral: [{name: noise, strength: 0.2}, sfa]\n")
    embedder = NodeEmbedder.from_recipe(tmp_path / "mine.yaml").set_params(epochs=1)
    assert embedder.fit(planted).recipe_.spectral_name == "noise + sfa"
    assert embedder.set_params(spectral="none").fit(planted).recipe_.spectral_name == "none"


@pytest.mark.parametrize("method", ["vgae", "deepwalk", "gae", "sugrl"])
def test_hidden_is_the_width_of_the_embeddings(planted: Data, method: str) -> None:
    assert NodeEmbedder(method, hidden=8, **SMALL).fit_transform(planted).shape == (60, 8)


def gin() -> GIN:
    torch.manual_seed(0)
    return GIN(4, 8, num_layers=2)


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


NARROW = {"method.head_hidden": 16, "method.head_width": 8}
OTHERS: dict[str, tuple[type, Callable[[], nn.Module], str, dict[str, Any], int]] = {
    "graphs": (GraphEmbedder, gin, "<GIN>", {"batch_size": 16}, 8),
    "images": (ImageEmbedder, net, "<Sequential>", {"batch_size": 16, "options": NARROW}, 6),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_encoders_of_graphs_and_images(
    molecule_list: list[Data], pictures_arrays: dict[str, np.ndarray], tmp_path: Path, kind: str
) -> None:
    embedder_class, make, name, arguments, width = OTHERS[kind]
    data: Any = molecule_list if kind == "graphs" else pictures_arrays["x"]
    encoder = make()
    before = copy.deepcopy(encoder.state_dict())
    embedder = embedder_class(encoder=encoder, **arguments, **SMALL)
    z = embedder.fit_transform(data)
    assert z.shape == (len(data), width)
    assert same_weights(encoder, before)
    assert embedder.recipe_.encoder == {"name": name}
    np.testing.assert_array_equal(clone(embedder).fit_transform(data), z)
    path = tmp_path / "embedder.safetensors"
    embedder.save(path)
    with pytest.raises(InputError, match=f"The encoder {name} was given as an object"):
        embedder_class.load(path)
    loaded = embedder_class.load(path, encoder=make())
    np.testing.assert_array_equal(loaded.transform(data), z)
    np.testing.assert_array_equal(clone(loaded).fit_transform(data), z)
