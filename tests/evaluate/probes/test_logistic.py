"""The linear probe, against scikit-learn's fits one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch_geometric.data import Data

from sfa.data import load
from sfa.errors import InputError
from sfa.evaluate.probes import LogisticProbe
from sfa.evaluate.splits import random_splits
from sfa.matrices import unit_rows


def quiet() -> None:
    pass


def test_equals_scikit_learn_with_c_chosen_on_validation(blobs: Callable[..., Data]) -> None:
    graph, cs = blobs(), (0.01, 1.0, 100.0)
    z, y = unit_rows(graph.x), graph.y.numpy()
    splits = random_splits(y, train=0.1, validation=0.1, count=4)
    for split, found in zip(splits, LogisticProbe(cs=cs).predict(z, y, splits, quiet), strict=True):
        rows = z.numpy()
        fits = [LogisticRegression(C=c, max_iter=5000, tol=1e-6).fit(rows[split.train], y[split.train]) for c in cs]
        validation = [fit.score(rows[split.validation], y[split.validation]) for fit in fits]
        chosen = int(np.argmax(validation))
        assert found.chosen == cs[chosen]
        assert found.validation == pytest.approx(100 * validation[chosen])
        assert (found.test != fits[chosen].predict(rows[split.test])).mean() < 0.005


def test_both_solvers_choose_and_predict_alike_on_cora() -> None:
    """They reach one optimum: the same C, and but for a node in a thousand the same labels."""
    cora = load("cora")
    z, y = unit_rows(cora.x.to_dense()), cora.y.numpy()
    splits = random_splits(y, train=0.1, validation=0.1, count=1)
    (batched,), (reference,) = (
        list(LogisticProbe(cs=(1.0, 100.0), solver=solver).predict(z, y, splits, quiet))  # type: ignore[arg-type]
        for solver in ("batched", "scikit-learn")
    )
    assert (batched.chosen, batched.validation) == (reference.chosen, reference.validation)
    assert (batched.test != reference.test).mean() < 1e-3
    assert 0.6 < (batched.test == y[splits[0].test]).mean() < 0.8


@pytest.mark.parametrize("solver", ["batched", "scikit-learn"])
def test_of_equally_good_values_the_smallest_c_in_any_order_and_each_split_is_told(solver: str) -> None:
    y = np.arange(90) % 3
    splits, told = random_splits(y, train=0.1, validation=0.1, count=3), []
    probe = LogisticProbe(cs=(100.0, 1.0, 10.0), solver=solver)  # type: ignore[arg-type]
    found = list(probe.predict(torch.eye(3)[y], y, splits, lambda: told.append(1)))
    assert [(prediction.validation, prediction.chosen) for prediction in found] == [(100.0, 1.0)] * 3
    assert all(np.array_equal(f.test, y[split.test]) for f, split in zip(found, splits, strict=True))
    assert len(told) == 3


def test_unknown_solvers_are_named() -> None:
    with pytest.raises(InputError, match="did you mean 'scikit-learn'"):
        LogisticProbe(solver="scikitlearn")  # type: ignore[arg-type]
