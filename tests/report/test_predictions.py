"""Predicted labels are those that the protocol scores, and the confusion matrix counts them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from sfa.evaluate import Classification
from sfa.evaluate.probes import AdamProbe, SgdProbe
from sfa.registry import resolve
from sfa.report.collect import PARTS, predict

NONE = PARTS.index(None)
QUICK = {"pygcl-10-80-10": AdamProbe(steps=60), "image-sgd": SgdProbe(epochs=5)}


def quick(name: str) -> Classification:
    protocol = resolve("protocol", name)
    assert isinstance(protocol, Classification)
    return replace(protocol, probe=QUICK.get(name, protocol.probe))


def noisy(y: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """Embeddings that hint at the labels, but not always."""
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.functional.one_hot(y.clamp_min(0), 4).float() + 0.6 * torch.randn(len(y), 4, generator=generator)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["honest-10-10-80", "knn", "grace-10-90", "pygcl-10-80-10"])
def test_accuracy_on_the_test_part_of_nodes_is_that_of_the_first_split(planted: Data, name: str) -> None:
    _assert_scored(planted, quick(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tu-svm-10fold", "tu-linear-10fold"])
def test_of_graphs(molecules: Data, name: str) -> None:
    _assert_scored(molecules, quick(name))


@pytest.mark.parametrize("name", ["image-linear", "image-knn", "image-sgd"])
def test_of_images(pictures: Data, name: str) -> None:
    _assert_scored(pictures, quick(name))


@pytest.mark.parametrize("name", ["honest-10-10-80", "tu-svm-10fold"])
def test_items_without_a_label_are_told_one(planted: Data, molecules: Data, name: str) -> None:
    data = planted if name.startswith("honest") else molecules
    z = noisy(data.y)
    unknown = torch.arange(len(data.y)) % 7 == 0
    data.y[unknown] = -1
    protocol = quick(name)
    found = _assert_scored(data, protocol, z)
    assert (found.labels >= 0).all()
    assert (found.part[unknown.numpy()] == NONE).all()
    assert (found.part[~unknown.numpy()] != NONE).all()
    wrong = z.clone()
    wrong[unknown] = -z[unknown]
    changed = predict(wrong, data, protocol).labels != found.labels
    assert changed.any(), "their own embeddings count"
    assert not changed[~unknown.numpy()].any(), "and are not learnt from"


def _assert_scored(data: Data, protocol: Classification, z: torch.Tensor | None = None):  # type: ignore[no-untyped-def]
    z = noisy(data.y) if z is None else z
    found = predict(z, data, protocol)
    split = protocol.draw(data)[0]
    score = protocol.evaluate(z, data)
    y = data.y.numpy()
    assert 20 < score.of()[0] < 100 or len(split.test) < 20, "something is right and something wrong"
    right = [found.labels[item] == y[item] for item in split.test]
    assert 100 * sum(right) / len(right) == pytest.approx(score.of()[0])
    parts = {0: split.train, 1: split.validation, 2: split.test}
    for item, part in enumerate(found.part):
        assert [number for number, items in parts.items() if item in items] == ([] if part == NONE else [part])
    return found
