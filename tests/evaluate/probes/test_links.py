"""The probe of link prediction, against scikit-learn on products written out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from sfa.evaluate.protocols import link_prediction as links
from sfa.evaluate.protocols.link_prediction import Pairs, predict_links


@pytest.fixture
def parts() -> tuple[torch.Tensor, list[Pairs]]:
    """Embeddings, and pairs that are likelier edges the more alike their nodes are in the first two columns."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(80, 5, generator=generator, dtype=torch.float64)
    pairs = torch.stack([torch.randperm(80, generator=generator)[:2] for _ in range(500)], 1)
    alike = (z[pairs[0], :2] * z[pairs[1], :2]).sum(1)
    is_edge = alike + torch.randn(500, generator=generator) > 0.3
    return z, [Pairs(pairs[:, a:b], is_edge[a:b]) for a, b in ((0, 60), (60, 200), (200, 500))]


def test_is_scikit_learns_with_c_chosen_by_the_area_on_validation(
    parts: tuple[torch.Tensor, list[Pairs]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "ROWS_TOGETHER", 37)
    z, (train, validation, test) = parts
    cs = (10.0, 1e-3, 0.1)
    found, chosen, area = predict_links(z, train, validation, test.nodes, cs)
    unit = z.numpy() / np.linalg.norm(z.numpy(), axis=1, keepdims=True)

    def products(part: Pairs) -> np.ndarray:
        return np.array([5 * unit[u] * unit[v] for u, v in part.nodes.T.tolist()])

    fits = {
        c: LogisticRegression(C=c, tol=1e-10, max_iter=10_000).fit(products(train), train.is_edge.numpy()) for c in cs
    }
    areas = {
        c: roc_auc_score(validation.is_edge, fit.decision_function(products(validation))) for c, fit in fits.items()
    }
    best = max(cs, key=lambda c: areas[c])
    assert (chosen, area) == (best, pytest.approx(100 * areas[best]))
    expected = fits[best].decision_function(products(test))
    np.testing.assert_allclose(found + fits[best].intercept_, expected, rtol=2e-3, atol=2e-3)
    assert roc_auc_score(test.is_edge, found) > 0.7


def test_lengths_of_embeddings_do_not_matter(parts: tuple[torch.Tensor, list[Pairs]]) -> None:
    z, (train, validation, test) = parts
    scaled = z * torch.linspace(0.1, 10, 80).double()[:, None]
    a, b = (predict_links(rows, train, validation, test.nodes, (0.1, 1.0)) for rows in (z, scaled))
    assert a[1] == b[1]
    np.testing.assert_allclose(a[0], b[0], rtol=1e-6)
