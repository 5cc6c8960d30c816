"""Protocols by name, and which of them data allow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.errors import InputError
from sfa.evaluation import PROTOCOLS, Protocol, possible, resolve


def test_all_are_there_under_their_names() -> None:
    assert list(PROTOCOLS) == [
        "honest-10-10-80",
        "honest-10-10-80-sklearn",
        "pygcl-10-80-10",
        "grace-10-90",
        "bgrl-20-80",
        "public",
        "clustering",
        "knn",
        "link-prediction",
    ]
    assert all(isinstance(protocol, Protocol) and protocol.name == name for name, protocol in PROTOCOLS.items())
    assert {name: resolve(name).needs for name in ("knn", "public", "link-prediction")} == {
        "knn": "labels",
        "public": "masks",
        "link-prediction": "edges",
    }


def test_unknown_protocol_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'honest-10-10-80'"):
        resolve("honest-10-80-10")


def test_what_data_allow_and_why_not_the_rest(blobs: Callable[..., Data]) -> None:
    graph = blobs(100)
    allowed, refused = possible(graph)
    assert [p.name for p in allowed] == [n for n in PROTOCOLS if n not in ("public", "honest-10-10-80-sklearn")]
    assert "no `train_mask`" in refused["public"]
    assert "ask for it by name" in refused["honest-10-10-80-sklearn"]

    unlabelled = build_graph(np.ones((30, 1)), np.stack([np.arange(29), np.arange(1, 30)]))
    allowed, refused = possible(unlabelled)
    assert allowed == []
    assert "needs labels" in refused["clustering"]
    assert "too few" in refused["link-prediction"]

    graph.train_mask = graph.val_mask = graph.test_mask = torch.zeros(100, dtype=torch.bool)
    assert "no labelled node" in possible(graph)[1]["public"]
