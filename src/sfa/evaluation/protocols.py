"""Named evaluation protocols: which splits, which classifier, what is chosen on what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfa.errors import InputError, unknown_name
from sfa.evaluation.probe import ProbeResult, logistic_probe
from sfa.evaluation.scores import Score
from sfa.evaluation.splits import Split, random_splits


@dataclass(frozen=True)
class Protocol:
    """Random splits, L2-regularised logistic regression on unit rows, ``C`` chosen on validation, test read once."""

    name: str
    description: str
    train: float = 0.1
    validation: float = 0.1
    splits: int = 20
    cs: tuple[float, ...] = (1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4)

    def draw(self, y: ArrayLike, class_names: Sequence[str] | None = None) -> list[Split]:
        """The splits of these labels; raises if the labels do not allow any."""
        return random_splits(
            _labels(y), train=self.train, validation=self.validation, count=self.splits, class_names=class_names
        )

    def evaluate(
        self, z: ArrayLike, y: ArrayLike, *, name: str = "embedding", on_split: Callable[[], None] | None = None
    ) -> Score:
        """Score an embedding ``(n, d)`` against labels ``(n,)``, where ``-1`` means unknown."""
        rows, labels = _unit_rows(z), _labels(y)
        if len(rows) != len(labels):
            raise InputError(f"{len(rows)} embeddings cannot be scored against {len(labels)} labels.")

        def results() -> Iterator[ProbeResult]:
            for split in self.draw(labels):
                yield logistic_probe(rows, labels, split, self.cs)
                if on_split is not None:
                    on_split()

        return Score(name, tuple(results()))


PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in [
        Protocol(
            name="honest-10-10-80",
            description="20 random splits 10/10/80, logistic regression on unit rows, C chosen on validation, "
            "test read once",
        )
    ]
}


def resolve(name: str) -> Protocol:
    """The protocol called ``name``."""
    if name not in PROTOCOLS:
        raise unknown_name("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]


def _labels(y: ArrayLike | None) -> NDArray[np.int64]:
    if y is None:
        raise InputError("Evaluation needs labels, and this graph has none: give them as `y` (see the user guide).")
    return np.asarray(y, dtype=np.int64)


def _unit_rows(z: ArrayLike) -> NDArray[np.float64]:
    rows = np.asarray(z, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InputError(f"An embedding is a finite matrix (n, d), not one of shape {rows.shape} with NaN or infinity.")
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))
