"""Draw a stochastic block model with features: a graph of any size whose classes are known."""

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.graph import build_graph, distinct
from sfa.errors import InputError

Ints = NDArray[np.int64]


def stochastic_block_model(
    nodes: int = 169_343,
    edges: int = 1_166_243,
    features: int = 128,
    classes: int = 40,
    *,
    homophily: float = 0.65,
    signal: float = 2.0,
    degree_spread: float = 1.0,
    seed: int = 0,
) -> Data:
    r"""Draw a random graph of equally large classes, in which neighbors know more of a node than its own features do.

    A share `homophily` of the edges joins nodes of one class, the rest nodes of two. Within that, node i is an end of
    an edge with probability in proportion to :math:`\theta_i` (degree-corrected: Karrer and Newman, 2011). A node's
    features are its class's center and noise,

    .. math:: x_i = s \, c_{y_i} + \varepsilon_i, \qquad \varepsilon_i \sim \mathcal N(0, I_d), \qquad
              \ln \theta_i \sim \mathcal N(0, \sigma^2)

    with centers :math:`c_k` evenly drawn from the unit sphere. Memory is linear in nodes · features + edges.

    Args:
        nodes: Number of nodes n; the default sizes are those of ogbn-arxiv.
        edges: Number of undirected edges; exactly so many different ones are drawn.
        homophily: Share of the edges within a class; 1 / classes says nothing of the classes.
        signal: s, the distance of the centers from the origin in standard deviations of the noise.
        degree_spread: σ, how unequal degrees are, from 0 (the plain model) to 2.
    """
    if classes < 2 or nodes < 2 * classes or features < 1 or edges < 1:
        raise InputError(
            "A block model needs at least 2 classes, 2 nodes a class, 1 feature and 1 edge; given are "
            f"{classes} classes, {nodes} nodes, {features} features and {edges} edges."
        )
    for name, value, most in (("homophily", homophily, 1), ("degree_spread", degree_spread, 2)):
        if not 0 <= value <= most:
            raise InputError(f"{name} is {value}, but it must be from 0 to {most}.")
    within = round(homophily * edges)
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(nodes) % classes)
    theta = np.exp(degree_spread * rng.standard_normal(nodes))
    ends = _draw_edges(y, theta, within, edges - within, rng)

    centers = rng.standard_normal((classes, features))
    centers *= signal / np.linalg.norm(centers, axis=1, keepdims=True)
    x = rng.standard_normal((nodes, features), dtype=np.float32)
    for label, center in enumerate(centers):
        x[y == label] += center.astype(np.float32)
    return build_graph(x, ends, y=y, name="block-model")


def _draw_edges(y: Ints, theta: NDArray[np.float64], within: int, between: int, rng: np.random.Generator) -> Ints:
    """Draw so many different pairs of nodes [2, m] within a class, and between two, by their weights theta."""
    n, sizes = y.size, np.bincount(y)
    order, limits = np.argsort(y, kind="stable"), np.cumsum([0, *sizes])  # class by class
    sums = np.concatenate([[0.0], np.cumsum(theta[order])])

    def nodes_at(places: NDArray[np.float64]) -> Ints:
        return np.asarray(order[(np.searchsorted(sums, places, side="right") - 1).clip(max=n - 1)])

    ends = []
    for count, is_within in ((within, True), (between, False)):
        pairs = int((sizes * (sizes - 1) // 2).sum())
        pairs = pairs if is_within else n * (n - 1) // 2 - pairs
        if count > pairs // 2:  # drawing the last pairs would take for ever
            raise InputError(
                f"{count} edges {'within' if is_within else 'between'} classes are asked for, but {n} nodes in "
                f"{len(sizes)} classes have {pairs} such pairs, of which at most half can be edges."
            )
        keys = np.empty(0, dtype=np.int64)
        while keys.size < count:  # some pairs come up more than once
            draws = count - keys.size + 16
            # The first node among all, in order (look-ups are then many times faster), the second among those allowed.
            first = nodes_at(np.sort(rng.random(draws)) * sums[-1])
            start, stop = sums[limits[y[first]]], sums[limits[y[first] + 1]]
            place = rng.random(draws) * (stop - start if is_within else sums[-1] - (stop - start))
            second = nodes_at(place + start if is_within else np.where(place < start, place, place + (stop - start)))
            # Rounding may put a place at the border of a class into the next one.
            allowed = (first != second) & ((y[first] == y[second]) == is_within)
            drawn = (np.minimum(first, second) * n + np.maximum(first, second))[allowed]
            keys = distinct(np.concatenate([keys, drawn]))
        surplus = rng.choice(keys.size, keys.size - count, replace=False, shuffle=False)
        ends.append(np.stack(np.divmod(np.delete(keys, surplus), n)))
    return np.concatenate(ends, axis=1)
