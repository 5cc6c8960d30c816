"""The interface of spectral maps, the slot between encoder and head, and several maps in one slot."""

import inspect
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, get_type_hints

import torch
from torch import Tensor, nn

from sfa.errors import InputError
from sfa.registry import register
from sfa.spectral.feature_map import check_feature_map


@register("spectral", "none")
class SpectralMap(nn.Module):
    """A map from feature maps to feature maps, active in training only; the base class is the empty slot, ``none``.

    Subclasses store the arguments of their constructor under their names and implement :meth:`augment`, or name a
    function of ``h`` and these options: ``class Map(SpectralMap, function=augment_rows)``. A map may change the number
    of rows, of all maps of a step alike, but not the number of features. One that needs of other processes' rows only
    sums over them is declared with ``spans_processes=True`` and respects :attr:`across_processes`.
    :func:`sfa.testing.check_spectral_map` checks the class attributes.
    """

    keeps_rows: bool = True  # row i of the result belongs to the same node or image as row i of the feature map
    min_rows: int = 1  # 2 for a map that would make zeros of a single row, which it refuses in training
    deterministic: bool = True  # the map draws no random numbers
    shares_draws: bool = False  # forward_all gives all maps of a step the same draw
    homogeneity: float | None = 1  # the degree p of f(c h) = c^p f(h) for c > 0; None if there is none
    fullgraph: bool = True  # torch.compile takes the map as one graph
    spans_processes: bool = True  # the rows of a feature map may be spread over several processes
    across_processes: bool = False  # the rows of all processes are one feature map; see distributed.enable_cross_rank
    _function: Callable[..., Tensor] | None = None

    def __init_subclass__(
        cls, *, function: Callable[..., Tensor] | None = None, spans_processes: bool = False, **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        cls.spans_processes = spans_processes
        if function is not None:
            cls._function = staticmethod(function)
        if (init := vars(cls).get("__init__")) is not None:
            with suppress(NameError, TypeError):  # hints of a user's class that cannot be resolved stay as they are
                hints, signature = get_type_hints(init), inspect.signature(init)
                plain = [
                    one.replace(annotation=hints.get(name, one.annotation))
                    for name, one in signature.parameters.items()
                ]
                init.__signature__ = signature.replace(parameters=plain)  # help() then shows int, not Annotated[int, …]

    def __init__(self) -> None:  # without nn.Module's *args and **kwargs, which would be options of a recipe
        super().__init__()

    def set_options(self, **options: Any) -> None:
        """Initialize the module, store options under their names, and check them on an empty feature map."""
        SpectralMap.__init__(self)
        for name, value in options.items():
            setattr(self, name, value)
        self._names = tuple(options)
        self.augment(torch.empty(0, 0))

    @property
    def options(self) -> dict[str, Any]:
        """The options of :meth:`set_options`, with the values that they have now."""
        return {name: getattr(self, name) for name in self._names}

    def check_width(self, features: int) -> None:
        """Raise unless the map takes feature maps of this width; methods call this before training."""

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return ``h_tilde`` for ``h`` ``(..., n, d)``, with as many features."""
        if self._function is None:
            return h
        options = self.options if self.deterministic else {**self.options, "generator": generator}
        if self.spans_processes:
            options["across_processes"] = self.across_processes
        return self._function(h, **options)

    def forward(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        check_feature_map(h)
        if not self.training:
            return h
        one_number = self._function is not None and h.dim() > 2 and h.shape[-1] == 1
        if h.shape[-2] == 1 and not self.across_processes and (self.min_rows > 1 or one_number):
            raise InputError(
                f"{type(self).__name__} takes maps of two rows or more in training, not {tuple(h.shape)}: the last two "
                "axes are rows and features, so call h.flatten(1) after a convolution, and leave out single rows."
            )
        return self.augment(h, generator)

    def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """Augment all feature maps of one step; by default each gets a draw of its own, as in the paper."""
        return tuple(self(h, generator) for h in maps)

    def extra_repr(self) -> str:
        names = [name for name in inspect.signature(type(self)).parameters if hasattr(self, name)]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)


class Sequential(SpectralMap, spans_processes=True):
    """Apply spectral maps one after another, each to all feature maps of a step; without any it is the identity.

    >>> from sfa.spectral import GaussianNoise, SpectralFeatureAugmentation
    >>> layer = Sequential(GaussianNoise(0.1), SpectralFeatureAugmentation())
    >>> h_alpha, h_beta = layer.forward_all(torch.randn(100, 16), torch.randn(100, 16))
    """

    def __init__(self, *maps: SpectralMap) -> None:
        super().__init__()
        for one in maps:
            if not isinstance(one, SpectralMap):
                raise InputError(f"A sequence of spectral maps takes instances of SpectralMap, not {one!r}.")
        self.maps = nn.ModuleList(maps)
        degrees = [one.homogeneity for one in maps]
        self.homogeneity = None if None in degrees else math.prod(degrees)  # type: ignore[arg-type]
        self.min_rows = max((one.min_rows for one in maps), default=1)
        self.shares_draws = all(one.shares_draws or one.deterministic for one in maps)
        for fact in ("keeps_rows", "deterministic", "fullgraph", "spans_processes"):
            setattr(self, fact, all(getattr(one, fact) for one in maps))

    def check_width(self, features: int) -> None:
        for one in self.maps:
            one.check_width(features)  # type: ignore[operator]

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        for one in self.maps:
            h = one(h, generator)
        return h

    def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        for one in self.maps if self.training else ():
            maps = one.forward_all(*maps, generator=generator)  # type: ignore[operator]
        return maps

    def extra_repr(self) -> str:
        return ""


def as_spectral(spectral: SpectralMap | Sequence[SpectralMap] | None) -> SpectralMap:
    """Return one map for the slot: the map itself, several maps as one, or the empty slot for ``None``."""
    if isinstance(spectral, SpectralMap):
        return spectral
    if isinstance(spectral, list | tuple):
        return Sequential(*spectral)
    if spectral is None:
        return SpectralMap()
    raise InputError(f"The spectral slot takes an instance of SpectralMap, or a list of them, not {spectral!r}.")
