"""Draw a stochastic block model with features: a graph of any size whose classes are known."""

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.edges import distinct
from sfa.data.graph import build_graph
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
        features: Number of features d.
        classes: Number of classes, at least 2.
        homophily: Share of the edges within a class; 1 / classes says nothing of the classes.
        signal: s, the distance of the centers from the origin in standard deviations of the noise.
        degree_spread: σ, how unequal degrees are, from 0 (the plain model) to 2.
        seed: Seed of all that is drawn.
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
    blocks = _Blocks(y, np.exp(degree_spread * rng.standard_normal(nodes)))
    ends = [blocks.edges(within, True, rng), blocks.edges(edges - within, False, rng)]

    centers = rng.standard_normal((classes, features))
    centers *= signal / np.linalg.norm(centers, axis=1, keepdims=True)
    x = rng.standard_normal((nodes, features), dtype=np.float32)
    for center, (start, stop) in zip(centers, blocks.bounds, strict=True):
        x[blocks.order[start:stop]] += center.astype(np.float32)
    return build_graph(x, np.concatenate(ends, axis=1), y=y, name="block-model")


class _Blocks:
    """The nodes in the order of their classes, with the sums of their weights theta, by which they are drawn."""

    def __init__(self, y: Ints, theta: NDArray[np.float64]) -> None:
        self.y = y
        self.order = np.argsort(y, kind="stable")
        self.sums = np.concatenate([[0.0], np.cumsum(theta[self.order])])
        limits = np.cumsum(np.concatenate([[0], np.bincount(y)]))
        self.bounds = np.stack([limits[:-1], limits[1:]], axis=1)

    def edges(self, count: int, within: bool, rng: np.random.Generator) -> Ints:
        """Draw so many different pairs of nodes [2, count], each within a class or each between two."""
        sizes = np.diff(self.bounds).ravel()
        pairs_within = int((sizes * (sizes - 1) // 2).sum())
        pairs = pairs_within if within else self.y.size * (self.y.size - 1) // 2 - pairs_within
        if count > pairs // 2:  # drawing the last pairs would take for ever
            raise InputError(
                f"{count} edges {'within' if within else 'between'} classes are asked for, but {self.y.size} nodes in "
                f"{len(sizes)} classes have {pairs} such pairs, of which at most half can be edges."
            )
        keys = np.empty(0, dtype=np.int64)
        while keys.size < count:  # some pairs come up more than once
            first, second = self._draw_pairs(count - keys.size + 16, within, rng)
            drawn = np.minimum(first, second) * self.y.size + np.maximum(first, second)
            keys = distinct(np.concatenate([keys, drawn]))
        surplus = rng.choice(keys.size, keys.size - count, replace=False, shuffle=False)
        return np.stack(np.divmod(np.delete(keys, surplus), self.y.size))

    def _draw_pairs(self, count: int, within: bool, rng: np.random.Generator) -> Ints:
        """Draw about so many pairs: the first node by its weight among all, the second among those allowed."""
        first = self._nodes_at(np.sort(rng.random(count)) * self.sums[-1])  # in order, look-ups are many times faster
        start, stop = self.sums[self.bounds[self.y[first]]].T
        place = rng.random(count) * (stop - start if within else self.sums[-1] - (stop - start))
        second = self._nodes_at(place + start if within else np.where(place < start, place, place + (stop - start)))
        # Rounding may put a place at the border of a class into the next one.
        allowed = (first != second) & ((self.y[first] == self.y[second]) == within)
        return np.stack([first, second])[:, allowed]

    def _nodes_at(self, places: NDArray[np.float64]) -> Ints:
        positions = np.searchsorted(self.sums, places, side="right") - 1
        return np.asarray(self.order[positions.clip(max=self.y.size - 1)])
