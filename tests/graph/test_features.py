"""Feature normalization and noise, dense, sparse and on disk."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch_geometric.data import Data
from torch_geometric.transforms import NormalizeFeatures

from sfa import matrices
from sfa.data import arrays as mapped
from sfa.data import build_graph
from sfa.errors import InputError
from sfa.graph.features import FeatureNormalization, add_noise, normalize_features
from tests.memory_maps import file_of

EDGES = torch.tensor([[0, 1], [1, 2]])


def test_rows_sum_to_one_zero_rows_stay_and_the_input_is_untouched() -> None:
    x = torch.tensor([[1.0, 3.0], [0.0, 0.0], [-2.0, 2.0]])
    graph = Data(x=x.clone(), edge_index=torch.tensor([[0, 1], [1, 0]]), node_ids=["a", "b", "c"])
    normalized = normalize_features(graph, "row")
    assert torch.equal(normalized.x, torch.tensor([[0.25, 0.75], [0.0, 0.0], [-0.5, 0.5]]))
    assert torch.equal(graph.x, x)
    assert normalized.node_ids == graph.node_ids
    assert normalize_features(graph, "none") is graph


def test_a_row_does_not_depend_on_the_others() -> None:
    x = torch.rand(6, 4, generator=torch.Generator().manual_seed(0))
    whole = normalize_features(Data(x=x), "row").x
    assert torch.equal(whole[:2], normalize_features(Data(x=x[:2]), "row").x)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 19), st.floats(-5, 5, width=32)), max_size=10),
)
def test_sparse_rows_become_what_dense_rows_become(entries: list[tuple[int, int, float]]) -> None:
    x = np.zeros((10, 20), dtype=np.float32)
    for row, column, value in entries:
        x[row, column] = value
    graph = build_graph(x, EDGES)
    before = graph.x.values().clone()
    normalized = normalize_features(graph, "row")
    assert normalized.x.layout == torch.sparse_csr
    expected = normalize_features(Data(x=torch.tensor(x)), "row").x
    torch.testing.assert_close(normalized.x.to_dense(), expected, rtol=1e-6, atol=1e-30)
    assert torch.equal(graph.x.values(), before)
    assert normalized.x.col_indices().data_ptr() == graph.x.col_indices().data_ptr()
    assert normalized.x.crow_indices().data_ptr() == graph.x.crow_indices().data_ptr()
    assert normalize_features(graph, "none") is graph


@pytest.fixture
def mapped_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Data:
    """53 rows on disk, of which 5 make a chunk; row 7 is zero."""
    x = np.random.default_rng(0).standard_normal((53, 6), dtype=np.float32)
    x[7] = 0
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 0)
    monkeypatch.setattr(matrices, "CHUNK_BYTES", 5 * 6 * 4)
    return build_graph(np.load(tmp_path / "x.npy", mmap_mode="r"), EDGES)


def test_mapped_rows_become_what_rows_in_memory_become(mapped_graph: Data) -> None:
    before = mapped_graph.x.clone()
    normalized = normalize_features(mapped_graph, "row")
    assert normalized.mapped_features is True
    assert torch.equal(normalized.x, normalize_features(Data(x=before), "row").x)
    assert torch.equal(mapped_graph.x, before)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which memory is which file")
def test_mapped_rows_stay_on_disk_in_a_file_without_a_name(mapped_graph: Data) -> None:
    normalized = normalize_features(mapped_graph, "row")
    assert str(file_of(normalized.x)).endswith("(deleted)")
    assert file_of(normalize_features(Data(x=mapped_graph.x.clone()), "row").x) is None


def test_a_full_disk_is_said_in_one_sentence(mapped_graph: Data) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(InputError, match=r"0\.0 GB of temporary") as caught:
            normalize_features(mapped_graph, "row")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)


def dense_of(graph: Data) -> torch.Tensor:
    return graph.x.to_dense()


def forms(x: np.ndarray) -> dict[str, Data]:
    """The same features dense, as CSR and as other sparse tensors, whatever share of them is zero."""
    dense = torch.tensor(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that sparse tensors are in beta
        sparse = {"csr": dense.to_sparse_csr(), "coo": dense.to_sparse(), "csc": dense.to_sparse_csc()}
    return {name: Data(x=form, edge_index=EDGES) for name, form in {"dense": dense, **sparse}.items()}


tables = st.tuples(st.integers(2, 9), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=st.sampled_from([-3.5, -1, 0, 0, 0, 0.25, 0.1, 2, 40, 7]))
)


@given(tables)
def test_standard_columns_have_mean_zero_and_deviation_one(x: np.ndarray) -> None:
    wanted = np.zeros(x.shape)
    for j in range(x.shape[1]):
        column = x[:, j].astype(np.float64)
        if (column != column[0]).any():
            wanted[:, j] = (column - column.mean()) / np.sqrt(((column - column.mean()) ** 2).mean())
    for graph in forms(x).values():
        normalized = normalize_features(graph, "standard")
        assert normalized.x.layout == torch.strided
        assert normalized.x.dtype == torch.float32
        np.testing.assert_allclose(normalized.x.numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_a_constant_column_is_zero_although_its_mean_is_rounded() -> None:
    x = torch.full((1003, 2), 0.1, dtype=torch.float64)
    x[:, 1] = torch.arange(1003)
    normalized = normalize_features(Data(x=x), "standard").x
    assert not normalized[:, 0].any()
    assert abs(float(normalized[:, 1].std(unbiased=False)) - 1) < 1e-6


def test_a_large_mean_leaves_the_digits_of_a_small_deviation() -> None:
    x = torch.tensor([[4096.0], [4096.5], [4097.0]])
    wanted = torch.tensor([[-1.0], [0.0], [1.0]]) * 1.5**0.5
    torch.testing.assert_close(normalize_features(Data(x=x), "standard").x, wanted)


@given(tables)
def test_shifted_rows_are_what_torch_geometric_makes_of_them(x: np.ndarray) -> None:
    wanted = NormalizeFeatures()(Data(x=torch.tensor(x))).x
    for name, graph in forms(x).items():
        normalized = normalize_features(graph, "shifted-row")
        torch.testing.assert_close(dense_of(normalized), wanted, rtol=1e-6, atol=1e-7)
        if name != "dense":
            assert normalized.x.layout == (torch.sparse_csr if x.min() == 0 else torch.strided)
    assert torch.equal(normalize_features(forms(x)["dense"], "shifted-row").x, wanted), "to the bit"


def test_shifted_rows_of_small_sums_are_not_divided() -> None:
    x = torch.tensor([[0.25, 0.0], [3.0, 1.0]])
    assert normalize_features(Data(x=x), "shifted-row").x.tolist() == [[0.25, 0.0], [0.75, 0.25]]
    assert normalize_features(Data(x=x), "row").x.tolist() == [[1.0, 0.0], [0.75, 0.25]]


@pytest.mark.parametrize("how", ["row", "shifted-row", "standard", "none"])
def test_no_features_at_all_and_the_input_stay(how: FeatureNormalization) -> None:
    graph = build_graph(np.zeros((5, 40)), EDGES)
    assert not dense_of(normalize_features(graph, how)).any()
    x = torch.rand(5, 3, generator=torch.Generator().manual_seed(0)) - 0.5
    graph = Data(x=x.clone(), edge_index=EDGES, node_ids=list("abcde"))
    assert normalize_features(graph, how).node_ids == graph.node_ids
    assert torch.equal(graph.x, x)


def test_an_unknown_normalisation_is_said() -> None:
    with pytest.raises(InputError, match="did you mean 'row'"):
        normalize_features(Data(x=torch.eye(2)), "rows")  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["standard", "shifted-row"])
def test_mapped_features_are_normalised_on_disk(how: FeatureNormalization, mapped_graph: Data) -> None:
    before = mapped_graph.x.clone()
    normalized = normalize_features(mapped_graph, how)
    assert normalized.mapped_features is True
    assert torch.equal(normalized.x, normalize_features(Data(x=before), how).x)
    assert torch.equal(mapped_graph.x, before)
    if sys.platform == "linux":
        assert str(file_of(normalized.x)).endswith("(deleted)")


def test_noise_is_normal_of_the_deviation_asked_for() -> None:
    x = torch.full((400, 50), 3.0)
    noise = (add_noise(Data(x=x), 0.1, seed=0).x - x) / 0.1
    assert abs(float(noise.mean())) < 0.02
    assert abs(float(noise.std()) - 1) < 0.02
    assert abs(float((noise[:, :-1] * noise[:, 1:]).mean())) < 0.02, "one column says nothing of the next"
    assert float(noise.abs().max()) > 3


def test_noise_depends_on_the_seed_alone(mapped_graph: Data) -> None:
    x = mapped_graph.x.numpy().copy()
    noisy = {name: add_noise(graph, 0.5, seed=1).x for name, graph in forms(x).items()}
    mapped_noisy = add_noise(mapped_graph, 0.5, seed=1)
    assert mapped_noisy.mapped_features is True
    for one in (*noisy.values(), mapped_noisy.x):
        assert one.layout == torch.strided
        assert torch.equal(one, noisy["dense"])
    assert not torch.equal(noisy["dense"], add_noise(mapped_graph, 0.5, seed=2).x)
    torch.testing.assert_close(
        (add_noise(mapped_graph, 2.0, seed=1).x - mapped_graph.x) / 4, (noisy["dense"] - mapped_graph.x)
    )
    assert np.array_equal(mapped_graph.x.numpy(), x)


def test_no_noise_is_the_graph_itself_and_a_wrong_amount_is_said() -> None:
    graph = Data(x=torch.eye(3))
    assert add_noise(graph, 0.0, seed=0) is graph
    for epsilon in (-0.1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="number, 0 or more"):
            add_noise(graph, epsilon, seed=0)


def test_noise_leaves_the_global_generators_alone() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    add_noise(Data(x=torch.eye(3)), 0.1, seed=0)
    assert torch.equal(torch.get_rng_state(), before)
