"""The base of augmentations: calling one on data makes two random views of them."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch

from sfa.errors import InputError
from sfa.registry import register
from sfa.tasks import DATA, Task, task_attribute

View = Callable[[Any, torch.Generator | None], Any]  # a function (data, generator) -> view that makes one view


class Augmentation:
    """Make two random views, alpha and beta, of a graph, of a batch of graphs, or of images.

    A subclass makes one view in :meth:`view`. A method also takes any function ``(data, generator) -> (view, view)``.
    """

    task: ClassVar[Task | None] = "node"  # what it augments: one graph, graphs of a set, images, or None for any

    def memory(self, data: Any) -> float:
        """Estimate the bytes that views take beside their features and edges."""
        return 0.0

    def view(self, data: Any, generator: torch.Generator | None = None, index: int = 0) -> Any:
        """Make view alpha (``index=0``) or beta (``index=1``) of the data."""
        raise NotImplementedError

    def __call__(self, data: Any, generator: torch.Generator | None = None) -> tuple[Any, Any]:
        """Make both views of the data; alpha draws from the generator first."""
        needed = {None: (), "image": ()}.get(self.task, ("x", "edge_index"))
        lacking = next((key for key in needed if not isinstance(getattr(data, key, None), torch.Tensor)), None)
        if lacking is not None:
            raise InputError(
                f"{type(self).__name__} augments {DATA[self.task or 'node']} of tensors x and edge_index, "
                f"as sfa.data.as_graph makes it, but the {type(data).__name__} has no tensor {lacking}."
            )
        return self.view(data, generator, 0), self.view(data, generator, 1)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({options})"


class Compose(Augmentation):
    """Apply several augmentations in order, each to the view that the one before has made.

    >>> from sfa.augment import DropEdges, MaskFeatures
    >>> Compose([MaskFeatures(0.3), DropEdges((0.2, 0.4))])
    Compose(transforms=[MaskFeatures(rate=(0.3, 0.3)), DropEdges(rate=(0.2, 0.4), directed=False)])

    Functions ``(data, generator) -> view`` can be among them, and treat both views alike.
    """

    task = None

    def __init__(self, transforms: Sequence[Augmentation | View]) -> None:
        self.transforms = list(transforms)
        for other in (one for one in self.transforms if not callable(one)):
            raise InputError(f"Compose takes augmentations, or functions of data and generator, not {other!r}.")

    def view(self, data: Any, generator: torch.Generator | None = None, index: int = 0) -> Any:
        for transform in self.transforms:
            if isinstance(transform, Augmentation):
                data = transform.view(data, generator, index)
            else:
                data = transform(data, generator)
        return data


@register("augmentation", "identity")
class Identity(Augmentation):
    """Leave the data as they are: both views are the data themselves."""

    task = None

    def view(self, data: Any, generator: torch.Generator | None = None, index: int = 0) -> Any:
        return data


class FunctionViews(Augmentation):
    """A function ``(data, generator) -> (view, view)`` as an augmentation, checked to make two views."""

    task = None

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, data: Any, generator: torch.Generator | None = None) -> tuple[Any, Any]:
        views = self.function(data, generator)
        if not isinstance(views, tuple | list) or len(views) != 2:
            given = type(views).__name__
            raise InputError(f"An augmentation returns two views, and {self!r} returned {given}: use Compose([…]).")
        return views[0], views[1]

    def view(self, data: Any, generator: torch.Generator | None = None, index: int = 0) -> Any:
        return self(data, generator)[index]


def as_augmentation(views: Any, task: Task) -> Augmentation:
    """Return an augmentation, or a function that makes two views as one."""
    if not callable(views):
        raise InputError(f"An augmentation is a function (data, generator) -> (view, view), not {views!r}.")
    own = task_attribute(views)
    if own in DATA and own != task:
        raise InputError(f"The augmentation {type(views).__name__} is of {DATA[own]}, not of {DATA[task]}.")
    return views if isinstance(views, Augmentation) else FunctionViews(views)


def both(name: str, rate: float | tuple[float, float]) -> tuple[float, float]:
    """Return the rates of view alpha and beta: a single rate is that of both."""
    rates = tuple(rate) if isinstance(rate, tuple | list) else (rate, rate)
    are_numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in rates)
    if len(rates) != 2 or not are_numbers or not all(0 <= one <= 1 for one in rates):
        raise InputError(f"{name} is a probability from 0 to 1, or one for each view, not {rate!r}.")
    return float(rates[0]), float(rates[1])
