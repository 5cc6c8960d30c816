"""SimGRACE: its loss and gradients against the authors' way with a second network, and what the noise touches."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from sfa.errors import InputError
from sfa.methods import SimGRACE
from sfa.nn import GIN
from sfa.run import Recipe, load_recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from tests.methods.slow_contrast import slow_contrast

SHORT_RUN: dict[str, Any] = {"method.eta": 0.1, "training.epochs": 10}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(spectral: SpectralMap | None = None, **options: Any) -> SimGRACE:
    """A small one that has left its first weights: at first those of batch normalization have no deviation."""
    torch.manual_seed(0)
    method = SimGRACE(GIN(4, 5, layers=2), spectral=spectral, **{"tau": 0.5, **options})
    with torch.no_grad():
        for theta in method.parameters():
            theta.add_(0.1 * torch.randn(theta.shape, generator=seeded()))
    return method


@pytest.fixture
def four(molecule_list: list[Data]) -> Data:
    batch: Data = Batch.from_data_list(molecule_list[:4])
    return batch


def vice_of(method: SimGRACE, eta: float, generator: torch.Generator) -> nn.Module:
    """The authors' second encoder: a copy with noise on each tensor."""
    vice = copy.deepcopy(method.encoder)
    for theta in vice.parameters():
        theta.data += eta * theta.data.std() * torch.randn(theta.shape, generator=generator)
    return vice


@pytest.mark.parametrize("eta", [0.1, 10.0])
@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_the_authors(four: Data, iterations: int | None, eta: float) -> None:
    """Graph by graph: the perturbed are the anchors, and look for what the encoder makes of the same graphs."""
    method = make(None if iterations is None else SpectralFeatureAugmentation(iterations=iterations), eta=eta)
    generator = seeded(3)
    maps = [method.encoder(four).detach(), vice_of(method, eta, generator)(four).detach()]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    z, z_perturbed = (method.head(h).detach() for h in maps)
    assert method(four, seeded(3)).item() == pytest.approx(slow_contrast(z_perturbed, z, 0.5), rel=1e-4)


def test_gradients_come_by_the_unperturbed_pass_alone(four: Data) -> None:
    method = make()
    method(four, seeded(3)).backward()
    found = [theta.grad for theta in method.parameters()]
    anchors = copy.deepcopy(method.head)(vice_of(method, 1.0, seeded(3))(four)).detach()
    z = method.head(method.encoder(four))
    u, v = (row / row.norm(dim=1, keepdim=True) for row in (anchors, z))
    similarities = (u @ v.T / 0.5).exp()
    loss = -(similarities.diagonal() / (similarities.sum(1) - similarities.diagonal())).log().mean()
    expected = torch.autograd.grad(loss, list(method.parameters()))
    torch.testing.assert_close(found, list(expected), rtol=1e-3, atol=1e-5)


def test_the_perturbed_pass_leaves_no_trace(four: Data) -> None:
    """Weights stay, and running statistics are those of one plain pass in training mode."""
    method, plain = make(eta=100.0), make(eta=100.0)
    weights = {name: theta.detach().clone() for name, theta in method.named_parameters()}
    method(four, seeded())
    plain.encoder(four)
    for name, theta in method.named_parameters():
        assert torch.equal(theta, weights[name]), name
        assert theta.requires_grad
    for (name, found), expected in zip(method.named_buffers(), plain.buffers(), strict=True):
        assert torch.equal(found, expected), name
    assert {int(b) for name, b in method.named_buffers() if name.endswith("num_batches_tracked")} == {1}


def test_the_slot_sees_the_perturbed_map_as_a_constant(four: Data) -> None:
    class Recorder(SpectralMap):
        def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
            seen.append(maps)
            return maps

    seen: list[tuple[Tensor, ...]] = []
    method = make(Recorder())
    method(four, seeded())
    ((h, h_perturbed),) = seen
    assert (h.requires_grad, h_perturbed.requires_grad) == (True, False)
    assert h.shape == h_perturbed.shape == (4, 10)
    assert not torch.allclose(h, h_perturbed)


def test_encoders_with_single_weights_train() -> None:
    """One feature, layers one wide: the deviation of one number is none."""
    ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    graphs = [
        Data(x=torch.randn(3, 1, generator=seeded(i)), edge_index=torch.cat([ring, ring.flip(0)], 1)) for i in (1, 2)
    ]
    method = SimGRACE(GIN(1, 1, layers=2))
    assert method(Batch.from_data_list(graphs), seeded()).isfinite()


def test_a_batch_of_one_graph_is_refused(molecule_list: list[Data]) -> None:
    with pytest.raises(InputError, match="batch of one has no negatives"):
        make()(Batch.from_data_list(molecule_list[:1]), seeded())


def test_the_authors_settings() -> None:
    names = ("mutag", "nci1", "proteins", "dd")
    for recipe in (Recipe.parse({"method": "simgrace"}), *(load_recipe("simgrace", name) for name in names)):
        training, method, encoder = recipe.training, recipe.method, recipe.encoder
        assert isinstance(encoder, dict)
        assert (training.epochs, training.lr, training.weight_decay, training.patience) == (20, 0.01, 0.0, None)
        assert (recipe.sampler["name"], recipe.sampler["batch_size"]) == ("graphs", 128)
        assert (encoder["hidden"], encoder["layers"], method["eta"], method["tau"]) == (32, 5, 1.0, 0.2)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="eta"):
        make(eta=-1.0)
    with pytest.raises(InputError, match="tau"):
        make(tau=0.0)
