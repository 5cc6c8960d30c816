"""The base class of protocols, which of them the data allow, and which is the default."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, TypeVar
from weakref import ref

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
"""A function from a graph, a graph set or an image set to its embeddings ``(n, d)``."""

BY_NAME = {
    "honest-10-10-80-sklearn": "It gives the scores of honest-10-10-80: ask for it by name.",
    "label-signal": "It is a diagnosis and no score: ask for it by name.",
}
"""Protocols that are not meant by "all", and why."""

DEFAULTS: dict[Task, str] = {"node": "honest-10-10-80", "graph": "tu-svm-10fold", "image": "image-linear"}

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
    def check(self, data: Data) -> None:
        """Raise, before any long work, if these data do not allow it."""

    def check_task(self, data: Data) -> None:
        """Raise if it does not score nodes, graphs or images, where these data are such."""
        if task_of(data) not in self.tasks:
            scored = " or ".join(ITEMS[own] for own in self.tasks)
            what = getattr(data, "name", None) or "this"
            raise InputError(f"{self.name} scores {scored}, and {what} is {DATA[task_of(data)]}.")

    def evaluate(
        self, embedding: Any, data: Data, *, name: str = "embedding", on_split: Callable[[], None] | None = None
    ) -> Score:
        """Score an embedding of a graph's nodes, or of a set's graphs or images.

        Args:
            embedding: ``(n, d)``, a tensor or array, dense or sparse; or an :data:`Embedder`, which is called with the
                data that may be seen.
            data: The graph, or set, that it is scored on; labels of ``-1`` are unknown and left out.
            name: Name of the embedding in the score.
            on_split: Called after each split or run.
        """
        score = self.measure(embedding, data, on_split or no_news)
        return replace(score, name=name, splits=self.digest(data))

    @abstractmethod
    def measure(self, embedding: Any, data: Data, on_split: Callable[[], None]) -> Score:
        """Score an embedding as :meth:`evaluate` does, which adds name and digest."""

    def with_splits(self: P, count: int) -> P:
        """Return the same with another number of repeats: a quick look, not the protocol."""
        return replace(self, repeats=count)

    def count(self, data: Data) -> int:
        """Return how many splits or runs these data get."""
        return self.repeats

    @abstractmethod
    def parts(self, data: Data) -> Iterable[NDArray[np.int64]]:
        """Return the numbers of the nodes, graphs, images or edges of every part of every split, in order."""

    def digest(self, data: Data) -> str:
        """Compute the SHA-256 of all settings and splits; scores of the same data can be paired if theirs is equal."""
        settings = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "description"}
        text = repr(settings).replace("KNNProbe(", "NeighbourProbe(")  # as it is called in stored digests
        sha = hashlib.sha256(text.encode())
        for part in self.parts(data):
            sha.update(f";{len(part)}:".encode())
            sha.update(np.ascontiguousarray(part, dtype=np.int64).data)
        return sha.hexdigest()


_DRAWN: WeakTensorCache[dict[str, Any]] = WeakTensorCache()
"""Splits of each protocol, as long as a tensor of the data lives and is not written to."""


def draw_once(protocol: Protocol, data: Data, key: Any, draw: Callable[[], S]) -> S:
    """Return the splits that ``draw`` makes for these data: the same ones as long as no tensor of the data changes.

    They are forgotten with ``key``, the labels or edges that are split.
    """
    tensors = [value for value in data.to_dict().values() if isinstance(value, Tensor)]
    if not isinstance(key, Tensor) or any(value.is_inference() for value in tensors):  # they count no changes
        return draw()
    known, now = _DRAWN.get(key, dict), [(id(value), value._version) for value in tensors]
    drawn = known.get(protocol.name)
    if drawn is None or drawn[0] != protocol or [(id(tensor()), version) for tensor, version in drawn[1]] != now:
        drawn = known[protocol.name] = protocol, [(ref(value), value._version) for value in tensors], draw()
    splits: S = drawn[2]
    return splits


def default_protocol(task: Task) -> str:
    """Return the name of the protocol for nodes, for whole graphs or for images, where none is named."""
    return DEFAULTS[task]


def possible(data: Data) -> tuple[list[Protocol], dict[str, str]]:
    """Return the protocols that these data allow, and why not for each of the others."""
    allowed, refused = [], {}
    for name, protocol in registered("protocol").items():
        try:
            if name in BY_NAME:
                raise InputError(BY_NAME[name])
            protocol.check(data)
            allowed.append(protocol)
        except InputError as error:
            refused[name] = str(error)
    return allowed, refused


def no_news() -> None:
    """Do nothing after a split."""
