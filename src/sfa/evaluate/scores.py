"""The score of one embedding under one protocol, value by value, so that two of them can be compared pairwise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfa.errors import InputError


@dataclass(frozen=True)
class Score:
    """What a protocol measured of one embedding.

    Attributes:
        name: Of the embedding.
        protocol: Name of the protocol.
        values: For each metric its value on every split or run, in per cent; the main metric is the first.
        chosen: What was selected on each split (``C``, a step, ``k`` …), where something was.
        validation: The value by which it was selected, in per cent.
        splits: Digest of the protocol's settings and splits; scores can be paired if theirs is the same.
    """

    name: str
    protocol: str
    values: Mapping[str, tuple[float, ...]]
    chosen: tuple[Any, ...] = ()
    validation: tuple[float, ...] = ()
    splits: str = ""

    @property
    def main(self) -> str:
        """The metric that a single number stands for."""
        return next(iter(self.values))

    def of(self, metric: str | None = None) -> tuple[float, ...]:
        """The values of a metric, by default the main one."""
        if metric is not None and metric not in self.values:
            raise InputError(f"{self.protocol} measures {', '.join(self.values)}, not {metric!r}.")
        return self.values[self.main if metric is None else metric]

    def mean(self, metric: str | None = None) -> float:
        return float(np.mean(self.of(metric)))

    def std(self, metric: str | None = None) -> float:
        """Standard deviation over the splits or runs; NaN if there is but one."""
        values = self.of(metric)
        return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan

    def text(self, metric: str | None = None) -> str:
        """For instance ``82.45 ± 0.82``; of a single value just ``82.45``."""
        std = self.std(metric)
        return f"{self.mean(metric):.2f}" + ("" if math.isnan(std) else f" ± {std:.2f}")

    def __str__(self) -> str:
        return self.text()

    def as_dict(self) -> dict[str, Any]:
        """For JSON; ``mean`` and ``std`` are those of the main metric."""
        std = self.std()
        return {
            "name": self.name,
            "protocol": self.protocol,
            "mean": self.mean(),
            "std": None if math.isnan(std) else std,
            "values": {metric: list(values) for metric, values in self.values.items()},
            "chosen": list(self.chosen),
            "validation": list(self.validation),
            "splits": self.splits,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Score:
        """The score that :meth:`as_dict` wrote."""
        try:
            values = {str(metric): tuple(map(float, of)) for metric, of in given["values"].items()}
            validation = tuple(map(float, given["validation"]))
            if not values or not all(values.values()):
                raise ValueError("no values")
            chosen, splits = tuple(given["chosen"]), str(given["splits"])
            return cls(str(given["name"]), str(given["protocol"]), values, chosen, validation, splits)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"This is not a score as sfa writes it: {error!r}.") from error
