"""A Lightning trainer takes the steps that our own loop takes, and the callback sees what goes through the layer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor, nn
from torch_geometric.data import Data

import sfa
from sfa.data import load
from sfa.errors import InputError, TrainingError
from sfa.evaluate import diagnose
from sfa.lightning import NAMES, LightningMethod, SpectralDiagnostics, name_in_use
from sfa.run import Recipe
from sfa.spectral import SpectralMap
from sfa.train import train
from tests.callbacks import on_epoch

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*LeafSpec.*"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
]

SMALL_GRACE = {"name": "grace", "hidden": 8, "projection": 8}
GAT = {"name": "torch_geometric.nn:GAT", "hidden_channels": 8, "num_layers": 2, "dropout": 0.5}


def quiet_trainer(epochs: int, **options: Any) -> Trainer:
    settled = {"accelerator": "cpu", "logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    return Trainer(max_epochs=epochs, enable_model_summary=False, **{**settled, **options})


def ours(recipe: Recipe, data: Data, **options: Any) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """Weights and metrics of our own loop."""
    method, rows = recipe.build_for(data), []
    arguments = {**recipe.training.arguments, "patience": None, **options}
    train(method, recipe.prepare(data), **arguments, sampler=recipe.make_sampler(), callbacks=[on_epoch(rows.append)])
    return method.state_dict(), rows


def same_bits(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


RECIPES: Sequence[tuple[str, dict[str, Any]]] = [
    ("cora", {"method": SMALL_GRACE, "training": {"epochs": 3, "warmup": 2, "cosine": True}}),
    # A target that follows after each step, and batches; weights at a constant rate and a look at the epoch; a queue.
    ("cora", {"method": {"name": "bgrl", "hidden": 8}, "sampler": {"name": "neighbours", "batch_size": 1000}}),
    ("mutag", {"method": {"name": "joao", "hidden": 4}}),
    (
        "digits",
        {
            "method": {"name": "swav", "hidden": 2, "head_hidden": 8, "head_width": 8, "prototypes": 16},
            "sampler": {"name": "images", "batch_size": 512},
        },
    ),
    # An encoder of PyTorch Geometric, whose dropout is drawn from the generator of the step; two maps in the slot.
    ("cora", {"method": {"name": "grace", "projection": 8}, "encoder": GAT, "spectral": ["noise", "sfa"]}),
]


@pytest.mark.parametrize(("data", "given"), RECIPES, ids=["grace", "bgrl", "joao", "swav", "gat"])
def test_weights_are_those_of_our_own_loop_to_the_bit(data: str, given: dict[str, Any]) -> None:
    graph = load(data)
    given = {**given, "training": {"epochs": 2, "seed": 3, **given.get("training", {})}}
    recipe = Recipe.parse(given)
    weights, rows = ours(recipe, graph, diagnose_every=2)
    module, watch = LightningMethod.from_recipe(given, graph), SpectralDiagnostics(every=2)
    assert not same_bits(weights, module.method.state_dict()), "there is something to learn"
    trainer = quiet_trainer(recipe.training.epochs, callbacks=[watch])
    trainer.fit(module)
    assert same_bits(weights, module.method.state_dict())
    assert float(trainer.callback_metrics["loss"]) == pytest.approx(rows[-1]["loss"], rel=1e-6)
    assert float(trainer.callback_metrics["lr"]) == pytest.approx(rows[-1]["lr"])
    seen = [{key: value for key, value in row.items() if key not in ("epoch", "layer")} for row in watch.history]
    assert seen == [row["diagnostics"] for row in rows if "diagnostics" in row]


def test_predictions_are_the_embeddings(planted: Data) -> None:
    module = LightningMethod(Recipe.parse({"method": SMALL_GRACE}).build_for(planted), planted)
    (z,) = quiet_trainer(1).predict(module)
    assert torch.equal(z, module.method.embed(planted))


@pytest.mark.filterwarnings("ignore:Be aware that when using `ckpt_path`")
def test_a_loader_of_ones_own_and_a_checkpoint(planted: Data, tmp_path: Path) -> None:
    """The whole graph as the one batch of a list is what the module gives itself; half the way is kept and resumed."""
    build = lambda: Recipe.parse({"method": SMALL_GRACE}).build_for(planted)  # noqa: E731
    settings: dict[str, Any] = {"lr": 0.01, "cosine": True, "warmup": 1}
    whole = LightningMethod(build(), planted, **settings)
    quiet_trainer(4).fit(whole)
    keep = ModelCheckpoint(tmp_path, filename="{epoch}", save_top_k=-1)
    own = LightningMethod(build(), **settings)
    quiet_trainer(4, enable_checkpointing=True, callbacks=[keep]).fit(own, _Loader(planted))
    assert same_bits(whole.method.state_dict(), own.method.state_dict())
    resumed = LightningMethod(build(), planted, **settings)
    quiet_trainer(4).fit(resumed, ckpt_path=tmp_path / "epoch=1.ckpt")
    assert same_bits(whole.method.state_dict(), resumed.method.state_dict())


class _Loader:
    """One batch an epoch."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def __iter__(self) -> Any:
        yield self.data

    def __len__(self) -> int:
        return 1


def test_what_it_cannot_do_is_said(planted: Data) -> None:
    method = Recipe.parse({"method": SMALL_GRACE}).build_for(planted)
    with pytest.raises(InputError, match="give the Trainer max_epochs"):
        quiet_trainer(-1, max_steps=2).fit(LightningMethod(method, planted))
    with pytest.raises(InputError, match="give it some, or give Trainer"):
        quiet_trainer(1).fit(LightningMethod(method))
    for weights in method.parameters():
        weights.data.fill_(torch.nan)
    with pytest.raises(TrainingError, match="The loss is nan"):
        quiet_trainer(1).fit(LightningMethod(method, planted))


class Model(LightningModule):
    """A model of someone's own: two views, an encoder, the layer, a projector."""

    def __init__(self, *layers: nn.Module, calls: int = 2) -> None:
        super().__init__()
        self.encoder = nn.Linear(8, 6)
        self.layers = nn.ModuleList(layers)
        self.calls = calls
        self.seen: list[tuple[Tensor, Tensor]] = []

    def training_step(self, batch: Tensor, batch_idx: int) -> Tensor:
        self.seen = []
        total = torch.zeros(())
        for view in range(self.calls):
            h = self.encoder(batch + view)
            for layer in self.layers:
                h_tilde = layer(h)
                self.seen.append((h.detach(), h_tilde.detach()))
                total = total + h_tilde.square().mean()
        return total

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def batches(count: int = 3) -> torch.utils.data.DataLoader[Tensor]:
    rows = torch.randn(count * 10, 8, generator=torch.Generator().manual_seed(0))
    return torch.utils.data.DataLoader(rows, batch_size=10)  # type: ignore[arg-type]


def test_the_callback_sees_the_last_batch_of_an_epoch(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model, watch = Model(sfa.SpectralFeatureAugmentation()), SpectralDiagnostics(every=2)
    logger = TensorBoardLogger(tmp_path)
    trainer = quiet_trainer(5, callbacks=[watch], logger=logger, log_every_n_steps=1)
    trainer.fit(model, batches())
    assert [row["epoch"] for row in watch.history] == [1, 2, 4, 5]
    (alpha, alpha_tilde), (beta, beta_tilde) = model.seen
    expected = diagnose(alpha, beta, alpha_tilde, beta_tilde)
    assert expected is not None
    last = watch.history[-1]
    assert last["sigma"] == expected.sigma
    assert last["effective_rank_tilde"] == expected.effective_rank_tilde != expected.effective_rank
    assert last["alignment"] == expected.alignment
    assert float(trainer.callback_metrics["spectral/alignment_tilde"]) == pytest.approx(expected.alignment_tilde)
    logged = EventAccumulator(logger.log_dir, {"histograms": 0, "scalars": 0}).Reload()
    assert [one.step for one in logged.Histograms("spectral/sigma")] == [3, 6, 12, 15]
    assert len(logged.Scalars("spectral/effective_rank")) == 4
    assert not model.layers[0]._forward_hooks, "it leaves nothing behind"


def test_training_is_the_same_with_the_callback() -> None:
    weights = []
    for callbacks in ([], [SpectralDiagnostics(every=1)]):
        torch.manual_seed(0)
        model = Model(sfa.SpectralFeatureAugmentation())
        quiet_trainer(2, callbacks=callbacks).fit(model, batches())
        weights.append(model.state_dict())
    assert same_bits(*weights)


def test_one_view_and_several_layers() -> None:
    one, watch = Model(SpectralMap(), calls=1), SpectralDiagnostics()
    quiet_trainer(1, callbacks=[watch]).fit(one, batches(1))
    assert [(row["layer"], row["alignment"]) for row in watch.history] == [("", None)]
    assert watch.history[0]["sigma"] == watch.history[0]["sigma_tilde"]
    two, watch = Model(SpectralMap(), sfa.SpectralFeatureAugmentation()), SpectralDiagnostics()
    trainer = quiet_trainer(1, callbacks=[watch])
    trainer.fit(two, batches(1))
    assert [row["layer"] for row in watch.history] == ["layers.0", "layers.1"]
    assert "spectral/layers.1/effective_rank" in trainer.callback_metrics


def test_a_model_without_a_layer() -> None:
    with pytest.raises(InputError, match="Model has no spectral"):
        quiet_trainer(1, callbacks=[SpectralDiagnostics()]).fit(Model(nn.Identity()), batches(1))


@pytest.mark.parametrize(
    ("lightning", "pytorch_lightning", "taken"),
    [
        ("loaded", "loaded", "lightning.pytorch"),
        ("loaded", "missing", "lightning.pytorch"),
        ("missing", "loaded", "pytorch_lightning"),
        ("installed", "loaded", "pytorch_lightning"),
    ],
)
def test_it_goes_with_the_lightning_that_is_used(
    lightning: str, pytorch_lightning: str, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trainer of one takes no module of the other, and both are often installed."""
    for name, state in zip(NAMES, (lightning, pytorch_lightning), strict=True):
        if state == "installed":
            monkeypatch.delitem(sys.modules, name)
        else:
            monkeypatch.setitem(sys.modules, name, ModuleType(name) if state == "loaded" else None)
    assert name_in_use() == taken


def test_without_either_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"`lightning`: pip install 'sfa\[lightning\]'"):
        name_in_use()
