"""Protocols: what they measure, and what their choices see."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from sfa.errors import InputError
from sfa.evaluation import PROTOCOLS, Protocol, resolve

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


def test_choices_never_see_test_labels() -> None:
    """Permuted test labels leave C and validation accuracy as they were, and change what is read at the end."""
    z, y = blobs()
    protocol = Protocol("one", "", splits=1)
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
