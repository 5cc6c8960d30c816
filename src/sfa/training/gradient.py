"""The gradient of a step, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import torch
from lightning_fabric import Fabric
from torch_geometric.data import Data

from sfa.methods.base import FeatureMaps
from sfa.training.steps import Part

Watcher = Callable[[FeatureMaps, Data], None]
"""Is shown the feature maps of each part of a step, and the batch that they are of."""


def add_gradient(
    fabric: Fabric,
    model: Any,
    parts: Iterable[Part],
    generator: torch.Generator,
    watchers: Sequence[Watcher] = (),
) -> float:
    r"""Add the gradient of a step of a model that Fabric has set up to that of its weights, and return its loss.

    .. math::
        \mathcal{L} = \sum_i s_i \mathcal{L}_i

    over its parts with their shares :math:`s_i`, one after another: memory holds one at a time. Watchers are shown a
    part when its gradient is done, outside of autocast. Processes meet at the last part alone.
    """
    loss = 0.0
    for part in parts:
        seen: list[FeatureMaps] = []
        with fabric.no_backward_sync(model, enabled=not part.is_last):
            part_loss = part.share * model(part.batch, generator, **({"observe": seen.append} if watchers else {}))
            fabric.backward(part_loss)
        loss += part_loss.item()
        for watch, maps in product(watchers, seen):
            watch(maps, part.batch)
    return loss
