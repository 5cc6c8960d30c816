"""Squared distances of all rows from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

CHUNK = 512
"""Sparse rows whose products with all others are held as a sparse matrix at a time."""


def squared_distances(rows: NDArray[np.float64] | sparse.csr_array) -> NDArray[np.float64]:
    r"""All of them, ``(n, n)``, by one matrix product.

    .. math::
        \lVert z_i - z_j \rVert_2^2 = \lVert z_i \rVert_2^2 + \lVert z_j \rVert_2^2 - 2 \, z_i \cdot z_j

    Args:
        rows: ``(n, d)``, dense or sparse.
    """
    distances = _sparse_products(rows) if sparse.issparse(rows) else _dense_products(rows)
    squares = distances.diagonal().copy()
    distances *= -2
    distances += squares
    distances += squares[:, None]
    np.maximum(distances, 0, out=distances)
    np.fill_diagonal(distances, 0)
    return distances


def _dense_products(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    x = rows - rows.mean(0)  # differences of large numbers lose digits, and distances do not ask where the origin is
    products: NDArray[np.float64] = x @ x.T
    return products


def _sparse_products(rows: sparse.csr_array) -> NDArray[np.float64]:
    products = np.empty((rows.shape[0], rows.shape[0]))
    columns = rows.T.tocsr()
    for start in range(0, len(products), CHUNK):
        products[start : start + CHUNK] = (rows[start : start + CHUNK] @ columns).toarray()
    return products
