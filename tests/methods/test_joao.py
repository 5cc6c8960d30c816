"""JOAO and JOAOv2: the loss, the step of the probabilities against loops, and runs that are broken off."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from sfa.augment import Identity, RandomChoice
from sfa.augment.graph import AUGMENTATIONS
from sfa.errors import InputError, TrainingError
from sfa.methods import JOAO, JOAOv2
from sfa.nn import GIN
from sfa.run import Recipe, load_recipe
from sfa.spectral import SpectralFeatureAugmentation
from sfa.train import RunFolder, load_tensors, train
from tests.callbacks import on_epoch
from tests.methods.small_joao import make, seeded, slow_loss

SHORT_RUN: dict[str, Any] = {"training.epochs": 40, "sampler.batch_size": 32}
KINDS = range(len(AUGMENTATIONS))


@pytest.fixture
def four(molecule_list: list[Data]) -> Data:
    batch: Data = Batch.from_data_list(molecule_list[:4])
    return batch


@pytest.fixture
def twelve(molecule_list: list[Data]) -> list[Data]:
    """Batches of 3, 2, 2, ... graphs: twelve of them."""
    bounds = [0, 3, *range(5, 27, 2)]
    return [Batch.from_data_list(molecule_list[a:b]) for a, b in pairwise(bounds)]


def with_generators(batches: list[Data]) -> Iterator[tuple[Data, torch.Generator]]:
    return ((batch, seeded(100 + number)) for number, batch in enumerate(batches))


def by_bisection(v: np.ndarray) -> np.ndarray:
    """As the authors find the nearest probabilities, to more digits."""
    low, high = v.min() - 1, v.max()
    for _ in range(100):
        mu = (low + high) / 2
        low, high = (mu, high) if np.maximum(v - mu, 0).sum() > 1 else (low, mu)
    return np.maximum(v - mu, 0)


@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_the_papers(four: Data, iterations: int | None) -> None:
    """Graph by graph, from the parts and with the same draws; with the spectral map on both pooled maps."""
    method = make(JOAO, None if iterations is None else SpectralFeatureAugmentation(iterations=iterations))
    generator = seeded(4)
    choices = torch.multinomial(method.probabilities, 4, replacement=True, generator=generator)
    assert len(choices.unique()) > 1
    expected = slow_loss(method, four, choices, generator, iterations)
    assert method(four, seeded(4)).item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("cls", [JOAO, JOAOv2])
@pytest.mark.parametrize("iterations", [None, 1])
def test_the_step_of_the_probabilities_is_the_papers(
    twelve: list[Data], cls: type[JOAO], iterations: int | None
) -> None:
    """Batches 0, 5 and 10, kind by kind, weighted by their graphs; then the step, and bisection for the projection."""
    spectral = None if iterations is None else SpectralFeatureAugmentation(iterations=iterations)
    method = make(cls, spectral, gamma=0.3, beta=0.05)
    totals, count = np.zeros(len(KINDS)), 0
    for number in (0, 5, 10):
        batch, generator = twelve[number], seeded(100 + number)
        for kind in KINDS:
            choices = torch.full((batch.num_graphs,), kind)
            totals[kind] += batch.num_graphs * slow_loss(method, batch, choices, generator, iterations)
        count += batch.num_graphs
    assert count == 7
    p = np.array([0.1, 0.2, 0.2, 0.2, 0.3])
    expected = by_bisection(p + 0.05 * (totals / count - 0.3 * (p - 1 / 5)))
    assert 0 < expected.min() < expected.max() < 1
    method.after_epoch(with_generators(twelve))
    torch.testing.assert_close(method.probabilities.numpy().astype(float), expected, rtol=0, atol=1e-5)


def test_the_augmentations_that_are_hardest_are_drawn_more(twelve: list[Data]) -> None:
    """Those with the largest losses; and a large gamma keeps all alike."""
    method, careful = make(JOAO, beta=0.1, gamma=0.0), make(JOAO, beta=0.001, gamma=1000.0)
    losses = method.losses(islice(with_generators(twelve), 0, None, 5))
    assert losses.argmin() == AUGMENTATIONS.index("identity")
    before = method.probabilities.clone()
    method.after_epoch(with_generators(twelve))
    careful.after_epoch(with_generators(twelve))
    change = method.probabilities - before
    assert change[losses.argmax()] > 0 > change[losses.argmin()]
    torch.testing.assert_close(careful.probabilities, torch.full((5,), 0.2), rtol=0, atol=0.005)


@pytest.mark.parametrize("cls", [JOAO, JOAOv2])
def test_looking_at_the_losses_trains_nothing(twelve: list[Data], cls: type[JOAO]) -> None:
    """Only the probabilities move: no weight, no running statistics, no gradient, no mode; and always alike."""
    method, again = make(cls, SpectralFeatureAugmentation()), make(cls, SpectralFeatureAugmentation())
    for one in (method, again):
        one(twelve[0], seeded())
    before = {name: value.clone() for name, value in method.state_dict().items()}
    torch.manual_seed(1)
    method.after_epoch(with_generators(twelve))
    torch.manual_seed(2)
    again.after_epoch(with_generators(twelve))
    assert torch.equal(method.probabilities, again.probabilities)
    changed = {name for name, value in method.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"probabilities"}
    assert all(weights.grad is None and weights.requires_grad for weights in method.parameters())
    assert all(part.training for part in method.modules())
    assert not method.probabilities.requires_grad


def test_losses_that_are_no_numbers_are_said_and_spoil_nothing(
    twelve: list[Data], monkeypatch: pytest.MonkeyPatch
) -> None:
    method = make(JOAO)
    before = method.probabilities.clone()
    monkeypatch.setattr(method, "losses", lambda batches: torch.tensor([0.0, 1.0, torch.nan, 1.0, 1.0]))
    with pytest.raises(TrainingError, match="a smaller learning rate"):
        method.after_epoch(with_generators(twelve))
    assert torch.equal(method.probabilities, before)


class Crash(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("name", ["joao", "joao-v2"])
def test_a_crash_and_a_resume_give_the_same_bits(molecules: Data, tmp_path: Path, name: str) -> None:
    """The probabilities are saved with the weights, and later draws depend on them."""
    recipe = Recipe.parse({"method": {"name": name, "beta": 0.1}, "encoder": {"hidden": 4, "layers": 2}}).updated(
        {"training.epochs": 5, "training.checkpoint_every": 2, "sampler.batch_size": 7}
    )

    def go(folder: RunFolder, **options: Any) -> JOAO:
        method = recipe.build(molecules.num_features)
        assert isinstance(method, JOAO)
        training = recipe.training.arguments
        train(method, molecules, **training, sampler=recipe.make_sampler(), device="cpu", folder=folder, **options)
        return method

    def break_off(metrics: dict[str, Any]) -> None:
        if metrics["epoch"] == 3:
            raise Crash

    whole, broken = (RunFolder.create(tmp_path / which, {}, {}) for which in ("whole", "broken"))
    method = go(whole)
    assert not torch.allclose(method.probabilities, torch.full((5,), 0.2), atol=1e-3)
    with pytest.raises(Crash):
        go(broken, callbacks=[on_epoch(break_off)])
    assert torch.equal(go(broken, resume=True).probabilities, method.probabilities)
    (tensors, meta), (found, found_meta) = load_tensors(whole.checkpoint), load_tensors(broken.checkpoint)
    assert meta == found_meta
    assert tensors.keys() == found.keys()
    assert all(torch.equal(tensors[key], found[key]) for key in tensors)
    assert torch.equal(tensors["model.probabilities"], method.probabilities)


def test_they_start_uniform_with_the_authors_settings() -> None:
    assert torch.equal(JOAO(GIN(4)).probabilities, torch.full((5,), 0.2))
    for name, epochs, lr in (("joao", 20, 0.01), ("joao-v2", 40, 0.001)):
        shipped = [load_recipe(name, dataset) for dataset in ("mutag", "nci1", "proteins", "dd")]
        for recipe in (Recipe.parse({"method": name}), *shipped):
            training, method, encoder, views = recipe.training, recipe.method, recipe.encoder, recipe.augmentation
            assert isinstance(encoder, dict)
            assert isinstance(views, dict)
            assert (training.epochs, training.lr, training.weight_decay, training.patience) == (epochs, lr, 0.0, None)
            assert (recipe.sampler["name"], recipe.sampler["batch_size"]) == ("graphs", 128)
            assert (encoder["hidden"], encoder["layers"], method["tau"], method["gamma"]) == (32, 3, 0.2, 0.1)
            rates = [views[key] for key in ("node_drop", "edge_drop", "edge_add", "attribute_mask", "subgraph_keep")]
            assert rates == [0.2, 0.2, 0.0, 0.2, 0.8]


def test_wrong_options_are_refused() -> None:
    for option, value in (("gamma", -0.1), ("beta", 0.0), ("tau", 0.0)):
        with pytest.raises(InputError, match=option):
            make(JOAO, **{option: value})
    with pytest.raises(InputError, match="RandomChoice with both_views=False, not"):
        make(JOAO, augmentation=Identity())
    with pytest.raises(InputError, match="RandomChoice with both_views=False, not"):
        make(JOAO, augmentation=RandomChoice("all"))


def test_they_start_from_the_probabilities_of_the_augmentation() -> None:
    method = JOAO(GIN(4), RandomChoice("random2", both_views=False))
    assert method.probabilities.tolist() == pytest.approx([0, 0.5, 0, 0, 0.5])
    assert method.probabilities is not method.augmentation.probabilities
