"""What a protocol is, which ones the data allow, and which is the default."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, TypeVar
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.scores import Score
from sfa.graph.structure import WeakTensorCache
from sfa.registry import registered
from sfa.tasks import DATA, ITEMS, Task, task_of

Embedder = Callable[[Data], Tensor]
"""A graph, a graph set or an image set in, its embeddings ``(n, d)`` out."""

BY_NAME = {
    "honest-10-10-80-sklearn": "It gives the scores of honest-10-10-80: ask for it by name.",
    "label-signal": "It is a diagnosis and no score: ask for it by name.",
}
"""Protocols that are not meant by "all", and why."""

DEFAULTS: dict[Task, str] = {"node": "honest-10-10-80", "graph": "tu-svm-10fold", "image": "image-linear"}
"""Protocols for nodes, for whole graphs and for images, where none is named."""

P = TypeVar("P", bound="Protocol")
S = TypeVar("S")


@dataclass(frozen=True)
class Protocol(ABC):
    """A way to score embeddings, settled before they are seen: same data, same splits, same selection for all.

    Attributes:
        name: By which it is asked for.
        description: One line: splits, classifier, what is selected on what.
        repeats: Splits or runs; of splits that come with the data at most so many.
        needs: What the data must have.
        tasks: What it scores: the nodes of one graph, the graphs of a set, images, or several of these.
    """

    name: str
    description: str
    repeats: int = 20
    needs: ClassVar[Literal["labels", "masks", "edges"]] = "labels"
    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph")

    @abstractmethod
    def check(self, graph: Data) -> None:
        """Raise, before any long work, if these data do not allow it."""

    def check_task(self, graph: Data) -> None:
        """Raise if it is not for nodes, not for the graphs of a set, or not for images, where these data are such."""
        task = task_of(graph)
        if task not in self.tasks:
            what = getattr(graph, "name", None) or "this"
            scored = " or ".join(ITEMS[own] for own in self.tasks)
            raise InputError(f"{self.name} scores {scored}, and {what} is {DATA[task]}.")

    def evaluate(
        self,
        embedding: Any,
        graph: Data,
        *,
        name: str = "embedding",
        on_split: Callable[[], None] | None = None,
    ) -> Score:
        """Score an embedding of a graph's nodes, or of a set's graphs or images.

        Args:
            embedding: ``(n, d)``, a tensor or array, dense or sparse; or an :data:`Embedder`, which is called with the
                graph, or set, that may be seen.
            graph: The graph, or set, that it is scored on; labels of ``-1`` are unknown and left out.
            name: What the embedding is called in the score.
            on_split: Called after each split or run.
        """
        score = self.measure(embedding, graph, on_split or no_news)
        return replace(score, name=name, splits=self.digest(graph))

    @abstractmethod
    def measure(self, embedding: Any, graph: Data, on_split: Callable[[], None]) -> Score:
        """Score an embedding as :meth:`evaluate` does, which adds name and digest."""

    def with_splits(self: P, count: int) -> P:
        """Return the same with another number of repeats: a quick look, not the protocol."""
        return replace(self, repeats=count)

    def count(self, graph: Data) -> int:
        """Return how many splits or runs these data get."""
        return self.repeats

    @abstractmethod
    def parts(self, graph: Data) -> Iterable[NDArray[np.int64]]:
        """Return the numbers of the nodes, graphs, images or edges of every part of every split, in order."""

    def digest(self, graph: Data) -> str:
        """Compute the SHA-256 of all settings and splits; scores of the same data can be paired if theirs is equal."""
        settings = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "description"}
        text = repr(settings).replace("KNNProbe(", "NeighbourProbe(")  # as it is called in stored digests
        sha = hashlib.sha256(text.encode())
        for part in self.parts(graph):
            sha.update(f";{len(part)}:".encode())
            sha.update(np.ascontiguousarray(part, dtype=np.int64).data)
        return sha.hexdigest()


_Drawn = tuple[Protocol, list[tuple[ReferenceType[Tensor], int]], Any]
_DRAWN: WeakTensorCache[dict[str, _Drawn]] = WeakTensorCache()
"""Splits of each protocol, as long as a tensor of the data lives and is not written to."""


def draw_once(protocol: Protocol, graph: Data, key: Any, draw: Callable[[], S]) -> S:
    """Return the splits that ``draw`` makes for these data: the same ones as long as no tensor of the data changes.

    Args:
        protocol: Whose splits they are.
        graph: The data.
        key: What is split, labels or edges; the splits are forgotten when it is.
        draw: Draws them.
    """
    tensors = [value for value in graph.to_dict().values() if isinstance(value, Tensor)]
    if not isinstance(key, Tensor) or any(value.is_inference() for value in tensors):  # they count no changes
        return draw()
    known = _DRAWN.get(key, dict)
    drawn = known.get(protocol.name)
    if drawn is None or drawn[0] != protocol or not _are_unchanged(tensors, drawn[1]):
        drawn = known[protocol.name] = protocol, [(ref(value), value._version) for value in tensors], draw()
    splits: S = drawn[2]
    return splits


def _are_unchanged(tensors: Sequence[Tensor], before: Sequence[tuple[ReferenceType[Tensor], int]]) -> bool:
    pairs = zip(tensors, before, strict=False)
    return len(tensors) == len(before) and all(t is old() and t._version == version for t, (old, version) in pairs)


def default_protocol(task: Task) -> str:
    """Return the name of the protocol for nodes, for whole graphs or for images, where none is named."""
    return DEFAULTS[task]


def possible(graph: Data) -> tuple[list[Protocol], dict[str, str]]:
    """Return the protocols that these data allow, and why not for each of the others."""
    allowed, refused = [], {}
    for protocol in registered("protocol").values():
        name = protocol.name
        if name in BY_NAME:
            refused[name] = BY_NAME[name]
            continue
        try:
            protocol.check(graph)
            allowed.append(protocol)
        except InputError as error:
            refused[name] = str(error)
    return allowed, refused


def no_news() -> None:
    """Where nobody wants to be told."""
