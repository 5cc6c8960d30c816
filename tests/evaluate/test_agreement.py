"""Agreement of clusters and classes, against scikit-learn and against all assignments."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from sfa.evaluate.agreement import adjusted_rand_index, assignment_accuracy, contingency, normalised_mutual_information


@settings(max_examples=60)
@given(n=st.integers(2, 40), clusters=st.integers(1, 5), classes=st.integers(1, 5), seed=st.integers(0, 999))
def test_as_scikit_learn_and_the_best_of_all_assignments(n: int, clusters: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    found, y = rng.integers(0, clusters, n), rng.integers(0, classes, n)
    counts = contingency(found, y)
    assert counts.sum() == n
    assert normalised_mutual_information(counts) == pytest.approx(normalized_mutual_info_score(y, found), abs=1e-12)
    assert adjusted_rand_index(counts) == pytest.approx(adjusted_rand_score(y, found))
    best = max(
        sum(int(label == name[cluster]) for cluster, label in zip(found, y, strict=True))
        for name in permutations(range(5))
    )
    assert assignment_accuracy(counts) == pytest.approx(best / n)


def test_names_of_clusters_do_not_matter() -> None:
    y = np.array([0, 0, 1, 1, 2, 2])
    counts = contingency(np.array([7, 7, 3, 3, 5, 5]), y)
    assert normalised_mutual_information(counts) == adjusted_rand_index(counts) == assignment_accuracy(counts) == 1
