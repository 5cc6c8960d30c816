"""Votes of the nearest, against scikit-learn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from torch_geometric.data import Data

from sfa.evaluate.probes import KNNProbe
from sfa.evaluate.probes import base as neighbours
from sfa.evaluate.probes.base import rank_votes
from sfa.evaluate.splits import random_splits
from sfa.matrices import unit_rows


@settings(max_examples=30)
@given(
    rows=st.integers(5, 40),
    classes=st.integers(1, 4),
    k=st.integers(1, 5),
    together=st.integers(1, 99),
    seed=st.integers(0, 999),
)
def test_votes_are_scikit_learns(rows: int, classes: int, k: int, together: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x, queries = (torch.randn(n, 3, generator=generator, dtype=torch.float64) for n in (rows, 17))
    y = 2 * torch.randint(classes, (rows,), generator=generator) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "BATCH_NUMBERS", together * rows)
        found = rank_votes(queries, x, y, sorted({1, k}))[..., 0]
    for votes, count in zip(found, sorted({1, k}), strict=True):
        reference = KNeighborsClassifier(count, algorithm="brute").fit(x.numpy(), y.numpy())
        assert np.array_equal(votes.numpy(), reference.predict(queries.numpy()))


def test_k_is_chosen_on_validation_the_smallest_of_equals(blobs: Callable[..., Data]) -> None:
    graph, told = blobs(200), []
    z, y = unit_rows(graph.x), graph.y.numpy()
    splits = random_splits(y, train=0.1, validation=0.1, count=4)
    probe = KNNProbe(ks=(15, 1, 5, 3, 400))
    for split, found in zip(splits, probe.predict(z, y, splits, lambda: told.append(1)), strict=True):
        fits = {k: KNeighborsClassifier(k, metric="cosine").fit(z[split.train], y[split.train]) for k in (1, 3, 5, 15)}
        validation = {k: fit.score(z[split.validation], y[split.validation]) for k, fit in fits.items()}
        best = min(validation, key=lambda k: (-validation[k], k))
        assert (found.chosen, found.validation) == (best, pytest.approx(100 * validation[best]))
        assert np.array_equal(found.test, fits[best].predict(z[split.test]))
    assert len(told) == 4
