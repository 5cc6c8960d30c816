"""The augmentations of a batch of graphs: one graph at a time, each with its own rate, and mixed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from sfa.augment.graph import AUGMENTATIONS, RandomChoice
from sfa.errors import InputError
from sfa.graph.batches import undirected_edges
from tests.graph.graph_batches import (
    assert_sound,
    batches,
    copies_of,
    mixed_batch,
    random_graphs,
    seeded,
    single_graphs,
    sizes_of,
    to_batch,
    to_data,
)

percents = st.integers(0, 100)
SEEDS = st.integers(0, 2**31)


def one_kind(batch: Data, kind: str, seed: int = 0, **rates: float) -> Data:
    """All graphs augmented by one kind."""
    choices = torch.full((len(batch.ptr) - 1,), AUGMENTATIONS.index(kind))
    return RandomChoice(**rates).apply(batch, choices, seeded(seed))  # type: ignore[arg-type]


def floor(percent: int, number: int) -> int:
    return int(Fraction(percent, 100) * number)


def assert_same_graph(one: nx.Graph, other: nx.Graph) -> None:
    assert list(one.nodes) == sorted(other.nodes)
    assert all(torch.equal(one.nodes[v]["x"], other.nodes[v]["x"]) for v in one)
    assert nx.utils.edges_equal(one.edges(data=True), other.edges(data=True))


class TestDropNodes:
    @given(batch=batches(), seed=SEEDS, percent=percents)
    def test_so_many_nodes_go_with_their_edges(self, batch: Data, seed: int, percent: int) -> None:
        view = one_kind(batch, "node-drop", seed, node_drop=percent / 100)
        assert_sound(view, batch)
        for before, after in zip(single_graphs(batch), single_graphs(view), strict=True):
            n = len(before)
            assert len(after) == max(n - floor(percent, n), min(n, 1))
            assert_same_graph(after, nx.Graph(before.subgraph(after)))

    def test_at_rate_one_a_node_is_left(self) -> None:
        batch = mixed_batch()
        assert sizes_of(one_kind(batch, "node-drop", node_drop=1.0)) == [1, 0, 1, 1, 1, 1]
        assert sizes_of(one_kind(batch, "node-drop", node_drop=0.99)) == [1, 0, 1, 1, 1, 1]

    def test_every_set_of_nodes_is_as_likely(self) -> None:
        view = one_kind(copies_of(nx.path_graph(5), 6000), "node-drop", node_drop=0.4)
        left = (2 ** view.x[:, 0].long()).view(6000, 3).sum(1)
        counts = torch.bincount(left, minlength=32)
        assert chisquare(counts[[bin(number).count("1") == 3 for number in range(32)]]).pvalue > 1e-4


class TestPerturbEdges:
    @given(batch=batches(), seed=SEEDS, drop=percents, add=percents)
    def test_rates_are_of_the_undirected_edges(self, batch: Data, seed: int, drop: int, add: int) -> None:
        view = one_kind(batch, "edge-perturb", seed, edge_drop=drop / 100, edge_add=add / 100)
        assert_sound(view, batch)
        for before, after in zip(single_graphs(batch), single_graphs(view), strict=True):
            edges, n = before.number_of_edges(), before.number_of_nodes()
            come = min(floor(add, edges), n * (n - 1) // 2 - edges)
            assert after.number_of_edges() == edges - floor(drop, edges) + come
            assert len(nx.intersection(before, after).edges) == edges - floor(drop, edges)

    def test_all_and_nothing(self) -> None:
        batch = mixed_batch(weighted=True)
        assert one_kind(batch, "edge-perturb", edge_drop=1.0, edge_add=0.0).num_edges == 0
        same = one_kind(batch, "edge-perturb", edge_drop=0.0, edge_add=0.0)
        assert torch.equal(same.edge_index, batch.edge_index)
        assert torch.equal(same.edge_weight, batch.edge_weight)


class TestMaskAttributes:
    @given(batch=batches(), seed=SEEDS, percent=percents)
    def test_so_many_rows_are_replaced(self, batch: Data, seed: int, percent: int) -> None:
        before = batch.x.clone()
        view = one_kind(batch, "attribute-mask", seed, attribute_mask=percent / 100)
        assert torch.equal(batch.x, before)
        assert_sound(view, batch)
        assert view.edge_index is batch.edge_index
        changed = (view.x != batch.x).all(1)
        assert torch.equal(view.x[~changed], batch.x[~changed])
        parts = changed.split(sizes_of(batch))
        assert [int(part.sum()) for part in parts] == [floor(percent, len(part)) for part in parts]

    def test_by_noise_of_mean_and_deviation_one_half(self) -> None:
        batch = to_batch([nx.empty_graph(4000)])
        noise = one_kind(batch, "attribute-mask", attribute_mask=1.0).x
        assert noise.dtype == batch.x.dtype
        assert kstest(noise.flatten().numpy(), "norm", args=(0.5, 0.5)).pvalue > 1e-4

    def test_every_set_of_nodes_is_as_likely(self) -> None:
        batch = copies_of(nx.path_graph(5), 6000)
        view = one_kind(batch, "attribute-mask", attribute_mask=0.4)
        changed = (view.x != batch.x).all(1).view(6000, 5)
        counts = torch.bincount((changed * 2 ** torch.arange(5)).sum(1), minlength=32)
        assert chisquare(counts[[bin(number).count("1") == 2 for number in range(32)]]).pvalue > 1e-4


class TestSubgraph:
    @given(batch=batches(), seed=SEEDS, percent=percents)
    def test_a_connected_piece_of_so_many_nodes(self, batch: Data, seed: int, percent: int) -> None:
        view = one_kind(batch, "subgraph", seed, subgraph_keep=percent / 100)
        assert_sound(view, batch)
        for before, after in zip(single_graphs(batch), single_graphs(view), strict=True):
            if not before:
                assert not after
                continue
            assert nx.is_connected(after)
            component = nx.node_connected_component(before, next(iter(after)))
            assert len(after) == min(max(1, floor(percent, len(before))), len(component))
            assert_same_graph(after, nx.Graph(before.subgraph(after)))


class TestAugment:
    @given(batch=batches(), seed=SEEDS, data=st.data())
    def test_each_graph_by_its_own_choice(self, batch: Data, seed: int, data: st.DataObject) -> None:
        kinds = data.draw(st.sets(st.integers(0, 4), min_size=1))
        choices = [data.draw(st.sampled_from(sorted(kinds))) for _ in sizes_of(batch)]
        augmentation = RandomChoice("all", 0.3, 0.4, 0.5, 0.35, 0.6)
        before_x = batch.x.clone()
        view = augmentation.apply(batch, torch.tensor(choices), seeded(seed))
        assert_sound(view, batch)
        assert torch.equal(batch.x, before_x)
        assert type(view) is Data
        originals, rows = single_graphs(batch), view.x.split(sizes_of(view))
        masked = single_graphs(named_by_place(view))
        for number, (before, choice, after) in enumerate(zip(originals, choices, single_graphs(view), strict=True)):
            if AUGMENTATIONS[choice] == "attribute-mask":
                assert_masked(before, masked[number], rows[number], 0.35)
            else:
                assert_augmented(before, after, AUGMENTATIONS[choice])

    def test_identity_copies_nothing(self) -> None:
        batch = mixed_batch(weighted=True)
        view = RandomChoice().apply(batch, torch.zeros(6, dtype=torch.int64), seeded())
        assert view is not batch
        assert all(view[key] is batch[key] for key in ("x", "edge_index", "edge_weight", "ptr", "batch"))

    def test_it_is_a_function_of_the_generator(self) -> None:
        batch, choices = to_batch(random_graphs(0, [12] * 20)), torch.arange(20) % 5
        augmentation = RandomChoice("all", 0.3, 0.3, 0.3, 0.3, 0.5)
        first, again, other = (augmentation.apply(batch, choices, seeded(s)) for s in (1, 1, 2))
        for key in ("x", "edge_index", "ptr"):
            assert torch.equal(first[key], again[key])
        assert not torch.equal(first.x, other.x)

    def test_batches_of_a_loader(self) -> None:
        """As torch_geometric collates them, with labels and without nodes in one."""
        graphs = [to_data(graph) for graph in random_graphs(1, [5, 0, 9, 1, 7])]
        for number, graph in enumerate(graphs):
            graph.y = torch.tensor([number])
        for batch in DataLoader(graphs, batch_size=3):
            assert isinstance(batch, Batch)
            view = RandomChoice().apply(batch, torch.full((batch.num_graphs,), 1), seeded())
            assert_sound(view, batch)
            assert "y" not in view

    def test_a_view_of_a_view(self) -> None:
        batch = to_batch(random_graphs(2, [12] * 10))
        once = RandomChoice().apply(batch, torch.arange(10) % 5, seeded())
        assert_sound(RandomChoice().apply(once, torch.arange(10) % 3 + 2, seeded()), batch)


def named_by_place(batch: Data) -> Data:
    """Nodes named by their places in their graphs: a masked node has lost its name."""
    named = batch.clone()
    named.x[:, 0] = torch.arange(batch.num_nodes) - batch.ptr[batch.batch]
    return named


def assert_masked(before: nx.Graph, after: nx.Graph, rows: Tensor, rate: float) -> None:
    assert list(after) == list(before)
    assert nx.utils.edges_equal(after.edges(data=True), before.edges(data=True))
    changed = [v for v in before if not torch.equal(rows[v], before.nodes[v]["x"])]
    assert len(changed) == math.floor(rate * len(before))


def assert_augmented(before: nx.Graph, after: nx.Graph, kind: str) -> None:
    n, edges = before.number_of_nodes(), before.number_of_edges()
    if kind == "identity":
        assert_same_graph(after, before)
    elif kind == "edge-perturb":
        assert list(after) == list(before)
        left = edges - math.floor(0.4 * edges)
        assert len(nx.intersection(before, after).edges) == left
        assert after.number_of_edges() == left + min(math.floor(0.5 * edges), n * (n - 1) // 2 - edges)
    else:
        assert_same_graph(after, nx.Graph(before.subgraph(after)))
        if kind == "node-drop":
            assert len(after) == n - math.floor(0.3 * n)
        elif n:
            component = nx.node_connected_component(before, next(iter(after)))
            assert len(after) == min(max(1, math.floor(0.6 * n + 1e-9)), len(component))


@pytest.mark.parametrize("name", ["node_drop", "edge_drop", "edge_add", "attribute_mask", "subgraph_keep"])
def test_wrong_rates_are_refused_by_name(name: str) -> None:
    for rate in (-0.1, 1.5, math.nan):
        with pytest.raises(InputError, match=f"{name} is a probability"):
            RandomChoice(**{name: rate})  # type: ignore[arg-type]


def test_one_graph_is_no_batch() -> None:
    with pytest.raises(InputError, match="ptr"):
        RandomChoice().apply(to_data(nx.path_graph(4)), torch.tensor([1]))


class TestRandomChoice:
    """The augmentation that draws a kind for each graph; see test_random_choice.py for what the names stand for."""

    def test_a_view_is_a_draw_of_kinds_and_their_augmentation(self) -> None:
        batch = to_batch(random_graphs(0, [12] * 20))
        augmentation, generator = RandomChoice("random3", 0.3, 0.4, 0.5, 0.35, 0.6), seeded()
        for view in augmentation(batch, seeded()):
            choices = torch.multinomial(augmentation.probabilities, 20, replacement=True, generator=generator)
            expected = augmentation.apply(batch, choices, generator)
            for key in ("x", "edge_index", "ptr", "batch"):
                assert torch.equal(view[key], expected[key])

    def test_all_draws_each_of_the_five_as_often(self) -> None:
        assert RandomChoice("all").probabilities.tolist() == pytest.approx([0.2] * 5)
        copies = copies_of(nx.cycle_graph(10), 3000)
        view = RandomChoice("all", 0.1, 0.1, 0.0, 0.1, 0.3).view(copies, seeded())
        sizes, edges = torch.tensor(sizes_of(view)), undirected_edges(view)
        noisy = torch.tensor([bool((x != x.round()).any()) for x in view.x[:, 0].split(sizes.tolist())])
        found = {
            "node-drop": sizes == 9,
            "subgraph": sizes == 3,
            "edge-perturb": (sizes == 10) & (edges == 9),
            "attribute-mask": (sizes == 10) & (edges == 10) & noisy,
            "identity": (sizes == 10) & (edges == 10) & ~noisy,
        }
        counts = [int(mask.sum()) for mask in found.values()]
        assert sum(counts) == 3000
        assert chisquare(counts).pvalue > 1e-4

    def test_view_alpha_may_be_the_graphs_themselves(self) -> None:
        batch = mixed_batch()
        alpha, beta = RandomChoice("node-drop", 0.5, both_views=False)(batch, seeded())
        assert alpha is batch
        assert beta.num_nodes < batch.num_nodes
        alone = RandomChoice("node-drop", 0.5).view(batch, seeded())
        assert torch.equal(beta.x, alone.x), "nothing was drawn for view alpha"

    @pytest.mark.parametrize("kind", AUGMENTATIONS)
    def test_one_kind_for_all_graphs(self, kind: str) -> None:
        batch = mixed_batch()
        augmentation = RandomChoice(kind, 0.3, 0.4, 0.5, 0.35, 0.6)  # type: ignore[arg-type]
        view, generator = augmentation.view(batch, seeded()), seeded()
        torch.multinomial(torch.ones(5), 6, replacement=True, generator=generator)
        expected = augmentation.apply(batch, torch.full((6,), AUGMENTATIONS.index(kind)), generator)
        assert torch.equal(view.x, expected.x)
        assert torch.equal(view.edge_index, expected.edge_index)

    def test_wrong_rates_are_refused_by_name(self) -> None:
        with pytest.raises(InputError, match="attribute_mask is a probability"):
            RandomChoice(attribute_mask=1.5)


def rings(count: int, size: int) -> Data:
    ring = torch.tensor([[i, (i + 1) % size] for i in range(size)]).T
    one = Data(x=torch.ones(size, 4), edge_index=torch.cat([ring, ring.flip(0)], 1))
    batch: Data = Batch.from_data_list([one] * count)
    return batch


@pytest.mark.parametrize(
    ("name", "among"),
    [
        ("identity", {"identity"}),
        ("attribute-mask", {"attribute-mask"}),
        ("random2", {"node-drop", "subgraph"}),
        ("random3", {"node-drop", "subgraph", "edge-perturb"}),
        ("random4", {"node-drop", "subgraph", "edge-perturb", "attribute-mask"}),
        ("all", set(AUGMENTATIONS)),
    ],
)
def test_a_name_stands_for_augmentations_that_are_as_likely(name: Any, among: set[str]) -> None:
    found = dict(zip(AUGMENTATIONS, RandomChoice(name).probabilities.tolist(), strict=True))
    assert found == pytest.approx({kind: 1 / len(among) if kind in among else 0 for kind in AUGMENTATIONS})


def test_each_graph_is_treated_by_its_own_choice_and_the_rates() -> None:
    """Rings of ten nodes: of some a node goes, of the others all but three; and about as many of either."""
    augmentation = RandomChoice("random2", node_drop=0.1, subgraph_keep=0.3)
    sizes = augmentation.view(rings(400, 10), seeded()).ptr.diff()
    assert set(sizes.tolist()) == {9, 3}
    assert 150 < int((sizes == 9).sum()) < 250


@pytest.mark.parametrize(
    ("kinds", "sizes"),
    [
        ("identity", {1.0}),
        ("node-drop", {0.5}),
        ("subgraph", {0.25}),
        ("random2", {0.5, 0.25}),
        ("random3", {0.5, 0.25, 1.0}),
        ("random4", {0.5, 0.25, 1.0}),
    ],
)
def test_each_graph_is_augmented_by_a_kind_of_its_own(kinds: Any, sizes: set[float]) -> None:
    """Rings of 8 nodes: half of them stay after a node drop, a quarter in a subgraph, all after the other kinds."""
    batch = rings(64, 8)
    augmentation = RandomChoice(
        kinds, node_drop=0.5, subgraph_keep=0.25, attribute_mask=1.0, edge_drop=0.5, both_views=False
    )
    alpha, beta = augmentation(batch, seeded())
    assert alpha is batch
    assert set((beta.ptr.diff() / 8).tolist()) == sizes
    whole = beta.ptr.diff().index_select(0, beta.batch) == 8
    assert bool((beta.x[whole] != 1).any()) == (kinds == "random4")
    fewer_edges = beta.edge_index[:, whole[beta.edge_index[0]]].shape[1] < 2 * int(whole.sum())
    assert fewer_edges == (kinds in ("random3", "random4"))


def test_both_views_are_augmented_and_drawn_apart() -> None:
    batch = rings(10, 6)
    alpha, beta = RandomChoice("attribute-mask", attribute_mask=0.5)(batch, seeded())
    assert not torch.equal(alpha.x, batch.x)
    assert not torch.equal(beta.x, batch.x)
    assert not torch.equal(alpha.x, beta.x)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'node-drop'"):
        RandomChoice("node_drop")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean 'random4'"):
        RandomChoice("random5")  # type: ignore[arg-type]
    for option in ("node_drop", "subgraph_keep"):
        with pytest.raises(InputError, match=option):
            RandomChoice(**{option: 1.5})  # type: ignore[arg-type]
