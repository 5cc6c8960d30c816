"""The interface of the one slot between encoder and head that every method offers."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from sfa.registry import register


@register("spectral", "none")
class SpectralMap(nn.Module):
    """A map from feature maps to feature maps, active in training only; the base class is the empty slot, ``none``.

    Subclasses store the arguments of their constructor under their names and implement :meth:`augment`. A map may
    change the number of rows, of all maps of a step alike, and says so by :attr:`keeps_rows`; the number of features
    stays. A map that must treat all maps of a step alike overrides :meth:`forward_all`.

    A map whose result for some rows can be had without the others (but for sums over all), as that of SFA, says
    ``class Map(SpectralMap, spans_processes=True)`` and heeds :attr:`across_processes`. The other attributes state
    facts that :func:`sfa.testing.check_spectral_map` checks.
    """

    keeps_rows: bool = True
    """Whether row ``i`` of the result is that of the same node or image as row ``i`` of the feature map."""
    deterministic: bool = True
    """Whether the result follows from the feature map alone; false for a map that draws random numbers."""
    shares_draws: bool = False
    """Whether :meth:`forward_all` gives all maps of a step the same draw."""
    homogeneity: float | None = 1
    """The degree ``p`` of ``f(c h) = c^p f(h)`` for ``c > 0``; ``None`` where there is none."""
    fullgraph: bool = True
    """Whether ``torch.compile`` takes it as one graph."""
    spans_processes: bool = True
    """Whether the rows of a feature map may be spread over several processes."""
    across_processes: bool = False
    """The rows on all processes are one feature map; :func:`sfa.distributed.enable_cross_rank` sets it."""

    def __init_subclass__(cls, *, spans_processes: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.spans_processes = spans_processes

    def __init__(self) -> None:
        super().__init__()

    def check_width(self, features: int) -> None:
        """Raise unless the map takes feature maps of this width; methods ask before any work starts."""

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return ``h_tilde`` for ``h`` ``(..., n, d)``, with as many features and as a rule as many rows."""
        return h

    def forward(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return self.augment(h, generator) if self.training else h

    def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """Augment all feature maps of one step; by default each gets a draw of its own, as in the paper."""
        return tuple(self(h, generator) for h in maps)

    def extra_repr(self) -> str:
        names = [name for name in inspect.signature(type(self)).parameters if hasattr(self, name)]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
