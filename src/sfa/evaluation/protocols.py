"""Named evaluation protocols: which splits, which classifier, what is chosen on what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from sfa.errors import InputError, unknown_name
from sfa.evaluation.probe import Solver, linear_probe
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
    solver: Solver = "batched"

    def draw(self, y: ArrayLike, class_names: Sequence[str] | None = None) -> list[Split]:
        """The splits of these labels; raises if the labels do not allow any."""
        return random_splits(
            _labels(y), train=self.train, validation=self.validation, count=self.splits, class_names=class_names
        )

    def evaluate(
        self, z: Any, y: ArrayLike, *, name: str = "embedding", on_split: Callable[[], None] | None = None
    ) -> Score:
        """Score an embedding ``(n, d)``, dense or sparse, against labels ``(n,)``, where ``-1`` means unknown."""
        rows, labels = _unit_rows(z), _labels(y)
        if len(rows) != len(labels):
            raise InputError(f"{len(rows)} embeddings cannot be scored against {len(labels)} labels.")
        splits = self.draw(labels)
        return Score(name, tuple(linear_probe(rows, labels, splits, self.cs, solver=self.solver, on_split=on_split)))


HONEST = Protocol(
    name="honest-10-10-80",
    description="20 random splits 10/10/80, logistic regression on unit rows, C chosen on validation, test read once",
)

PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in [
        HONEST,
        replace(
            HONEST,
            name="honest-10-10-80-sklearn",
            description=f"{HONEST.description}; fitted by scikit-learn, one after another",
            solver="scikit-learn",
        ),
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


def _unit_rows(z: Any) -> Tensor:
    """Rows of length one as a dense tensor on the CPU, in float32 if they are, else in float64."""
    if hasattr(z, "toarray"):  # SciPy
        z = z.toarray()
    rows: Tensor = (
        z.detach().cpu().to_dense() if isinstance(z, Tensor) else torch.from_numpy(np.array(z, dtype=np.float64))
    )
    rows = rows if rows.dtype == torch.float32 else rows.double()
    if rows.dim() != 2 or not bool(rows.isfinite().all()):
        raise InputError(
            f"An embedding is a finite matrix (n, d), not one of shape {tuple(rows.shape)} with NaN or infinity."
        )
    length = torch.linalg.vector_norm(rows, dim=1, keepdim=True, dtype=torch.float64)
    unit: Tensor = rows / length.where(length > 0, 1).to(rows.dtype)
    return unit
