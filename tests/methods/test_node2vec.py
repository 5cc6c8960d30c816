"""node2vec: its loss on walks that lean, and what steers them; the rest is tested with DeepWalk."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.walks import Transitions
from sfa.methods import DeepWalk, Node2Vec

SHORT_RUN: dict[str, Any] = {
    "method.hidden": 32,
    "method.length": 20,
    "method.window": 5,
    "training.lr": 0.03,
    "training.epochs": 2,
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def build(method_class: type[DeepWalk], nodes: int, **options: Any) -> DeepWalk:
    torch.manual_seed(0)
    method = method_class(nodes, hidden=6, length=9, window=3, negatives=2, **options)
    with torch.no_grad():
        method.centre.normal_(generator=seeded(1))
        method.context.normal_(generator=seeded(2))
    return method


def batch_of(graph: Data, seeds: list[int]) -> Data:
    batch = copy.copy(graph)
    batch.seeds = torch.tensor(seeds)
    return batch


def test_p_and_q_steer_the_walks_of_node2vec(planted: Data) -> None:
    starts = torch.arange(60)
    walks = build(Node2Vec, 60, p=1e-12).walks(Transitions.of(planted), starts, seeded())
    assert torch.equal(walks[2:], walks[:-2])
    walks = build(Node2Vec, 60, p=1e12).walks(Transitions.of(planted), starts, seeded())
    assert (walks[2:] == walks[:-2]).float().mean() < 0.2


def test_the_loss_with_p_and_q_of_1_is_deepwalks_to_the_bit(planted: Data) -> None:
    batch = batch_of(planted, [3, 40, 8])
    assert torch.equal(build(Node2Vec, 60)(batch, seeded()), build(DeepWalk, 60)(batch, seeded()))
    assert not torch.equal(build(Node2Vec, 60, q=2.0)(batch, seeded()), build(DeepWalk, 60)(batch, seeded()))


@pytest.mark.parametrize(("option", "wrong"), [("hidden", 0), ("p", 0.0), ("q", -1.0), ("p", float("inf"))])
def test_options_out_of_range_are_refused(option: str, wrong: float) -> None:
    with pytest.raises(InputError, match=option):
        Node2Vec(5, **{option: wrong})
