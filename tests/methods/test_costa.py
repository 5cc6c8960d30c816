"""COSTA: InfoNCE between sketches of one or two views."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa import distributed
from sfa.augment import UniformDrop
from sfa.augment.node import random_view
from sfa.data import load
from sfa.errors import InputError
from sfa.methods import COSTA
from sfa.methods.base import FeatureMaps
from sfa.nn import GCN
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.spectral import Costa, SpectralFeatureAugmentation, costa, power_iteration
from sfa.train import train
from tests.augment.views import random_views

Views = Literal["multi", "single"]

SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 64,
    "method.ratio": 0.2,
    "training.lr": 5e-3,
    "training.epochs": 8,
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(**options: Any) -> COSTA:
    return COSTA(GCN(8, 6, widths="constant"), UniformDrop((0.2, 0.4), (0.3, 0.3)), **options)


def slow_loss(z_alpha: Tensor, z_beta: Tensor, tau: float) -> float:
    """The mean of both directions of −log of each row's positive over all rows of the other view."""
    u, v = (z / z.norm(dim=1, keepdim=True) for z in (z_alpha.detach().double(), z_beta.detach().double()))
    n, total = len(u), 0.0
    for own, other in ((u, v), (v, u)):
        for i in range(n):
            similarities = torch.stack([own[i] @ other[k] for k in range(n)]) / tau
            total -= float(similarities[i] - similarities.exp().sum().log())
    return total / (2 * n)


@pytest.mark.parametrize("spectral", [False, True])
@pytest.mark.parametrize("views", ["multi", "single"])
def test_the_loss_is_the_papers(views: Views, spectral: bool, planted: Data) -> None:
    """Encoder, SFA if asked for, one P for all views, head, InfoNCE; the sketch has 18 rows of 60."""
    sfa = SpectralFeatureAugmentation() if spectral else None
    method = make(projection=5, views=views, ratio=0.3, tau=0.7, spectral=sfa)
    generator = seeded(3)
    if views == "multi":
        graphs = list(random_views(planted, (0.2, 0.4), (0.3, 0.3), generator))
    else:
        graphs = [random_view(planted, 0.2, 0.3, generator)]
    maps = [method.encoder(graph) for graph in graphs]
    if spectral:
        maps = [power_iteration(h, 1, generator=generator) for h in maps]
    p = costa(torch.eye(60), 0.3, generator=generator)
    assert p.shape == (18, 60)
    z = [method.head(p @ h) for h in maps]
    assert method(planted, seeded(3)).item() == pytest.approx(slow_loss(z[0], z[-1], 0.7), rel=1e-4)


@pytest.mark.parametrize(("views", "passes"), [("multi", 2), ("single", 1)])
def test_each_view_is_encoded_once_and_can_be_observed(views: Views, passes: int, planted: Data) -> None:
    method = make(views=views)
    calls: list[Tensor] = []
    method.encoder.register_forward_hook(lambda module, given, h: calls.append(h))
    seen: list[FeatureMaps] = []
    method(planted, seeded(), observe=seen.append)
    assert len(calls) == passes
    assert torch.equal(seen[0].h_alpha, calls[0])
    assert (seen[0].h_beta is None) == (views == "single")


def test_the_sketch_mixes_the_roots_of_a_batch_alone(planted: Data) -> None:
    method = make()
    generator = seeded(2)
    maps = [method.encoder(view)[:12] for view in method.augmentation(planted, generator)]
    p = costa(torch.eye(12), 0.5, generator=generator)
    expected = slow_loss(*(method.head(p @ h) for h in maps), 0.4)
    planted.roots = 12
    assert method(planted, seeded(2)).item() == pytest.approx(expected, rel=1e-4)


def test_without_training_nothing_is_mixed(planted: Data) -> None:
    method = make().eval()
    z = [method.head(method.encoder(view)) for view in method.augmentation(planted, seeded(2))]
    assert method(planted, seeded(2)).item() == pytest.approx(slow_loss(*z, 0.4), rel=1e-4)


@pytest.mark.parametrize("views", ["multi", "single"])
def test_sfa_changes_the_loss_and_not_the_embeddings(views: Views, planted: Data) -> None:
    plain = make(views=views)
    augmented = make(views=views, spectral=SpectralFeatureAugmentation())
    augmented.load_state_dict(plain.state_dict())
    assert not torch.isclose(plain(planted, seeded(1)), augmented(planted, seeded(1)))
    assert torch.equal(plain.embed(planted), augmented.embed(planted))


def test_sketching_twice_is_allowed(planted: Data) -> None:
    method = make(spectral=Costa(ratio=0.5), ratio=0.4)
    sizes: list[int] = []
    method.head.register_forward_hook(lambda module, given, z: sizes.append(len(z)))
    assert method(planted, seeded()).isfinite()
    assert sizes == [12, 12]


def test_a_single_view_learns_cora() -> None:
    cora = load("cora")
    recipe = Recipe.parse({"method": {"name": "costa", "views": "single"}, "spectral": "none"}).updated(SHORT_RUN)
    method, prepared = recipe.build(cora.num_features), recipe.prepare(cora)
    protocol = resolve("protocol", "honest-10-10-80").with_splits(2)
    before = protocol.evaluate(method.embed(prepared), cora).mean()
    train(method, prepared, **recipe.training.arguments, device="cpu")
    assert protocol.evaluate(method.embed(prepared), cora).mean() > before + 5


def test_one_process_alone_can_train_it() -> None:
    """The sketch mixes all rows, which therefore have to be in one place."""
    assert not COSTA.spans_processes
    with pytest.raises(InputError, match="one process"):
        distributed.enable_cross_rank(make())


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="are 'multi' or 'single'"):
        make(views="both")
    with pytest.raises(InputError, match="ratio"):
        make(ratio=0.0)
    with pytest.raises(InputError, match="temperature"):
        make(tau=0.0001)
