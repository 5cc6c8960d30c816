"""The probe by mini-batches scores as the exact one does, and reads embeddings in pieces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import load
from sfa.errors import InputError
from sfa.evaluate.baselines import propagated_features
from sfa.evaluate.probes.minibatch import MiniBatchProbe
from sfa.registry import resolve
from sfa.run.score_cache import usual_protocol
from tests.stores import anonymous_memory, planted_graph, random_rows

PROTOCOL: Any = resolve("protocol", "minibatch-10-10-80").with_splits(2)
EXACT: Any = resolve("protocol", "honest-10-10-80").with_splits(2)
QUICK = replace(PROTOCOL, probe=MiniBatchProbe(cs=(0.1, 10.0), steps=60), repeats=1)


def test_it_scores_as_the_exact_probe_does_on_cora() -> None:
    cora = load("cora")
    z = propagated_features(cora)
    z = z @ torch.randn(z.shape[1], 64, generator=torch.Generator().manual_seed(0))
    found, exact = PROTOCOL.evaluate(z, cora), EXACT.evaluate(z, cora)
    assert exact.mean() > 50
    assert found.mean() == pytest.approx(exact.mean(), abs=0.5)
    assert PROTOCOL.evaluate(z, cora) == found, "it is seeded"


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0, 3])
def test_it_scores_as_the_exact_probe_does_on_a_block_model(shift: float) -> None:
    graph = planted_graph()
    z = propagated_features(graph) + shift  # rows that nearly point one way are a hard problem
    found, exact = PROTOCOL.evaluate(z, graph), EXACT.evaluate(z, graph)
    assert 50 < exact.mean() < 95
    assert found.mean() == pytest.approx(exact.mean(), abs=0.5)


@pytest.mark.slow
def test_memory_is_that_of_a_piece_and_of_some_numbers_a_node(tmp_path: Path) -> None:
    z, y = random_rows(tmp_path, 1_000_000, 64)
    graph = Data(y=y, num_nodes=len(y), task="node")
    assert usual_protocol(graph).name == QUICK.name
    assert usual_protocol(Data(y=y[:200_000])).name == "honest-10-10-80"
    QUICK.evaluate(z[:5000], Data(y=y[:5000], num_nodes=5000))  # what is loaded once
    with anonymous_memory() as grown:
        score = QUICK.evaluate(z, graph)
    assert score.mean() > 60  # of the best 66
    assert grown[0] < 100e6 + 100 * len(y), "a copy in float32 takes 256 MB more"


@pytest.mark.parametrize("layout", ["float16", "float64", "csr"])
def test_embeddings_of_any_type_are_scored(layout: str, planted: Data) -> None:
    probe = replace(QUICK, splits=replace(QUICK.splits, train=0.4, validation=0.2))
    expected = probe.evaluate(planted.x, planted)
    z = planted.x.to_sparse_csr() if layout == "csr" else planted.x.to(getattr(torch, layout))
    assert probe.evaluate(z, planted).mean() == pytest.approx(expected.mean(), abs=4)
    with pytest.raises(InputError, match="finite"):
        probe.evaluate(planted.x.where(torch.arange(8) != 3, np.nan), planted)


def test_the_weights_of_two_classes_are_those_of_the_exact_probe() -> None:
    rng = np.random.default_rng(1)
    y = torch.from_numpy(rng.integers(2, size=2000))
    graph = Data(y=y, num_nodes=2000)
    z = torch.from_numpy(rng.standard_normal((2000, 8)).astype(np.float32)) + y[:, None] * 0.3
    for c in (0.01, 1.0):
        one = replace(PROTOCOL, probe=MiniBatchProbe(cs=(c,), steps=300)).evaluate(z, graph)
        assert one.of() == pytest.approx(
            replace(EXACT, probe=replace(EXACT.probe, cs=(c,))).evaluate(z, graph).of(), abs=0.1
        )
