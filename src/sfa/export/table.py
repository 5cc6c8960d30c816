"""What is written: a row an item, with its id, its embedding and what else is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfa.errors import InputError
from sfa.levels import Level

Embeddings = NDArray[np.float32]
Ids = Sequence[str] | Sequence[int]
Columns = Mapping[str, Sequence[str | None]]
"""Text of each item, by name; ``None`` where there is none."""
Layout = Literal["columns", "list"]
"""Of a table: a column a feature, ``z0``, ``z1`` …, or all in one column of lists, ``embedding``."""


@dataclass(frozen=True)
class Table:
    """Embeddings ``(n, d)`` and what goes with them."""

    z: Embeddings
    ids: Ids
    item: Level = "node"
    columns: Columns = field(default_factory=dict)
    layout: Layout = "columns"
    about: Mapping[str, Any] = field(default_factory=dict)
    """Where they come from, for formats with a place for it."""

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.z):
            raise InputError(f"{len(self.z)} embeddings need as many {self.item} ids, not {len(self.ids)}.")
        taken = {self.id_name, *self.feature_names, "embeddings", f"{self.id_name}s"}  # in tables, and among arrays
        for name, values in self.columns.items():
            if name in taken:
                raise InputError(f"A column cannot be called {name}: the table has one already.")
            if len(values) != len(self.z):
                raise InputError(f"{len(self.z)} embeddings need as many values of {name}, not {len(values)}.")

    @property
    def id_name(self) -> str:
        return f"{self.item}_id"

    @property
    def feature_names(self) -> list[str]:
        return [f"z{i}" for i in range(self.z.shape[1])] if self.layout == "columns" else ["embedding"]

    @property
    def of_one_kind(self) -> Ids:
        """The ids, as text if some are text and some are numbers: a column is of one kind."""
        return [str(one) for one in self.ids] if len({type(one) for one in self.ids}) > 1 else self.ids
