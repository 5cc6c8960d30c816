"""PyGCL's probe, against torch's own modules and optimizer, one split after another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from sfa.evaluate.probes import AdamProbe, Prediction
from sfa.evaluate.probes import linear as adam
from sfa.evaluate.splits import Split, random_splits


def quiet() -> None:
    pass


def reference(probe: AdamProbe, z: torch.Tensor, y: np.ndarray, split: Split, number: int) -> Prediction:
    """The loop as one would write it with torch, from the same initial weights."""
    w, b = adam.initial_weights(z.shape[1], int(y.max()) + 1, [(probe.seed, number)])
    model = nn.Linear(z.shape[1], int(y.max()) + 1)
    with torch.no_grad():
        model.weight.copy_(w[0].mT)
        model.bias.copy_(b[0, 0])
    optimizer = torch.optim.Adam(model.parameters(), lr=probe.lr)
    best = Prediction(np.empty(0, np.int64), 0, -1.0)
    labels = torch.from_numpy(y)
    for step in range(1, probe.steps + 1):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(z[split.train]), labels[split.train]).backward()
        optimizer.step()
        if step % probe.every == 0:
            predicted = model(z).argmax(1).numpy()
            validation = 100 * float((predicted[split.validation] == y[split.validation]).mean())
            if validation > best.validation:
                best = Prediction(predicted[split.test], step, validation)
    return best


@pytest.mark.parametrize("bytes_", [2**28, 1])
def test_is_the_loop_with_torchs_adam(blobs: Callable[..., Data], bytes_: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven splits in two batches, or one by one."""
    monkeypatch.setattr(adam, "BATCH_BYTES", bytes_)
    graph, probe, told = blobs(150), AdamProbe(steps=100, every=10), []
    z, y = graph.x.float(), graph.y.numpy()
    splits = random_splits(y, train=0.1, validation=0.8, count=7)
    found = list(probe.predict(z, y, splits, lambda: told.append(1)))
    assert len(told) == 7
    expected = [reference(probe, z, y, split, number) for number, split in enumerate(splits)]
    assert [f.chosen for f in found] == [e.chosen for e in expected]
    assert len({f.chosen for f in found}) > 1, "splits choose for themselves"
    for f, e in zip(found, expected, strict=True):
        assert f.validation == pytest.approx(e.validation)
        assert np.array_equal(f.test, e.test)


def test_gradients_and_steps_are_adams_over_many_steps(blobs: Callable[..., Data]) -> None:
    graph = blobs(60)
    x, target = graph.x.view(2, 30, 6), nn.functional.one_hot(graph.y.view(2, 30), 3).double()
    generator = torch.Generator().manual_seed(0)
    w, b = torch.randn(2, 6, 3, generator=generator).double(), torch.randn(2, 1, 3, generator=generator).double()
    parameters = [t.clone().requires_grad_() for t in (w, b)]
    optimizer = torch.optim.Adam(parameters, lr=0.05)
    by_hand = torch.optim.Adam([w, b], lr=0.05)
    for _ in range(50):
        optimizer.zero_grad()
        scores = x @ parameters[0] + parameters[1]
        (-(target * scores.log_softmax(2)).sum((1, 2)) / 30).sum().backward()
        optimizer.step()
        w.grad, b.grad = adam.softmax_gradients(w, b, x, target)
        by_hand.step()
    torch.testing.assert_close(w, parameters[0].detach())
    torch.testing.assert_close(b, parameters[1].detach())


def test_initial_weights_are_xaviers_and_differ_between_splits() -> None:
    w, b = adam.initial_weights(400, 8, [(0, 0), (0, 1)])
    bound = (6 / 408) ** 0.5
    assert 0.98 * bound < float(w.max()) <= bound
    assert float(w.std()) == pytest.approx(bound / 3**0.5, rel=0.05)
    assert 0 < float(b.abs().max()) <= 0.05
    assert not torch.equal(w[0], w[1])
    assert torch.equal(adam.initial_weights(400, 8, [(0, 1)])[0][0], w[1])


def test_parts_of_different_sizes_and_labels_with_gaps(blobs: Callable[..., Data]) -> None:
    graph = blobs(120, noise=0.3)
    y = graph.y.numpy() * 4 + 1
    parts = np.split(np.random.default_rng(0).permutation(120), [20, 50, 80])
    splits = [Split(parts[0], parts[2], parts[3]), Split(parts[1], parts[2], parts[3])]
    for found in AdamProbe(steps=300).predict(graph.x.float(), y, splits, quiet):
        assert (found.test == y[parts[3]]).mean() > 0.8
        assert set(found.test) <= {1, 5, 9}
