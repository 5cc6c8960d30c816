"""Real-valued targets: which labels are such, their splits, ridge regression, and what is selected on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.linear_model import Ridge
from torch_geometric.data import Data

from sfa.data import build_graph, build_graphs
from sfa.data.readers.tables import parse_labels
from sfa.errors import InputError
from sfa.evaluate import Regression, possible
from sfa.evaluate.inputs import targets_of
from sfa.evaluate.probes import RidgeProbe
from sfa.evaluate.splits import GroupSplits, Split
from sfa.registry import resolve

RNG = np.random.default_rng(0)
Z = torch.from_numpy(RNG.standard_normal((100, 4)))
TARGETS = Z.numpy() @ [1.0, -2.0, 0.5, 0.0] + 0.1 * RNG.standard_normal(100)


def graphs_with(y: Any) -> Data:
    """Return graphs of two joined nodes with these labels."""
    n = len(y)
    edges = np.stack([2 * np.arange(n), 2 * np.arange(n) + 1])
    return build_graphs(np.ones((2 * n, 1)), edges, 2 * np.arange(n + 1), y=y)


@pytest.mark.parametrize(
    ("y", "stored"),
    [
        ([0.5, None, -1, np.nan], [0.5, np.nan, -1, np.nan]),
        (np.array([1.0, 2.0, -1.0, 1.0]), [0, 1, -1, 0]),
        ([3, 4, 3, 5], [0, 1, 0, 2]),
        (["0.5", "1.5", "0.5", ""], [0, 1, 0, -1]),
    ],
)
def test_numbers_of_which_some_is_not_whole_are_targets(y: Any, stored: list[float]) -> None:
    graphs = graphs_with(y)
    assert graphs.y.dtype == (torch.float64 if 0.5 in stored else torch.int64)
    np.testing.assert_array_equal(graphs.y.numpy(), stored)


def test_a_column_of_numbers_in_a_table_is_read_so_too() -> None:
    np.testing.assert_array_equal(parse_labels(["0.5", "", "-1", "NA"]), [0.5, np.nan, -1, np.nan])
    assert parse_labels(["1.0", "2.0", "-1"]) == ["1.0", "2.0", None], "classes, as they always were"
    assert parse_labels(["1", "-1", "2"]) == [1, None, 2]
    assert parse_labels(["0.5", "high"]) == ["0.5", "high"]


def test_whole_numbers_are_targets_if_a_protocol_says_so() -> None:
    ages = graphs_with(RNG.integers(20, 60, 100))
    assert targets_of(ages).min() >= 20
    assert "ridge-60-20-20" not in [one.name for one in possible(ages)[0]]
    resolve("protocol", "ridge-60-20-20").check(ages)
    with pytest.raises(InputError, match=r"amounts .* --protocol ridge-60-20-20"):
        resolve("protocol", "tu-svm-10fold").check(ages)
    with pytest.raises(InputError, match="needs numbers, and the labels are 'cat', 'dog'"):
        resolve("protocol", "ridge-60-20-20").check(graphs_with(["cat", "dog"] * 20))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_scores_are_those_of_a_slow_search(as_sparse: bool) -> None:
    """Dense columns are standardized by the training part; sparse counts keep their scale."""
    protocol = resolve("protocol", "ridge-60-20-20").with_splits(3)
    data, z = graphs_with(TARGETS), 3 * Z + 1
    score = protocol.evaluate(sparse.csr_array(z.numpy()) if as_sparse else z, data)
    for number, split in enumerate(protocol.draw(data)):
        mean, scale = z[split.train].mean(0), 1 if as_sparse else z[split.train].std(0, correction=0)
        x, best = ((z - mean) / scale).numpy(), (-np.inf, None, None)
        for alpha in sorted(protocol.probe.alphas, reverse=True):
            found = Ridge(alpha=alpha).fit(x[split.train], TARGETS[split.train]).predict(x)
            errors = (found - TARGETS) ** 2
            look = -errors[split.validation].sum()
            best = max(best, (look, alpha, errors[split.test].mean()), key=lambda one: one[0])
        assert score.chosen[number] == best[1]
        assert score.values["rmse"][number] == pytest.approx(np.sqrt(best[2]))
        share = 1 - best[2] / TARGETS[split.test].var()
        assert score.values["r2"][number] == pytest.approx(share)
    assert score.main == "r2"


def test_test_targets_change_nothing_but_the_score_and_validation_ones_do() -> None:
    protocol = resolve("protocol", "ridge-60-20-20").with_splits(1)
    (split,) = protocol.draw(graphs_with(TARGETS))
    scores = [protocol.evaluate(Z, graphs_with(TARGETS))]
    for part in (split.test, split.validation):
        y = TARGETS.copy()
        y[part] = RNG.permutation(y[part])
        scores.append(protocol.evaluate(Z, graphs_with(y)))
    before, tested, validated = scores
    assert (tested.chosen, tested.validation) == (before.chosen, before.validation)
    assert tested.mean() < before.mean() - 0.5
    assert validated.validation != before.validation


def test_splits_have_their_sizes_and_leave_out_what_is_unknown() -> None:
    y = TARGETS.copy()
    y[:10] = np.nan
    for split in GroupSplits().of(graphs_with(y), 5):
        assert [len(part) for part in (split.train, split.validation, split.test)] == [54, 18, 18]
        assert sorted(np.concatenate([split.train, split.validation, split.test])) == list(range(10, 100))
    with pytest.raises(InputError, match="no 20 labels"):
        GroupSplits().of(graphs_with(TARGETS[:19]), 1)


def test_no_scaffold_is_in_two_parts() -> None:
    data = graphs_with(TARGETS)
    data.scaffold = torch.from_numpy(RNG.integers(0, 15, 100) * RNG.integers(0, 2, 100))  # half of them share one
    splits = GroupSplits(train=0.8, validation=0.1, by="scaffold").of(data, 10)
    for split in splits:
        parts = [set(data.scaffold[part].tolist()) for part in (split.train, split.validation, split.test)]
        assert sum(map(len, parts)) == len(set.union(*parts))
        assert len(split.test) <= 10
        assert 0 in parts[0]
    assert len({tuple(split.test) for split in splits}) > 1
    data.scaffold = torch.arange(100) % 2
    with pytest.raises(InputError, match="too large to be split"):
        resolve("protocol", "ridge-scaffold").check(data)
    with pytest.raises(InputError, match="no scaffolds, which molecules read of SMILES have"):
        resolve("protocol", "linear-scaffold").check(graphs_with([0, 1] * 20))


def test_targets_of_nodes_are_scored_too_and_classes_are_told_to_be_needed() -> None:
    ring = np.stack([np.arange(100), (np.arange(100) + 1) % 100])
    graph = build_graph(Z.numpy(), ring, y=TARGETS)
    assert resolve("protocol", "ridge-60-20-20").with_splits(2).evaluate(graph.x, graph).mean() > 0.9
    with pytest.raises(InputError, match="real numbers: score them by --protocol ridge-60-20-20"):
        resolve("protocol", "honest-10-10-80").check(graph)
    assert [one.name for one in possible(graph)[0]] == ["link-prediction", "ridge-60-20-20"]


def test_equally_good_penalties_give_the_largest() -> None:
    split = Split(*np.split(np.arange(30), [10, 20]))
    (found,) = RidgeProbe().predict(torch.zeros(30, 2), TARGETS[:30], [split], lambda: None)
    assert found.chosen == max(RidgeProbe().alphas)
    protocol = resolve("protocol", "ridge-60-20-20")
    assert isinstance(protocol, Regression)
    assert replace(protocol, probe=RidgeProbe((1.0,))).digest(graphs_with(TARGETS)) != protocol.digest(
        graphs_with(TARGETS)
    )
