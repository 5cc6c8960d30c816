"""Mixed precision: the forward pass in half, weights in full, and a gradient scale that survives a resume."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins import MixedPrecision
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.run import Recipe
from sfa.train import Interrupted, RunFolder, load_tensors, loop, make_fabric, train
from tests.callbacks import on_epoch, on_step

SmallRecipe = Callable[..., Recipe]
NewFolder = Callable[..., RunFolder]


def fit(recipe: Recipe, graph: Data, **options: Any) -> tuple[dict[str, Tensor], list[float]]:
    method, losses = recipe.build(graph.num_features), []
    noted = on_epoch(lambda metrics: losses.append(metrics["loss"]))
    train(method, graph, **recipe.training.arguments, callbacks=[noted], **options)
    return method.state_dict(), losses


@pytest.mark.parametrize("method", ["grace", "g-bt", "bgrl"])
def test_bfloat16_trains_much_as_float32_does(
    planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder, method: str
) -> None:
    folder = new_folder()
    full = small_recipe(
        method, training__patience=None, encoder__activate_last=True
    )  # no bias that rounding alone moves
    half = full.updated({"training.precision": "bf16-mixed"})
    (_, losses), (weights, half_losses) = fit(full, planted), fit(half, planted, folder=folder)
    assert half_losses == pytest.approx(losses, rel=0.03)
    assert half_losses != losses
    kept = load_tensors(folder.checkpoint)[0]
    assert all(value.dtype == torch.float32 for value in weights.values() if value.is_floating_point())
    assert {value.dtype for value in kept.values() if value.is_floating_point()} == {torch.float32}
    assert not any(name.startswith("precision.") for name in kept), "bfloat16 has no scale to keep"


class Watched(nn.Module):
    """A regression that notes in which precision its product is made."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 1)
        nn.init.constant_(self.linear.weight, 0.1)
        nn.init.zeros_(self.linear.bias)
        self.dtypes: list[torch.dtype] = []

    def forward(self, graph: Data, generator: torch.Generator) -> Tensor:
        out = self.linear(graph.x)
        self.dtypes.append(out.dtype)
        return (out.float() - 1).square().mean()


@pytest.mark.parametrize(("precision", "dtype"), [("32", torch.float32), ("bf16-mixed", torch.bfloat16)])
def test_the_forward_pass_is_in_autocast(
    planted: Data, capfd: pytest.CaptureFixture[str], precision: Any, dtype: torch.dtype
) -> None:
    method = Watched()
    train(method, planted, epochs=2, precision=precision)
    assert capfd.readouterr() == ("", ""), "nothing is said about it"
    assert method.dtypes == [dtype] * 2
    assert method.linear.weight.grad is not None
    assert method.linear.weight.dtype == method.linear.weight.grad.dtype == torch.float32


def test_float16_on_a_cpu_is_refused_before_anything_is_done(planted: Data) -> None:
    method = Watched()
    with pytest.raises(InputError, match="16-mixed needs a GPU"):
        train(method, planted, precision="16-mixed", device="cpu")
    assert method.dtypes == []
    with pytest.raises(InputError, match="16-mixed needs a GPU"):
        make_fabric("cpu", "16-mixed")


@pytest.fixture
def float16_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """PyTorch can do it, slowly: enough to see what becomes of the scale."""

    def allow(**scale: Any) -> None:
        def fabric(device: str, precision: str) -> Fabric:
            scaler = torch.amp.GradScaler("cpu", **scale)
            return Fabric(accelerator="cpu", plugins=MixedPrecision("16-mixed", "cpu", scaler))

        monkeypatch.setattr(loop, "make_fabric", fabric)

    return allow


def test_the_scale_of_gradients_survives_a_resume(
    planted: Data, new_folder: NewFolder, float16_on_a_cpu: Callable[..., None]
) -> None:
    """It begins far too high and is halved at the first steps, none of which moves a weight; later it grows."""
    float16_on_a_cpu(init_scale=2.0**24, growth_interval=5)
    whole, broken = new_folder("whole"), new_folder("broken")
    moved, scales = [], []

    def go(folder: RunFolder, **options: Any) -> None:
        method = Watched()
        seen = lambda *_: moved.append(bool((method.linear.weight != 0.1).any()))  # noqa: E731
        interrupt = options.pop("interrupt", None)

        def stop(metrics: dict[str, Any]) -> None:
            if metrics["epoch"] == interrupt:
                os.kill(os.getpid(), signal.SIGINT)

        train(
            method, planted, epochs=40, patience=None, checkpoint_every=1, precision="16-mixed", optimizer="sgd",
            lr=0.01, folder=folder, callbacks=[on_step(seen), on_epoch(stop)], **options,
        )  # fmt: skip

    go(whole)
    assert not moved[0]
    assert moved[-1]
    for stop in (2, 19):
        with pytest.raises(Interrupted):
            go(broken, resume=stop > 2, interrupt=stop)
        kept = load_tensors(broken.checkpoint)[0]
        scales.append((kept["precision.scale"].item(), kept["precision._growth_tracker"].item()))
    go(broken, resume=True)
    (tensors, meta), (expected, expected_meta) = load_tensors(broken.checkpoint), load_tensors(whole.checkpoint)
    assert meta == expected_meta
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    assert scales[0] == (2.0**22, 0), "halved twice"
    assert scales[1][1] > 0, "stopped while the scale had held for some steps"
    assert {tensors[f"model.linear.{name}"].dtype for name in ("weight", "bias")} == {torch.float32}


def test_float16_gradients_of_parts_add_up(planted: Data, float16_on_a_cpu: Callable[..., None]) -> None:
    float16_on_a_cpu(init_scale=2.0**8)
    found = []
    for accumulate in (1, 4):
        method = Watched()
        train(method, planted, epochs=3, optimizer="sgd", lr=0.1, precision="16-mixed", accumulate=accumulate)
        found.append(method.linear.weight.detach())
    torch.testing.assert_close(found[0], found[1], rtol=1e-2, atol=1e-3)
    assert bool((found[0] != 0.1).all())
