"""What a study is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sfa.studies.variants import Base, Variant

RUN_TIME = "run-time"
"""The protocol under which the ledger holds seconds per epoch."""


@dataclass(frozen=True)
class Study:
    """A named study."""

    name: str
    variants: Callable[[Base], Iterator[Variant]]
    protocols: tuple[str, ...] = ()
    """Those it is scored under if no others are asked for; if there are none, that of the data's level."""
    epochs: int | None = None
    """Epochs where none are asked for; as many as the recipe has, if ``None``."""
    many_methods: bool = False
    """Whether it compares methods, rather than settings of one."""

    @property
    def description(self) -> str:
        """What it compares, in a line."""
        return (inspect.getdoc(self.variants) or "").splitlines()[0]
