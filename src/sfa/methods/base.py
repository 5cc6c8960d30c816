"""The base classes of methods: an encoder, an augmentation, a spectral slot, a loss, and plain embeddings."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.augment.base import as_augmentation
from sfa.errors import InputError
from sfa.graph.structure import is_stored
from sfa.memory import working_bytes
from sfa.modes import full_precision
from sfa.nn.adapt import as_encoder
from sfa.postprocess import Postprocess
from sfa.registry import build
from sfa.spectral import SpectralMap
from sfa.spectral.base import as_spectral
from sfa.tasks import ITEMS, Task, num_seed_nodes, settings_of

Views = Callable[[Any, torch.Generator | None], tuple[Any, Any]] | None  # an augmentation; the authors' if not given
Spectral = SpectralMap | Sequence[SpectralMap] | None  # a map, several that are applied in order, or nothing


class FeatureMaps(NamedTuple):
    """The feature maps of one step, before and after the spectral map, without gradient."""

    h_alpha: Tensor
    h_beta: Tensor | None  # None, as h_tilde_beta, in a method of a single view
    h_tilde_alpha: Tensor
    h_tilde_beta: Tensor | None


Observer = Callable[[FeatureMaps], None]  # is called with the feature maps of a step


class TrainingHooks:
    """Functions that the training loop calls on a method, and that a method may override."""

    def before_training(self, data: Data) -> None:
        """Look at all data once, as training and embedding see them, and keep the results in buffers."""

    def constant_rate(self) -> Iterable[nn.Parameter]:
        """Return the weights whose learning rate stays at its peak, whatever the schedule."""
        return ()

    def before_step(self, epochs: float) -> None:
        """Prepare a step; ``epochs`` are those that are done, as a fraction within one."""

    def after_backward(self) -> None:
        """Change the gradients of a step before the optimizer uses them."""

    def after_step(self, done: float) -> None:
        """Follow up on the optimizer's step; ``done`` is the fraction of training that is done, in ``(0, 1]``."""

    def after_epoch(self, batches: Iterable[tuple[Data, torch.Generator]]) -> None:
        """Use the batches of an epoch once more; they are made on demand, and results must be kept in buffers."""

    def after_training(self, data: Data) -> None:
        """Look at all data once more, and keep the results in buffers."""

    def describe_weights(self, data: Data) -> str | None:
        """Say in a few words what the method itself does to features, ``None`` if it takes them as they are."""
        return None

    def remarks(self) -> list[str]:
        """Return sentences for the user about what the method found out about the data."""
        return []


class Method(TrainingHooks, nn.Module, ABC):
    """A self-supervised method: calling it on data gives the loss of a step, :meth:`embed` the embeddings.

    The data are a graph, a batch of graphs (their disjoint union, with ``ptr`` and ``batch``), or a batch of images
    (``x`` ``(b, height, width, channels)`` in uint8). All feature maps of the loss go through :meth:`apply_spectral`.

    Args:
        encoder: Any module that embeds nodes, graphs (or nodes, summed) or images; see :func:`sfa.nn.as_encoder`.
        augmentation: Makes two views of the data, ``(data, generator) -> (view, view)``; by default the authors'.
        spectral: The map applied to the feature maps while training, or several in order; none if not given.
        width: Width of the feature maps; the encoder's if not given.
    """

    task: ClassVar[Task] = "node"
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Its authors' settings by recipe section, ``{"training": {"lr": 1e-3}}``, where they are not the task's."""
    takes_augmentation: ClassVar[bool] = False
    samplers: ClassVar[tuple[str, ...]] = ()  # the names of the samplers it works with; if empty, any
    transductive: ClassVar[bool] = False  # it has weights for each node, no encoder, and embeds no other graph
    published: ClassVar[bool] = True  # else it is ours, and no authors have settings for data sets
    weights_features: ClassVar[bool] = False  # it finds out by itself how features are to be weighted
    learns: ClassVar[bool] = True  # else it has no weights, no encoder and no slot: all is done in before_training
    requires_row_identity: ClassVar[bool] = False  # no spectral map may mix rows, each of which is one node or graph
    chance: ClassVar[float | None] = None  # the loss that tells nothing apart, if that is one number
    spans_processes: ClassVar[bool] = False  # the rows of a step may be spread over several processes
    compares_all_pairs: ClassVar[bool] = False  # of the nodes of a step, whose time grows with their square
    embeds_stores: ClassVar[bool] = False  # it embeds a stored graph from disk to disk, unless its encoder uses edges
    saves_memory: ClassVar[str] = "train in batches (--batch-size 1024, or a smaller one), or take a smaller --hidden"

    encoder: Any
    augmentation: Any
    postprocess: Sequence[Postprocess] = ()  # steps that embeddings go through, in order: sfa.postprocess
    across_processes: bool = False  # whether the rows of all processes are one batch: sfa.distributed

    def __init__(
        self, encoder: Any, augmentation: Views = None, *, spectral: Spectral = None, width: int | None = None
    ) -> None:
        super().__init__()
        self.spectral = as_spectral(spectral)
        self.encoder = None if encoder is None else as_encoder(encoder, self.task)
        if augmentation is None and self.takes_augmentation:
            augmentation = build("augmentation", settings_of(self)["augmentation"])
        self.augmentation = None if augmentation is None else as_augmentation(augmentation, self.task)
        if encoder is None and width is None:
            raise InputError(f"{type(self).__name__} needs an encoder, a module that embeds {ITEMS[self.task]}.")
        self.width = int(self.encoder.width if width is None else width)
        self.spectral.check_width(self.width)
        if self.requires_row_identity and not self.spectral.keeps_rows:
            names = type(self.spectral).__name__, type(self).__name__
            raise InputError(f"{names[0]} mixes the rows of a feature map, and {names[1]} needs one row a {self.task}.")

    @abstractmethod
    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        """Compute the loss of one step on a graph or on a batch, a scalar to minimize."""

    def chance_loss(self, rows: int) -> float | None:
        """Return the loss of a step of so many rows that tells none of them apart, if it is known."""
        return self.chance

    def memory(self, batch: Data) -> float:
        """Estimate the bytes that a step on a batch of nodes takes at its peak, beside the batch; 0 for images.

        What a linear layer returns counts three times: what is made of it, and gradients, are as large.
        """
        if self.task == "image":
            return 0.0
        columns = int(batch.num_features) if batch.x.layout == torch.strided else 0
        for part in self.modules():
            weight = getattr(part, "weight", None)
            if isinstance(weight, Tensor) and weight.ndim == 2:
                columns += 3 * int(getattr(part, "out_features", weight.shape[-1]))
        view = 4.0 * int(batch.num_nodes or 0) * columns + 40.0 * int(batch.num_edges)
        own = 0.0 if self.augmentation is None else self.augmentation.memory(batch)
        adam = 12.0 * sum(one.numel() for one in self.parameters())  # gradients, and two moments of each
        return (1 + self.takes_augmentation) * view + own + adam

    def memory_to_embed(self, data: Data) -> float:
        """Estimate the bytes that :meth:`embed` takes of a whole graph; 0 for sets, which it takes in parts."""
        if self.task != "node":
            return 0.0
        if self.embeds_from_disk(data):
            return float(working_bytes())
        own = 0.0 if self.augmentation is None else self.augmentation.memory(data)
        read = 4.0 * data.x.numel() + 64.0 * data.num_edges if is_stored(data) else 0.0
        return 12.0 * int(data.num_nodes or 0) * self.width + float(own) + read

    def embeds_from_disk(self, data: Data) -> bool:
        """Tell whether data are a stored graph that is embedded without being read into memory."""
        uses_edges = self.encoder is not None and getattr(self.encoder, "uses_edges", True)
        return self.embeds_stores and is_stored(data) and not uses_edges

    def embeddings(self, data: Data) -> Tensor:
        """Compute embeddings ``(n, width)`` of the uncorrupted items, before postprocessing."""
        return self.encoder.embed(data)  # type: ignore[no-any-return]

    def embed(self, data: Data) -> Tensor:
        """Compute :meth:`embeddings`, and apply the steps of :attr:`postprocess`.

        Those of a stored graph may be a tensor over a temporary file.
        """
        if is_stored(data) and not self.embeds_from_disk(data):
            data = copy.copy(data).update({"x": data.x.float()})
        z = self.embeddings(data)
        for step in self.postprocess:
            z = step(z, data)
        return z

    def setup(self, data: Data) -> None:
        """Look at the data once, before training, and keep the results in buffers."""
        if hasattr(self.encoder, "setup"):
            self.encoder.setup(data)

    def apply_spectral(
        self, *maps: Tensor, generator: torch.Generator | None, observe: Observer | None = None, views: int = 2
    ) -> tuple[Tensor, ...]:
        """Apply the spectral map to all feature maps of a step; the first ``views`` of them, 1 or 2, are observed."""
        with full_precision(*maps) as maps:
            # A batch of one row is left as it is, where it would end the training.
            few = not self.spectral.across_processes and any(len(h) == 1 < self.spectral.min_rows for h in maps)
            tilde = maps if few else self.spectral.forward_all(*maps, generator=generator)
        if observe is not None:
            shown = [tuple(h.detach() for h in those[:views]) + (None,) * (2 - views) for those in (maps, tilde)]
            observe(FeatureMaps(*shown[0], *shown[1]))  # type: ignore[arg-type]
        return tilde

    def encode(self, encoder: nn.Module, views: Iterable[Any], data: Data, generator: torch.Generator | None) -> Any:
        """Compute the feature maps ``(n, width)`` of views, for a sampled batch those of its seed nodes alone."""
        return [encoder(view, generator)[: num_seed_nodes(data)] for view in views]


class TwoViewMethod(Method):
    """Views → encoder → spectral map → head → loss (the paper's framework figure).

    A method is a subclass that defines its :meth:`loss`, and sets its ``head`` if it has one.
    """

    takes_augmentation = True

    def __init__(self, encoder: nn.Module, augmentation: Views = None, *, spectral: Spectral = None) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head: nn.Module = nn.Identity()

    @abstractmethod
    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        """Compute the scalar to minimize from the two views' projections ``(n, p)``."""

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        views = self.augmentation(data, generator)
        maps = self.encode(self.encoder, views, data, generator)
        h_alpha, h_beta = self.apply_spectral(*maps, generator=generator, observe=observe)
        with full_precision(self.head(h_alpha), self.head(h_beta)) as (z_alpha, z_beta):
            return self.loss(z_alpha, z_beta)
