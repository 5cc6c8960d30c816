"""The gradient of a step, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch_geometric.data import Data

from sfa.methods.base import FeatureMaps
from sfa.train.batch_plan import Part

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def add_gradient(
    fabric: Fabric,
    model: Any,
    parts: Iterable[Part],
    generator: torch.Generator,
    observers: Sequence[Callable[[FeatureMaps, Data], None]] = (),
) -> float:
    r"""Add the gradient of a step to that of the weights of a model that Fabric has set up, and return the loss.

    .. math::
        \mathcal{L} = \sum_i s_i \mathcal{L}_i

    over its parts with their shares :math:`s_i`, one after another: memory holds one at a time. Observers are shown the
    feature maps of a part when its gradient is done, outside of autocast. Processes meet at the last part alone.
    """
    loss = 0.0
    for part in parts:
        seen: list[FeatureMaps] = []
        with fabric.no_backward_sync(model, enabled=not part.is_last):
            part_loss = part.share * model(part.batch, generator, **({"observe": seen.append} if observers else {}))
            fabric.backward(part_loss)
        loss += part_loss.item()
        for observe, maps in product(observers, seen):
            observe(maps, part.batch)
    return loss
