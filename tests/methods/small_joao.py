"""Small JOAOs, and their loss graph by graph."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.graph import AUGMENTATIONS
from sfa.methods import JOAO, JOAOv2
from sfa.nn import GIN
from sfa.spectral import SpectralMap, power_iteration
from tests.methods.slow_contrast import slow_contrast

Version = TypeVar("Version", bound=JOAO)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(version: type[Version], spectral: SpectralMap | None = None, **options: Any) -> Version:
    """A small one whose probabilities are not uniform."""
    torch.manual_seed(0)
    method = version(GIN(4, 5, layers=2), spectral=spectral, **{"tau": 0.5, **options})
    method.probabilities.copy_(torch.tensor([0.1, 0.2, 0.2, 0.2, 0.3]))
    return method


def row_by_row(method: JOAO, h: Tensor, choices: list[int]) -> Tensor:
    """Each graph alone through its projector: the one there is, or that of its augmentation."""
    rows = []
    for row, kind in zip(h, choices, strict=True):
        head: Any = method.head[kind] if isinstance(method, JOAOv2) else method.head  # type: ignore[index]
        rows.append(head(row[None]))
    return torch.cat(rows).detach()


def slow_loss(method: JOAO, batch: Data, choices: Tensor, generator: torch.Generator, iterations: int | None) -> float:
    """The graphs as they are against their views, with the draws that come next."""
    view = method.augmentation.apply(batch, choices, generator)
    maps = [method.encoder(one).detach() for one in (batch, view)]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    z = row_by_row(method, maps[0], [AUGMENTATIONS.index("identity")] * len(choices))
    return slow_contrast(z, row_by_row(method, maps[1], choices.tolist()), 0.5)
