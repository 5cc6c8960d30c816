"""Normalisation of node features, the same for every graph a model sees."""

from __future__ import annotations

import copy
import math
import tempfile
from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.products import csr_matrix

FeatureNormalisation = Literal["row", "none"]

CHUNK_BYTES = 1 << 24


def normalise_features(graph: Data, how: FeatureNormalisation) -> Data:
    """A graph whose feature rows sum to one in absolute value (``row``), or the graph as it is (``none``).

    Rows are treated one by one, so that a node's features do not depend on the graph it comes with. CSR features stay
    CSR, over the same pattern. Mapped features (``graph.mapped_features``) stay on disk: the result is written to a
    temporary file of the same size.
    """
    if how == "none":
        return graph
    x: Tensor = graph.x
    normalised = copy.copy(graph)
    if x.layout == torch.sparse_csr:
        normalised.x = _normalised_csr(x)
    elif getattr(graph, "mapped_features", False):
        rows = max(1, CHUNK_BYTES // (4 * x.shape[1]))
        chunks = (x[start : start + rows] for start in range(0, len(x), rows))
        normalised.x = _on_disk(map(_normalised, chunks), x.shape)
    else:
        normalised.x = _normalised(x)
    return normalised


def _normalised(x: Tensor) -> Tensor:
    length = x.abs().sum(1, keepdim=True)
    return x / length.where(length > 0, 1)


def _normalised_csr(x: Tensor) -> Tensor:
    rowptr, values = x.crow_indices(), x.values()
    length = torch.segment_reduce(values.abs(), "sum", offsets=rowptr)
    length = length.where(length > 0, 1).repeat_interleave(rowptr.diff(), output_size=len(values))
    return csr_matrix(rowptr, x.col_indices(), values / length, (x.shape[0], x.shape[1]))


def _on_disk(chunks: Iterable[Tensor], shape: torch.Size) -> Tensor:
    """A float32 tensor over a temporary file that has no name, into which its rows are written chunk by chunk."""
    try:
        with tempfile.TemporaryFile(prefix="sfa-") as file:
            for rows in chunks:
                file.write(rows.numpy().data)
            file.flush()
            return torch.from_numpy(np.memmap(file, np.float32, "r+", shape=tuple(shape)))
    except OSError as error:
        raise InputError(
            f"The features need {4 * math.prod(shape) / 1e9:.1f} GB of temporary space in {tempfile.tempdir}, which "
            f"cannot be had ({error.strerror or error}); set TMPDIR to a folder on a disk with more room."
        ) from error
