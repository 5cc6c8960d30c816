"""Where a named data set comes from."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torch_geometric.data import Data

from sfa.data.roots import data_root
from sfa.errors import InputError, SfaError, unknown_name
from sfa.levels import ITEMS, Level, level_of

PathLike = str | os.PathLike[str]


class Origin(Protocol):
    """Where a named data set comes from."""

    @property
    def level(self) -> Level | None:
        """Whether it is one graph, whose nodes are embedded, a set of graphs, or a set of images; None if only loading
        it tells."""

    def locate(self, root: PathLike | None) -> Path | None:
        """Return where it would be read from; None if it is not on this machine."""

    def load(self, root: PathLike | None) -> Data:
        """Return the graph, graph set or image set."""


@dataclass(frozen=True)
class LoadedByFunction:
    """Call a function of the user's: ``sfa.register("dataset", "my-set", load_my_set)``.

    Args:
        name: The name of the data set.
        function: Takes the folder of data sets, a ``Path`` (see :func:`~sfa.data.data_root`), and returns a PyG
            ``Data``: one graph, a batch of graphs, or images of :func:`~sfa.data.build_images`. A list of graphs and a
            PyG data set are taken as well. The first line of its docstring describes the data set in
            ``sfa list datasets``. Set ``function.level`` to ``"node"``, ``"graph"`` or ``"image"`` to show there what
            is embedded, and to have a command checked before the data are read.
    """

    name: str
    function: Callable[[Path], Any]

    @property
    def level(self) -> Level | None:
        level: Level | None = getattr(self.function, "level", None)
        if level is not None and level not in ITEMS:
            raise unknown_name(f"level of the data set {self.name}", level, ITEMS)
        return level

    @property
    def description(self) -> str:
        """The first line of the function's docstring."""
        return next(iter((inspect.getdoc(self.function) or "").splitlines()), "")

    @property
    def loader(self) -> str:
        """The function, as ``module.function``."""
        named = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{self.function.__module__}.{named}"

    def locate(self, root: PathLike | None) -> None:
        return None

    def load(self, root: PathLike | None) -> Data:
        try:
            data = _checked(self.function(data_root(root)), self.name)
        except SfaError:
            raise
        except Exception as error:
            raise InputError(
                f"The data set {self.name} could not be loaded by {self.loader}: {type(error).__name__}: {error}"
            ) from error
        if self.level not in (None, level_of(data)):
            raise InputError(
                f"The data set {self.name} holds {ITEMS[level_of(data)]}: set {self.loader}.level to "
                f"{level_of(data)!r}, not to {self.level!r}."
            )
        return data


def _checked(loaded: Any, name: str) -> Data:
    # These import `load` themselves.
    from sfa.data.as_graphs import as_graphs, is_one_graph
    from sfa.data.as_images import as_images
    from sfa.data.convert import as_graph

    if isinstance(loaded, Data) and level_of(loaded) == "image":
        images = as_images(loaded)
        images.name = name
        return images
    return as_graph(loaded, name=name) if is_one_graph(loaded) else as_graphs(loaded, name=name)
