"""Each step after training against a dense computation: an SVD, a dense adjacency, rows by hand; and all in order."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import pytest
import sklearn.decomposition
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.errors import InputError
from sfa.methods import GRACE
from sfa.nn import GCN
from sfa.nn.sparse import Propagation, propagation_of
from sfa.postprocess import PCA, ConcatFeatures, Power, Propagate, RemoveTopPCs, propagate
from sfa.run import Recipe
from sfa.run.identity import recipe_hash
from sfa.seeding import seeded_initialization
from tests.cases import each

GENERATOR = torch.Generator().manual_seed(0)
Z, X = torch.randn(7, 3, generator=GENERATOR), torch.rand(7, 5, generator=GENERATOR).round(decimals=1) - 0.3


def remove_top_pcs(z: Tensor, count: int) -> Tensor:
    return RemoveTopPCs(count)(z, Data())


def concat_features(z: Tensor, x: Tensor, weight: float) -> Tensor:
    return ConcatFeatures(weight)(z, Data(x=x))


def sparse(x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return x.to_sparse_csr()


def random_graph(seed: int, n: int, is_weighted: bool) -> Data:
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (2, 2 * n), generator=generator)
    edges = torch.cat([torch.tensor([[0], [n - 1]]), drawn], dim=1)  # one at least is no self-loop
    weight = 0.1 + torch.rand(2 * n + 1, generator=generator) if is_weighted else None
    return build_graph(torch.rand(n, 4, generator=generator), edges, edge_weight=weight)


def dense_adjacency(graph: Data) -> Tensor:
    """``D^(-1/2) (A + I) D^(-1/2)`` in float64."""
    a = torch.eye(graph.num_nodes, dtype=torch.float64)
    a[tuple(graph.edge_index)] = 1.0 if graph.edge_weight is None else graph.edge_weight.double()
    scale = a.sum(1).rsqrt()
    return scale[:, None] * a * scale


def without_strongest(z: Tensor, count: int) -> Tensor:
    """The singular value decomposition without its first terms."""
    u, sigma, v = torch.linalg.svd(z.double(), full_matrices=False)
    return u[:, count:] * sigma[count:] @ v[count:]


class TestInOrder:
    """The classes, one after the other, as a method applies them."""

    @each("hops", [1, 2, 3])
    @each("is_weighted", [False, True])
    def test_propagate_is_so_many_products(self, hops: int, is_weighted: bool) -> None:
        graph = random_graph(1, 9, is_weighted)
        z = torch.randn(9, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
        expected = torch.linalg.matrix_power(dense_adjacency(graph), hops) @ z
        torch.testing.assert_close(Propagate(hops)(z, graph), expected, rtol=1e-6, atol=1e-7)

    @each("is_weighted", [False, True])
    def test_propagate_keeps_every_hop_side_by_side(self, is_weighted: bool) -> None:
        graph = random_graph(1, 9, is_weighted)
        z = torch.randn(9, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
        z[4] = 0
        hops = [torch.linalg.matrix_power(dense_adjacency(graph), hop) @ z for hop in range(3)]
        expected = torch.cat([h / h.norm(dim=1, keepdim=True).where(h.any(1, keepdim=True), 1) for h in hops], dim=1)
        torch.testing.assert_close(Propagate(2, concat=True)(z, graph), expected, rtol=1e-6, atol=1e-7)

    def test_concat_features_takes_those_of_the_graph(self) -> None:
        graph = random_graph(1, 7, False)
        torch.testing.assert_close(ConcatFeatures(0.3)(Z, graph), concat_features(Z, graph.x, 0.3), rtol=0, atol=0)

    @each("backwards", [False, True])
    def test_a_method_applies_them_in_the_order_of_its_list(self, backwards: bool) -> None:
        graph = random_graph(3, 12, False)
        with seeded_initialization(0):
            method = GRACE(GCN(4, 6, activation="elu"))
        method.postprocess = [RemoveTopPCs(2), Propagate(2), ConcatFeatures(0.5)]
        dense, x = dense_adjacency(graph), graph.x.double()

        def joined(z: Tensor) -> Tensor:
            return torch.cat([z / z.norm(dim=1, keepdim=True), 0.5 * x / x.norm(dim=1, keepdim=True)], dim=1)

        steps: list[Callable[[Tensor], Tensor]] = [
            lambda z: without_strongest(z, 2),
            lambda z: dense @ dense @ z,
            joined,
        ]
        if backwards:
            method.postprocess, steps = method.postprocess[::-1], steps[::-1]
        expected = method.embeddings(graph).double()
        for step in steps:
            expected = step(expected)
        found = method.embed(graph)
        assert found.shape == (12, 10)
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)

    def test_any_function_of_embeddings_and_graph_is_a_step(self) -> None:
        graph, method = random_graph(3, 12, False), GRACE(GCN(4, 6))
        plain = method.embed(graph)
        method.postprocess = [lambda z, data: z * data.num_nodes]
        assert torch.equal(method.embed(graph), 12 * plain)

    @each(
        ("build", "message"),
        [
            (lambda: RemoveTopPCs(0), "count must be a whole number, 1 or more, not 0."),
            (lambda: RemoveTopPCs(1.5), "count must be a whole number, 1 or more, not 1.5."),
            (lambda: Propagate(0), "hops must be a whole number, 1 or more, not 0."),
            (lambda: Propagate(True), "hops must be a whole number, 1 or more, not True."),
            (lambda: PCA(0), "width must be a whole number, 1 or more, not 0."),
            (lambda: Power(-1.0), "p must be a number, 0 or more, not -1.0."),
            (lambda: ConcatFeatures(0.0), "weight must be a number, above 0, not 0.0."),
            (lambda: ConcatFeatures(math.nan), "weight must be a number, above 0, not nan."),
        ],
    )
    def test_what_cannot_be_is_refused_in_a_sentence(self, build: Callable[[], object], message: str) -> None:
        with pytest.raises(InputError) as error:
            build()
        assert str(error.value) == message


def embeddings(dtype: torch.dtype = torch.float64, n: int = 40, d: int = 6) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(n, d, generator=generator, dtype=torch.float64) * torch.tensor([30.0, 8, 4, 2, 1, 0.5])[:d]
    turn = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64)).Q
    return (z @ turn).to(dtype)


class TestRemoveTopPCs:
    @each("count", [1, 2, 5])
    @each(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
    @each("rows_at_a_time", [1, 7, 40])
    def test_what_is_left_has_the_other_singular_values(
        self, count: int, dtype: torch.dtype, tolerance: float, rows_at_a_time: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sfa.matrices.CHUNK_BYTES", 4 * 6 * rows_at_a_time)
        z = embeddings(dtype)
        found = remove_top_pcs(z, count)
        assert found.dtype == dtype
        limit = tolerance * float(torch.linalg.matrix_norm(z.double(), 2))
        torch.testing.assert_close(found.double(), without_strongest(z, count), rtol=0, atol=limit)

    def test_scales_that_do_not_square(self) -> None:
        z = embeddings(torch.float32)
        for scale in (1e-30, 1e30):
            torch.testing.assert_close(remove_top_pcs(scale * z, 1) / scale, remove_top_pcs(z, 1), rtol=1e-4, atol=1e-4)

    def test_zeros_few_rows_and_none(self) -> None:
        assert (remove_top_pcs(torch.zeros(5, 3), 1) == 0).all()
        assert remove_top_pcs(torch.empty(0, 3), 1).shape == (0, 3)
        torch.testing.assert_close(remove_top_pcs(torch.tensor([[3.0, 4.0]]), 1), torch.zeros(1, 2), rtol=0, atol=1e-6)
        assert not remove_top_pcs(embeddings().requires_grad_(), 1).requires_grad

    @each("value", [float("nan"), float("inf")])
    def test_embeddings_that_are_not_finite(self, value: float) -> None:
        z = embeddings()
        z[3, 2] = value
        with pytest.raises(InputError, match="NaN or infinity"):
            remove_top_pcs(z, 1)

    @each("count", [6, 7])
    def test_nothing_would_be_left(self, count: int) -> None:
        message = f"width 6 .* {count} leading directions"
        with pytest.raises(InputError, match=message):
            remove_top_pcs(embeddings(), count)
        with pytest.raises(InputError, match=message):
            RemoveTopPCs(count).check_width(6)
        RemoveTopPCs(count).check_width(count + 1)


class TestPower:
    @each("p", [0.0, 0.5, 1.0, 2.0, 3.0])
    @each(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
    @each("rows_at_a_time", [7, 40])
    def test_the_singular_values_to_a_power(
        self, p: float, dtype: torch.dtype, tolerance: float, rows_at_a_time: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sfa.matrices.CHUNK_BYTES", 4 * 6 * rows_at_a_time)
        z = embeddings(dtype)
        found = Power(p)(z, Data())
        u, sigma, v = torch.linalg.svd(z.double(), full_matrices=False)
        expected = u * (sigma / sigma[0]) ** p * sigma[0] @ v
        assert found.dtype == dtype
        limit = tolerance * float(sigma[0])
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=limit)

    def test_directions_that_are_not_there_stay_away(self) -> None:
        """Flattened, rounding would be as strong as all else."""
        z = embeddings()
        z = torch.cat([z, z[:, :2]], dim=1)
        found = torch.linalg.svdvals(Power(0.0)(z, Data()))
        torch.testing.assert_close(found, found[0] * torch.tensor([1.0] * 6 + [0.0] * 2, dtype=torch.float64))
        assert (Power(0.5)(torch.zeros(5, 3), Data()) == 0).all()
        assert Power(0.5)(torch.empty(0, 3), Data()).shape == (0, 3)


class TestPCA:
    @each("width", [1, 3, 6])
    @each(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
    def test_those_of_scikit_learn(self, width: int, dtype: torch.dtype, tolerance: float) -> None:
        z = embeddings(dtype) + 5
        found = PCA(width)(z, Data())
        expected = torch.from_numpy(sklearn.decomposition.PCA(width, svd_solver="full").fit_transform(z.double()))
        sign = (found.double() * expected).sum(0).sign()
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), sign * expected, rtol=0, atol=tolerance * 30)

    def test_more_than_there_are(self) -> None:
        assert PCA(100)(embeddings(), Data()).shape == (40, 6)
        assert PCA(2)(embeddings()[:1], Data()).abs().max() < 1e-12
        assert PCA(2)(torch.empty(0, 3), Data()).shape == (0, 2)


class TestRecipes:
    def test_steps_of_a_recipe_and_the_widths_after_them(self) -> None:
        graph = random_graph(1, 12, False)
        steps = [{"name": "propagate", "concat": True}, {"name": "power", "p": 2}, {"name": "pca", "width": 5}]
        recipe = Recipe.parse({"method": "grace", "encoder": {"hidden": 4}, "postprocess": steps})
        assert recipe.build_for(graph).embed(graph).shape == (12, 5)
        after = recipe.updated({"postprocess": [*steps, {"name": "remove-top-pcs", "count": 4}]})
        assert after.build_for(graph).embed(graph).shape == (12, 5)

    def test_hashes_of_recipes_without_the_new_option_stay(self) -> None:
        recipe = Recipe.parse({"method": "grace", "postprocess": [{"name": "propagate", "hops": 2}]}).as_dict()
        other = {**recipe, "postprocess": [{"name": "propagate", "hops": 2, "concat": True}]}
        old = {**recipe, "postprocess": [{"name": "propagate", "hops": 2}]}
        assert recipe["postprocess"][0]["concat"] is False
        assert recipe_hash(recipe) == recipe_hash(old)
        assert recipe_hash(recipe) != recipe_hash(other)


class TestPropagate:
    @given(st.integers(0, 2**31), st.integers(2, 12), st.booleans(), st.integers(1, 14))
    def test_a_step_is_a_product_with_the_normalized_adjacency(
        self, seed: int, n: int, is_weighted: bool, chunk: int
    ) -> None:
        graph = random_graph(seed, n, is_weighted)
        z = torch.randn(n, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        before = z.clone()
        found = propagate(z, propagation_of(graph, z.dtype), chunk=chunk)
        torch.testing.assert_close(found, dense_adjacency(graph) @ z, rtol=1e-6, atol=1e-7)  # weights are in float32
        assert torch.equal(z, before)

    def test_a_node_without_edges_keeps_its_row(self) -> None:
        graph = build_graph(torch.zeros(4, 1), torch.tensor([[0], [2]]))
        z = torch.randn(4, 5)
        found = propagate(z, propagation_of(graph))
        assert torch.equal(found[[1, 3]], z[[1, 3]])
        torch.testing.assert_close(found[[0, 2]], (z[0] + z[2]).expand(2, 5) / 2)

    @each(("chunk", "pieces"), [(1, 7), (3, 3), (7, 1), (100, 1)])
    def test_no_more_rows_than_a_chunk_are_taken_at_a_time(self, chunk: int, pieces: int) -> None:
        class Watched(Propagation):
            def __init__(self, matrix: Tensor) -> None:
                super().__init__(matrix)
                self.taken: list[int] = []

            def rows(self, start: int, stop: int) -> Tensor:
                self.taken.append(stop - start)
                return super().rows(start, stop)

        adjacency = Watched(propagation_of(random_graph(0, 7, False)).matrix)
        propagate(torch.randn(7, 2), adjacency, chunk=chunk)
        assert (sum(adjacency.taken), len(adjacency.taken)) == (7, pieces)
        assert max(adjacency.taken) <= chunk

    def test_nothing_is_kept_for_a_way_back_and_rows_are_in_order(self) -> None:
        adjacency = propagation_of(random_graph(0, 7, False))
        z = torch.randn(2, 7, requires_grad=True).T
        found = propagate(z, adjacency)
        assert not found.requires_grad
        assert found.is_contiguous()
        torch.testing.assert_close(found, propagate(z.detach().contiguous(), adjacency))

    def test_mixed_precision_around_it_changes_nothing(self) -> None:
        """A trainer of Lightning embeds within autocast, and sparse products lack half precision."""
        adjacency, z = propagation_of(random_graph(0, 7, True)), torch.randn(7, 4)
        with torch.autocast("cpu", torch.bfloat16):
            found = propagate(z, adjacency)
        assert torch.equal(found, propagate(z, adjacency))


class TestConcatFeatures:
    @each("dtype", [torch.float32, torch.float64])
    @each("chunk", [1, 3, 7, 100])
    @each("layout", [lambda x: x, sparse], ids=["dense", "csr"])
    def test_rows_of_length_one_side_by_side(
        self, dtype: torch.dtype, chunk: int, layout: Callable[[Tensor], Tensor], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sfa.matrices.CHUNK_BYTES", 4 * 8 * chunk)
        z, x = Z.to(dtype), X.to(dtype)
        found = concat_features(z, layout(x), 0.5)
        expected = [
            [value / math.hypot(*row) for value in row] + [0.5 * value / math.hypot(*own) for value in own]
            for row, own in zip(z.tolist(), x.tolist(), strict=True)
        ]
        torch.testing.assert_close(found, torch.tensor(expected, dtype=dtype))
        cosines = torch.nn.functional.cosine_similarity(z[:, None], z[None], dim=2)
        own = torch.nn.functional.cosine_similarity(x[:, None], x[None], dim=2)
        torch.testing.assert_close(found @ found.T, cosines + own / 4)

    def test_what_has_no_length_stays_zero(self) -> None:
        z, x = Z.clone(), X.clone()
        z[2], x[4] = 0, 0
        found = concat_features(z, x, 1.0)
        assert found.isfinite().all()
        assert (found[2, :3] == 0).all()
        assert (found[4, 3:] == 0).all()
        torch.testing.assert_close(found[[0, 2, 4]].norm(dim=1), torch.tensor([math.sqrt(2), 1.0, 1.0]))

    def test_lengths_beyond_the_squares_of_float32(self) -> None:
        found = concat_features(1e30 * Z, 1e-30 * X, 1.0)
        torch.testing.assert_close(found, concat_features(Z, X, 1.0))

    def test_no_nodes_and_no_way_back(self) -> None:
        assert concat_features(Z[:0], X[:0], 1.0).shape == (0, 8)
        z = Z.clone().requires_grad_()
        assert not concat_features(z, X, 1.0).requires_grad
