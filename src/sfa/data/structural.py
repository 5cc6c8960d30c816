"""Make features of nodes that have none: of the graph's structure, or of chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from threadpoolctl import threadpool_limits
from torch_geometric.data import Data

from sfa.errors import InputError, unknown_name
from sfa.seeding import derive_seed
from sfa.tasks import task_of

Edges = NDArray[np.int64]
Weights = NDArray[np.float32] | None
Features = NDArray[np.float32]
Floats = NDArray[np.float64]

DENSE_NODES = 64  # components of so few nodes have all their eigenvectors computed at once
# Of the subspace iteration for larger ones: columns beyond those asked for, which speed it up; rounds at most; degree
# of the filter at most; the residual |A u - lambda u| that is small enough.
SPARE, ROUNDS, DEGREE, TOLERANCE = 8, 40, 12, 1e-5
OR_MAKE_THEM = "or have some made with node_features='degree', 'random' or 'spectral' (--node-features)"


@dataclass(frozen=True)
class NodeFeatures:
    """A kind of features and how many columns they have, in one word: `degree`, or `spectral:64` for 64 columns."""

    name: str
    width: int

    @classmethod
    def parse(cls, text: str) -> NodeFeatures:
        """Return the kind and its width, which is the kind's own if none is given after a colon."""
        name, colon, width = str(text).partition(":")
        if name not in KINDS:
            raise unknown_name("kind of node features", name, KINDS)
        own = KINDS[name][1]
        if colon and not (width.isdecimal() and 2 <= int(width) <= 65536):
            raise InputError(
                f"The node features {text!r} have no usable width: after the colon comes a number from 2 to 65536, for "
                f"instance {name}:{own}."
            )
        return cls(name, int(width) if colon else own)

    def make(self, edges: Edges, weight: Weights, num_nodes: int) -> Features:
        """Return features [n, width] of an undirected graph, its edges in both directions, without loops."""
        return KINDS[self.name][0](edges, weight, num_nodes, self.width)

    def __str__(self) -> str:
        return f"{self.name} features, {self.width} columns"


def remark(data: Data) -> str | None:
    """Say what the features of a graph or graph set were made of; None if it came with a table of them."""
    if data.get("features_note"):
        return str(data.features_note)
    made_of = getattr(data, "features_of", None)
    what = "set" if task_of(data) == "graph" else "graph"
    return made_of and f"No node features in this {what}: {NodeFeatures(made_of, data.x.shape[1])}"


def degree_features(edges: Edges, weight: Weights, num_nodes: int, width: int) -> Features:
    """Return the one-hot number of neighbors, in bins that grow: 0, 1, 2, 3, 4–5, 6–7, 8–11, 12–15, ….

    There are two bins for each doubling, and the last takes all beyond; of 33, from 65,536 on. A bin means the same in
    every graph, so an encoder trained on one graph can embed another. Weights do not count.
    """
    degree = np.bincount(edges[0], minlength=num_nodes)
    octave = np.frexp(np.maximum(degree, 1))[1].astype(np.int64) - 1  # 2^octave <= degree, exactly
    upper_half = degree >= 3 * (1 << octave) / 2
    bins = np.where(degree < 2, degree, 2 * octave + upper_half).clip(max=width - 1)
    features = np.zeros((num_nodes, width), dtype=np.float32)
    features[np.arange(num_nodes), bins] = 1
    return features


def random_features(edges: Edges, weight: Weights, num_nodes: int, width: int) -> Features:
    """Return standard normal numbers, the same on every call and in every graph: they say nothing of a node."""
    rng = np.random.default_rng(derive_seed(0, 5))
    return rng.standard_normal((num_nodes, width), dtype=np.float32)


def spectral_features(edges: Edges, weight: Weights, num_nodes: int, width: int) -> Features:
    r"""Return leading eigenvectors of the normalized adjacency (Belkin and Niyogi, 2003), where nodes lie in the graph.

    .. math:: D^{-1/2} A D^{-1/2} u_j = \lambda_j u_j, \qquad \lambda_0 > \lambda_1 \ge \lambda_2 \ge \dots, \qquad
              x_{ij} = \sqrt n \, u_{ij}

    Each connected component is treated for itself, or small ones would take up the columns of all. Its first
    eigenvector is left out, for it only tells of degrees; columns beyond the n - 1 others are 0. Of each eigenvector
    the first entry of largest size is made positive. Eigenvectors of equal eigenvalues are one choice of many, the same
    on every call; those of another graph are not comparable.
    """
    values = np.ones(edges.shape[1]) if weight is None else weight.astype(np.float64)
    adjacency = sparse.csr_array((values, tuple(edges)), shape=(num_nodes, num_nodes))
    root = np.sqrt(adjacency.sum(axis=1))
    scale = sparse.diags_array(np.divide(1, root, out=np.zeros(num_nodes), where=root > 0))
    normalized = (scale @ adjacency @ scale).tocsr()
    _, component = connected_components(adjacency, directed=False)
    size = np.bincount(component)[component]

    features = np.zeros((num_nodes, width), dtype=np.float32)
    # One thread: with another number of them the last digits differ, and a run would not know its data again.
    with threadpool_limits(limits=1, user_api="blas"):
        for n in np.unique(size[size > 1]).tolist():
            members = np.flatnonzero(size == n)
            nodes = members[np.argsort(component[members], kind="stable")].reshape(-1, n)  # one component a row
            count = min(width, n - 1)
            if n <= DENSE_NODES:
                blocks = normalized[nodes.ravel()][:, nodes.ravel()].tobsr((n, n)).data  # those on the diagonal
                vectors = np.linalg.eigh(blocks)[1][:, :, ::-1][:, :, 1 : count + 1]
                features[nodes, :count] = _with_signs(vectors)
                continue
            for own in nodes:
                vectors = _leading_eigenvectors(normalized[own][:, own], root[own], count)
                features[own, :count] = _with_signs(vectors)
    return features


def _with_signs(vectors: Floats) -> Floats:
    """Return vectors [..., n, count] of length 1 with length sqrt(n) and signs that are settled."""
    size = np.abs(vectors)
    first = np.argmax(size >= (1 - 1e-6) * size.max(axis=-2, keepdims=True), axis=-2, keepdims=True)
    signs = np.sign(np.take_along_axis(vectors, first, axis=-2))
    return np.asarray(np.sqrt(vectors.shape[-2]) * vectors * signs)


def _leading_eigenvectors(matrix: Any, trivial: Floats, count: int) -> Floats:
    r"""Return the eigenvectors [n, count] of largest eigenvalue that are orthogonal to the trivial one [n].

    By subspace iteration with a Chebyshev filter (Zhou and Saad, 2007): :math:`V \leftarrow \operatorname{orth}(T_m(A)
    V)`, where :math:`T_m` is small from -1 to the least eigenvalue found so far and grows fast above it. Unlike
    ARPACK's, which starts anew from random vectors of its own, the result is the same on every call.
    """
    n = len(trivial)
    trivial = trivial / np.linalg.norm(trivial)

    def orthonormal(v: Floats) -> Floats:
        for _ in range(2):  # once more, for what rounding leaves
            v, _ = np.linalg.qr(v - np.outer(trivial, trivial @ v))
        return v

    v = orthonormal(np.random.default_rng(derive_seed(0, 6)).standard_normal((n, min(count + SPARE, n - 1))))
    for _ in range(ROUNDS):
        image = matrix @ v
        eigenvalues, rotation = np.linalg.eigh(v.T @ image)
        eigenvalues, rotation = eigenvalues[::-1], rotation[:, ::-1]
        v, image = v @ rotation, image @ rotation
        residual = np.linalg.norm((image - v * eigenvalues)[:, :count], axis=0).max()
        if residual < TOLERANCE:
            break
        v = orthonormal(_chebyshev(matrix, v, eigenvalues[-1]))
    return np.asarray(v[:, :count])


def _chebyshev(matrix: Any, v: Floats, high: float) -> Floats:
    """Compute T_m(A) v, where T_m is at most 1 in size from -1 to `high` and at most some 10^8 at 1."""
    high = np.clip(high, -1 + 1e-6, 1 - 1e-9)  # rounding may leave less room than there is
    center, half = (high - 1) / 2, (high + 1) / 2
    degree = int(np.clip(18 / np.arccosh((1 - center) / half), 1, DEGREE))
    before, v = v, (matrix @ v - center * v) / half
    for _ in range(degree - 1):
        before, v = v, 2 * (matrix @ v - center * v) / half - before
    return v


# Functions that make features, and how many columns these have unless a user says.
KINDS: dict[str, tuple[Callable[[Edges, Weights, int, int], Features], int]] = {
    "degree": (degree_features, 33),
    "random": (random_features, 64),
    "spectral": (spectral_features, 32),
}
