"""Protocols: what they measure, and what their choices see."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from sfa.data import load
from sfa.errors import InputError
from sfa.evaluation import PROTOCOLS, Protocol, resolve
from sfa.evaluation.protocols import _unit_rows
from sfa.graph.features import normalise_features
from sfa.recipes import load_recipe
from sfa.seeding import seeded_initialisation

HONEST = PROTOCOLS["honest-10-10-80"]


def blobs(n: int = 300, noise: float = 1.5, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return np.eye(3)[y] @ rng.normal(size=(3, 6)) + noise * rng.normal(size=(n, 6)), y


def test_the_honest_protocol_is_what_it_says() -> None:
    z, y = blobs()
    score = HONEST.evaluate(z, y)
    assert len(score.results) == 20
    for split in HONEST.draw(y):
        assert (len(split.train), len(split.validation), len(split.test)) == (30, 30, 240)


def test_equals_scikit_learn_with_c_chosen_on_validation() -> None:
    """The same fits done afresh, one by one, without warm starts."""
    z, y = blobs()
    rows = z / np.linalg.norm(z, axis=1, keepdims=True)
    protocol = Protocol("few", "", splits=4, cs=(0.01, 1.0, 100.0))
    for split, result in zip(protocol.draw(y), protocol.evaluate(z, y).results, strict=True):
        fits = [
            LogisticRegression(C=c, max_iter=5000, tol=1e-6).fit(rows[split.train], y[split.train]) for c in protocol.cs
        ]
        validation = [fit.score(rows[split.validation], y[split.validation]) for fit in fits]
        chosen = int(np.argmax(validation))
        assert result.c == protocol.cs[chosen]
        assert result.validation == pytest.approx(100 * validation[chosen])
        assert result.test == pytest.approx(100 * fits[chosen].score(rows[split.test], y[split.test]), abs=0.5)


@pytest.fixture(scope="module")
def cora_embeddings() -> dict[str, torch.Tensor]:
    cora = load("cora")
    with seeded_initialisation(0):
        untrained = load_recipe("paper/cora").build(cora.num_features)
    return {
        "raw features": cora.x,
        "untrained encoder": untrained.embed(normalise_features(cora, "row")),
        "labels": cora.y,
    }


@pytest.mark.parametrize("name", ["raw features", "untrained encoder"])
def test_both_solvers_score_cora_alike(name: str, cora_embeddings: dict[str, torch.Tensor]) -> None:
    """Within 0.1 point on each split, and with the same C: validation sees the same classifiers."""
    z, y = cora_embeddings[name], cora_embeddings["labels"]
    batched, reference = (
        replace(resolve(protocol), splits=2).evaluate(z, y)
        for protocol in ("honest-10-10-80", "honest-10-10-80-sklearn")
    )
    assert np.abs(batched.accuracies - reference.accuracies).max() <= 0.1
    assert [result.c for result in batched.results] == [result.c for result in reference.results]
    assert 55 < batched.mean < 80


@pytest.mark.parametrize("solver", ["batched", "scikit-learn"])
def test_of_equally_good_values_the_smallest_c_in_any_order_and_each_split_is_told(solver: str) -> None:
    _, y = blobs()
    told: list[int] = []
    protocol = Protocol("any", "", splits=3, cs=(100.0, 1.0, 10.0), solver=solver)  # type: ignore[arg-type]
    score = protocol.evaluate(np.eye(3)[y], y, on_split=lambda: told.append(1))
    assert [(result.test, result.validation, result.c) for result in score.results] == [(100.0, 100.0, 1.0)] * 3
    assert len(told) == 3


@pytest.mark.parametrize("solver", ["batched", "scikit-learn"])
def test_choices_never_see_test_labels(solver: str) -> None:
    """Permuted test labels leave C and validation accuracy as they were, and change what is read at the end."""
    z, y = blobs()
    protocol = Protocol("one", "", splits=1, solver=solver)  # type: ignore[arg-type]
    (split,) = protocol.draw(y)
    permuted = y.copy()
    permuted[split.test] = np.random.default_rng(1).permutation(y[split.test])
    before, after = protocol.evaluate(z, y).results[0], protocol.evaluate(z, permuted).results[0]
    assert (after.c, after.validation) == (before.c, before.validation)
    assert after.test < before.test - 10


def test_good_embeddings_score_high_and_noise_scores_chance() -> None:
    _, y = blobs(600)
    assert HONEST.evaluate(np.eye(3)[y], y).mean == pytest.approx(100)
    noise = np.random.default_rng(0).normal(size=(600, 4))
    assert 25 < HONEST.evaluate(noise, y).mean < 42


def test_row_lengths_do_not_matter_and_unlabelled_nodes_are_left_out() -> None:
    z, y = blobs()
    protocol = Protocol("two", "", splits=2)
    expected = protocol.evaluate(z, y).accuracies
    scaled = z * np.random.default_rng(0).uniform(0.1, 10, (len(z), 1))
    assert np.allclose(protocol.evaluate(scaled, y).accuracies, expected)
    more = np.vstack([z, np.full((50, z.shape[1]), 7.0)])
    labels = np.concatenate([y, np.full(50, -1)])
    assert np.array_equal(protocol.evaluate(more, labels).accuracies, expected)


def test_sparse_embeddings_are_what_they_are_dense() -> None:
    z, y = blobs()
    z = np.where(z > 0.5, z, 0)
    protocol = Protocol("two", "", splits=2, cs=(1.0,))
    expected = protocol.evaluate(z, y).accuracies
    dense = torch.from_numpy(z)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        forms = [sparse.csr_matrix(z), sparse.coo_array(z), dense.to_sparse(), dense.to_sparse_csr(), dense]
    for form in forms:
        assert np.array_equal(protocol.evaluate(form, y).accuracies, expected)
    bad = sparse.csr_matrix(np.where(z > 2, np.nan, z))
    with pytest.raises(InputError, match="finite matrix"):
        protocol.evaluate(bad, y)


def test_rows_of_length_one_keep_single_precision_and_zero_rows() -> None:
    z = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-30, 0.0], [1e30, 1e30]], requires_grad=True)
    rows = _unit_rows(z)
    assert rows.dtype == torch.float32
    assert not rows.requires_grad
    torch.testing.assert_close(rows, torch.tensor([[0.6, 0.8], [0, 0], [1, 0], [0.5**0.5, 0.5**0.5]]))
    assert _unit_rows(z.detach().numpy()).dtype == torch.float64


def test_unknown_solvers_are_named() -> None:
    z, y = blobs()
    with pytest.raises(InputError, match="did you mean 'scikit-learn'"):
        Protocol("odd", "", solver="scikitlearn").evaluate(z, y)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("z", "y", "message"),
    [
        (np.ones((4, 2)), None, "needs labels"),
        (np.ones((4, 2)), np.zeros(5), "4 embeddings cannot be scored against 5 labels"),
        (np.full((4, 2), np.nan), np.zeros(4), "finite matrix"),
        (np.ones(4), np.zeros(4), "finite matrix"),
    ],
)
def test_wrong_input_is_named(z: np.ndarray, y: np.ndarray | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        HONEST.evaluate(z, y)  # type: ignore[arg-type]


def test_unknown_protocol_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'honest-10-10-80'"):
        resolve("honest-10-80-10")
