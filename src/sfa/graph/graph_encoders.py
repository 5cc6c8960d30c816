"""Encoders of graphs by name."""

from __future__ import annotations

from typing import Literal

from sfa.errors import unknown_name
from sfa.graph.gin import GIN
from sfa.graph.graph_encoder import GraphEncoder
from sfa.graph.pooled_gcn import PooledGCN

EncoderName = Literal["gin", "gcn"]

ENCODERS: dict[EncoderName, type[GIN] | type[PooledGCN]] = {"gin": GIN, "gcn": PooledGCN}


def make_encoder(in_features: int, *, encoder: EncoderName = "gin", hidden: int = 32, layers: int = 3) -> GraphEncoder:
    """A new encoder of graphs, whose embeddings are ``hidden * layers`` wide."""
    if encoder not in ENCODERS:
        raise unknown_name("encoder", encoder, ENCODERS)
    return ENCODERS[encoder](in_features, hidden, layers=layers)
