"""JOAOv2: a projector for each augmentation; its probabilities and its runs are tested with JOAO."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Batch, Data

from sfa.errors import InputError
from sfa.methods import JOAO, JOAOv2
from sfa.spectral import Costa, SpectralFeatureAugmentation
from tests.methods.small_joao import make, seeded, slow_loss

SHORT_RUN: dict[str, Any] = {"training.epochs": 10, "training.lr": 0.01}


@pytest.fixture
def four(molecule_list: list[Data]) -> Data:
    batch: Data = Batch.from_data_list(molecule_list[:4])
    return batch


@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_the_papers(four: Data, iterations: int | None) -> None:
    """Each graph alone through the projector of its augmentation, with the same draws."""
    method = make(JOAOv2, None if iterations is None else SpectralFeatureAugmentation(iterations=iterations))
    generator = seeded(4)
    choices = torch.multinomial(method.probabilities, 4, replacement=True, generator=generator)
    assert len(choices.unique()) > 1
    expected = slow_loss(method, four, choices, generator, iterations)
    assert method(four, seeded(4)).item() == pytest.approx(expected, rel=1e-4)


def test_each_projector_learns_from_the_graphs_of_its_augmentation(four: Data) -> None:
    """Those of no graph get a gradient of 0; the graphs as they are teach that of identity."""
    method = make(JOAOv2)
    method.probabilities.copy_(torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0]))
    method(four, seeded()).backward()
    sizes = [sum(float(weights.grad.abs().sum()) for weights in head.parameters()) for head in method.head]  # type: ignore[union-attr]
    assert [size > 0 for size in sizes] == [True, True, False, False, False]


def test_a_map_that_mixes_graphs_is_refused_by_the_second_version_alone(four: Data) -> None:
    assert make(JOAO, Costa(ratio=0.5))(four, seeded()).isfinite()
    with pytest.raises(InputError, match="mixes the rows"):
        make(JOAOv2, Costa(ratio=0.5))
