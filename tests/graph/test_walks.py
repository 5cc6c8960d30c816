"""Random walks against the probabilities of their definitions, worked out edge by edge."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.errors import InputError
from sfa.graph import walks as walks_module
from sfa.graph.structure import CSRStructure
from sfa.graph.walks import Transitions, draw_nodes, random_walks, second_order_walks

# Triangles, a square, a leaf (6) and a node alone (7): from some edges there is a way back, aside and out.
EDGES = np.array([[0, 0, 0, 1, 1, 2, 3, 4, 4], [1, 2, 3, 2, 3, 5, 4, 5, 6]])
WEIGHTS = np.array([1.0, 2.0, 0.5, 3.0, 1.0, 0.25, 2.0, 1.0, 4.0])
NODES = 8


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make_graph(weighted: bool) -> Data:
    return build_graph(np.eye(NODES), EDGES, edge_weight=WEIGHTS if weighted else None)


def weights_of(graph: Data) -> dict[int, dict[int, float]]:
    """The weight of every edge, by its two ends."""
    weight = torch.ones(graph.edge_index.shape[1]) if graph.edge_weight is None else graph.edge_weight
    table: dict[int, dict[int, float]] = {node: {} for node in range(graph.num_nodes)}
    for a, b, w in zip(*graph.edge_index.tolist(), weight.tolist(), strict=True):
        table[a][b] = w
    return table


def node2vec_probabilities(table: dict[int, dict[int, float]], t: int, v: int, p: float, q: float) -> Tensor:
    """π_vx · α_pq(t, x), normalized (the paper's Section 3.2)."""
    unnormalised = torch.zeros(len(table), dtype=torch.float64)
    for x, weight in table[v].items():
        alpha = 1 / p if x == t else 1.0 if x in table[t] else 1 / q
        unnormalised[x] = alpha * weight
    return unnormalised / unnormalised.sum()


def assert_frequencies(drawn: Tensor, probabilities: Tensor) -> None:
    """A chi-square test; what has probability 0 never comes."""
    counts = torch.bincount(drawn, minlength=len(probabilities))
    possible = probabilities > 0
    assert not counts[~possible].any()
    if possible.sum() > 1:
        expected = probabilities[possible] * len(drawn)
        assert chisquare(counts[possible], expected).pvalue > 1e-4


@pytest.mark.parametrize("weighted", [False, True])
def test_a_step_goes_to_each_neighbour_by_its_weight(weighted: bool) -> None:
    graph = make_graph(weighted)
    for node, neighbours in weights_of(graph).items():
        _, there = random_walks(Transitions.of(graph), torch.full((5000,), node), 1, seeded(node))
        probabilities = torch.zeros(NODES, dtype=torch.float64)
        for x, weight in (neighbours or {node: 1.0}).items():
            probabilities[x] = weight / sum(neighbours.values() or [1.0])
        assert_frequencies(there, probabilities)


@pytest.mark.parametrize("rounds", [0, 1, 10, 10_000], ids=lambda rounds: f"{rounds} rounds")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0), (4.0, 0.25), (2.0, 0.5), (0.02, 0.05)])
def test_second_order_steps_have_the_probabilities_of_node2vec(
    monkeypatch: pytest.MonkeyPatch, p: float, q: float, weighted: bool, rounds: int
) -> None:
    """From every edge: by proposals alone, by the probabilities worked out alone, and by both."""
    monkeypatch.setattr(walks_module, "ROUNDS", rounds)
    graph = make_graph(weighted)
    table = weights_of(graph)
    starts = torch.arange(NODES - 1).repeat(5000)
    walks = second_order_walks(Transitions.of(graph), starts, 2, seeded(1), p=p, q=q)
    seen = 0
    for t in table:
        for v in table[t]:
            came = (walks[0] == t) & (walks[1] == v)
            seen += int(came.sum())
            assert_frequencies(walks[2, came], node2vec_probabilities(table, t, v, p, q))
    assert seen == len(starts)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_third_step_remembers_the_second_and_not_the_first(weighted: bool) -> None:
    graph, p, q = make_graph(weighted), 0.3, 3.0
    table = weights_of(graph)
    walks = second_order_walks(Transitions.of(graph), torch.zeros(30_000, dtype=torch.int64), 3, seeded(2), p=p, q=q)
    for v in (1, 2):
        came = (walks[1] == v) & (walks[2] == 0)
        assert_frequencies(walks[3, came], node2vec_probabilities(table, v, 0, p, q))


class TestExtremes:
    starts = torch.arange(NODES).repeat(200)

    def walks(self, p: float, q: float) -> Tensor:
        return second_order_walks(Transitions.of(make_graph(False)), self.starts, 10, seeded(), p=p, q=q)

    def test_a_tiny_p_goes_back_and_forth(self) -> None:
        walks = self.walks(1e-12, 1.0)
        assert torch.equal(walks[2], walks[0])
        assert torch.equal(walks[:-2], walks[2:])

    @pytest.mark.parametrize("p", [1e12, 1e300])
    def test_a_huge_p_goes_back_from_a_leaf_only(self, p: float) -> None:
        walks = self.walks(p, 1.0)
        back = walks[:-2] == walks[2:]
        moving = walks[:-2] != 7
        assert (back & moving).any()
        assert (walks[1:-1][back & moving] == 6).all()

    def test_a_huge_q_stays_near_where_it_came_from(self) -> None:
        table, walks = weights_of(make_graph(False)), self.walks(1.0, 1e12)
        for t, x in zip(walks[:-2].flatten().tolist(), walks[2:].flatten().tolist(), strict=True):
            assert x == t or x in table[t]

    def test_a_tiny_q_goes_out_where_it_can(self) -> None:
        table, walks = weights_of(make_graph(False)), self.walks(1.0, 1e-12)
        for t, v, x in zip(*(walks[i : i + 9].flatten().tolist() for i in range(3)), strict=True):
            outward = set(table[v]) - set(table[t]) - {t}
            assert x in outward or not outward


@given(seed=st.integers(0, 2**31), length=st.integers(0, 6), p=st.floats(0.01, 100), q=st.floats(0.01, 100))
def test_walks_follow_edges_and_a_node_alone_stays(seed: int, length: int, p: float, q: float) -> None:
    graph = make_graph(seed % 2 == 0)
    table, starts = weights_of(graph), torch.arange(NODES)
    walks = second_order_walks(Transitions.of(graph), starts, length, seeded(seed), p=p, q=q)
    assert walks.shape == (length + 1, NODES)
    assert torch.equal(walks[0], starts)
    assert (walks[:, 7] == 7).all()
    for here, there in zip(walks[:-1, :7].flatten().tolist(), walks[1:, :7].flatten().tolist(), strict=True):
        assert there in table[here]


def test_without_edges_all_stay() -> None:
    transitions = Transitions(CSRStructure(torch.empty(2, 0, dtype=torch.int64), 3))
    starts = torch.tensor([2, 0])
    for walks in (
        random_walks(transitions, starts, 2, seeded()),
        second_order_walks(transitions, starts, 2, seeded(), p=0.5, q=2.0),
    ):
        assert torch.equal(walks, starts.expand(3, 2))


def test_light_rows_keep_their_digits_beside_heavy_ones() -> None:
    """Sums over all edges would lose the weights near 1e-20 altogether."""
    edges = torch.tensor([[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]])
    weight = torch.tensor([1e20, 3e20, 1e20, 1e-20, 1e-20, 3e-20], dtype=torch.float64)
    _, there = random_walks(Transitions(CSRStructure(edges, 3), weight), torch.full((5000,), 2), 1, seeded())
    assert_frequencies(there, torch.tensor([0.25, 0.75, 0.0], dtype=torch.float64))


def test_an_edge_of_weight_0_is_none() -> None:
    edges = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
    transitions = Transitions(CSRStructure(edges, 4), torch.tensor([0.0, 1.0, 0.0, 0.0, 1.0, 0.0]))
    for walks in (
        random_walks(transitions, torch.arange(4).repeat(50), 4, seeded()),
        second_order_walks(transitions, torch.arange(4).repeat(50), 4, seeded(), p=0.1, q=3.0),
    ):
        assert (walks[:, ::4] == torch.tensor([0, 2, 0, 2, 0])[:, None]).all()
        assert (walks[:, 1::4] == 1).all()
        assert (walks[:, 3::4] == 3).all()


@pytest.mark.parametrize(("draw", "first"), [(0.0, True), (1 - 2**-53, False)], ids=["least", "largest"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_least_and_the_largest_draw_stay_in_their_row(
    monkeypatch: pytest.MonkeyPatch, draw: float, first: bool, weighted: bool
) -> None:
    """And on an edge that has a weight: here the first and the last of every row have none."""
    monkeypatch.setattr(walks_module, "draw_uniform", lambda like, _: torch.full(like.shape, draw, dtype=torch.float64))
    edges = torch.tensor([[i, j] for i in range(7) for j in range(7) if i != j]).T
    weight = torch.tensor([0.0, 0.1, 0.3, 0.7, 0.1, 0.0] * 7) if weighted else None
    starts = torch.arange(7)
    _, there = random_walks(Transitions(CSRStructure(edges, 7), weight), starts, 1, None)
    place = (1 if first else 4) if weighted else (0 if first else 5)
    assert torch.equal(there, edges[1].reshape(7, 6)[:, place])


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_weights_that_are_no_weights_are_refused(wrong: float) -> None:
    pattern = CSRStructure(torch.tensor([[0, 1], [1, 0]]), 2)
    with pytest.raises(InputError, match="negative, NaN or infinite"):
        Transitions(pattern, torch.tensor([1.0, wrong]))


def test_walkers_at_a_hub_are_worked_out_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand walkers who see fifty neighbours each: never more at once than twice the edges of the graph."""
    leaves = torch.arange(1, 51)
    edges = torch.stack([torch.cat([torch.zeros(50, dtype=torch.int64), leaves]), torch.cat([leaves, leaves * 0])])
    sizes = []
    exact = walks_module.row_entries

    def spy(rowptr: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        sizes.append(int(rowptr.diff()[rows].sum()))
        return exact(rowptr, rows)

    monkeypatch.setattr(walks_module, "ROUNDS", 0)
    monkeypatch.setattr(walks_module, "CHUNK", 10)
    monkeypatch.setattr(walks_module, "row_entries", spy)
    walks = second_order_walks(Transitions(CSRStructure(edges, 51)), leaves.repeat(20), 2, seeded(), p=1e-9, q=1.0)
    assert torch.equal(walks[0], walks[2])
    assert sum(sizes) == 50 * 1000
    assert max(sizes) <= 2 * 100


def test_a_generator_decides_and_nothing_global_does() -> None:
    transitions, starts = Transitions.of(make_graph(True)), torch.arange(NODES).repeat(10)

    def both(seed: int, disturbance: int) -> Tensor:
        torch.manual_seed(disturbance)
        return second_order_walks(transitions, starts, 5, seeded(seed), p=0.5, q=2.0)

    assert torch.equal(both(0, 1), both(0, 2))
    assert not torch.equal(both(0, 1), both(1, 1))


class TestTransitionsOfAGraph:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_are_worked_out_once(self, weighted: bool) -> None:
        graph = make_graph(weighted)
        assert Transitions.of(graph) is Transitions.of(copy.copy(graph)) is Transitions.of(graph)

    def test_are_worked_out_anew_when_weights_or_edges_change(self) -> None:
        graph = make_graph(True)
        before = Transitions.of(graph)
        strength = before.strength
        graph.edge_weight.mul_(2)
        assert torch.equal(Transitions.of(graph).strength, 2 * strength)
        graph.edge_index = graph.edge_index.flip(0)
        assert Transitions.of(graph).rowptr is not before.rowptr

    def test_take_edges_in_any_order(self) -> None:
        graph = make_graph(True)
        order = torch.randperm(graph.edge_index.shape[1], generator=seeded())
        shuffled = Data(edge_index=graph.edge_index[:, order], edge_weight=graph.edge_weight[order], num_nodes=NODES)
        one, other = Transitions.of(graph), Transitions.of(shuffled)
        assert torch.equal(one.digest, other.digest)
        walks = [random_walks(transitions, torch.arange(NODES), 20, seeded()) for transitions in (one, other)]
        assert torch.equal(*walks)

    def test_strength_is_the_sum_of_weights_or_the_degree(self) -> None:
        for graph in (make_graph(True), make_graph(False)):
            expected = [sum(neighbours.values()) for neighbours in weights_of(graph).values()]
            assert Transitions.of(graph).strength.tolist() == pytest.approx(expected)

    def test_the_digest_tells_graphs_apart(self) -> None:
        edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        graphs = [
            (CSRStructure(edges, 3), None),
            (CSRStructure(edges, 4), None),
            (CSRStructure(torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]), 3), None),
            (CSRStructure(edges, 3), torch.tensor([1.0, 1.0, 2.0, 2.0])),
            (CSRStructure(edges, 3), torch.tensor([2.0, 2.0, 1.0, 1.0])),
        ]
        digests = {tuple(Transitions(*graph).digest.tolist()) for graph in graphs}
        assert len(digests) == len(graphs)
        assert {len(digest) for digest in digests} == {32}


def test_nodes_are_drawn_by_their_weights() -> None:
    weight = torch.tensor([3.0, 0.0, 1.0, 4.0, 0.0])
    drawn = draw_nodes(weight, (40, 250), seeded())
    assert drawn.shape == (40, 250)
    assert_frequencies(drawn.flatten(), weight.double() / 8)


def test_no_node_can_be_drawn_where_all_weights_are_0() -> None:
    with pytest.raises(InputError, match="all 0"):
        draw_nodes(torch.zeros(3), (2,), seeded())
