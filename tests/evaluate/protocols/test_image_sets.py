"""Images under the protocols that score them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import Classification, paired_difference
from sfa.evaluate.baselines import can_be_supervised
from sfa.evaluate.probes import KNNProbe, LogisticProbe, SgdProbe, WeightedKNNProbe
from sfa.evaluate.probes.base import best_labels
from sfa.evaluate.splits import HeldOutSplits
from sfa.matrices import unit_rows
from sfa.registry import registered, resolve

OF_IMAGES = ["image-linear", "image-sgd", "image-knn"]


def quick(name: str) -> Classification:
    protocol = resolve("protocol", name)
    assert isinstance(protocol, Classification)
    few = SgdProbe(lrs=(0.03, 0.3), epochs=10, batch_size=32)
    return replace(protocol, probe=few) if name == "image-sgd" else protocol


def test_settings_are_as_said() -> None:
    probes = (LogisticProbe(), SgdProbe(), WeightedKNNProbe(ks=(10, 20, 50, 100, 200), temperature=0.07))
    for name, probe in zip(OF_IMAGES, probes, strict=True):
        protocol = resolve("protocol", name)
        assert isinstance(protocol, Classification)
        assert (protocol.repeats, protocol.splits, protocol.probe) == (1, HeldOutSplits(validation=0.1), probe)
        assert protocol.needs == "labels"


@pytest.mark.parametrize("name", OF_IMAGES)
def test_good_embeddings_score_high_noise_scores_chance_and_test_images_alone_count(
    name: str, blob_images: Callable[..., Data]
) -> None:
    images, told = blob_images(600, test=200, noise=0.6), []
    score = quick(name).evaluate(images.z, images, name="mine", on_split=lambda: told.append(1))
    assert (score.name, score.protocol, list(score.values)) == ("mine", name, ["accuracy"])
    assert len(score.of()) == len(score.chosen) == len(score.validation["accuracy"]) == len(told) == 1
    assert score.mean() > 75
    noise = torch.from_numpy(np.random.default_rng(0).normal(size=(600, 4)))
    assert 22 < quick(name).evaluate(noise, images).mean() < 45
    wrong = images.clone()
    wrong.y[400:500] = (images.y[400:500] + 1) % 3
    again = quick(name).evaluate(images.z, wrong)
    assert (again.chosen, again.validation) == (score.chosen, score.validation)
    assert again.mean() < score.mean() - 25


@pytest.mark.parametrize("name", OF_IMAGES)
def test_top_5_is_there_for_more_than_5_classes(name: str, blob_images: Callable[..., Data]) -> None:
    assert list(quick(name).evaluate(blob_images(200, classes=5).z, blob_images(200, classes=5)).values) == ["accuracy"]
    images = blob_images(400, classes=9, test=100)
    score = quick(name).evaluate(images.z, images)
    assert list(score.values) == ["accuracy", "top-5"]
    assert score.main == "accuracy"
    assert score.mean() + 10 < score.mean("top-5") < 100
    protocol = quick(name)
    (split,) = protocol.draw(images)
    rows = unit_rows(images.z) if protocol.probe.unit_rows else images.z
    (found,) = protocol.probe.predict(rows, images.y.numpy(), [split], lambda: None)
    assert found.ranked is not None
    assert found.ranked.shape == (100, 5)
    assert found.ranked.dtype == np.int64
    assert np.array_equal(found.ranked[:, 0], found.test)
    hits = [label in ranked for ranked, label in zip(found.ranked.tolist(), images.y[split.test].tolist(), strict=True)]
    assert score.of("top-5") == pytest.approx((100 * sum(hits) / 100,))


def test_ranks_of_the_linear_probe_are_those_of_scikit_learns_scores(blob_images: Callable[..., Data]) -> None:
    images = blob_images(300, classes=8, test=100)
    z, y = unit_rows(images.z), images.y.numpy()
    (split,) = HeldOutSplits().of(images, 1)
    (found,) = LogisticProbe(cs=(1.0,)).predict(z, y, [split], lambda: None)
    fit = LogisticRegression(C=1.0, tol=1e-8, max_iter=10_000).fit(z[split.train], y[split.train])
    expected = fit.classes_[np.argsort(-fit.decision_function(z[split.test]), axis=1)[:, :5]]
    assert (found.ranked == expected).mean() > 0.99


def test_the_best_are_found_by_sorting_and_the_first_of_equals_comes_first() -> None:
    scores = torch.tensor([[0.0, 3.0, 1.0, 3.0, 2.0, -1.0, 2.0], [5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 6.0]])
    classes = torch.tensor([10, 20, 30, 40, 50, 60, 70])
    assert best_labels(scores, classes).tolist() == [[20, 40, 50, 70, 30], [70, 10, 20, 30, 40]]
    assert best_labels(scores[:, :3], classes).tolist() == [[20, 30, 10], [10, 20, 30]]


def test_a_probe_that_ranks_nothing_has_no_top_5(blob_images: Callable[..., Data]) -> None:
    images = blob_images(300, classes=9)
    plain = replace(quick("image-knn"), probe=KNNProbe(ks=(5,)))
    assert list(plain.evaluate(images.z, images).values) == ["accuracy"]


def test_nodes_have_no_top_5(blobs: Callable[..., Data]) -> None:
    """Their scores stay what they were, whatever the probe could say."""
    graph = blobs(600, classes=9)
    assert list(resolve("protocol", "honest-10-10-80").with_splits(1).evaluate(graph.x, graph).values) == ["accuracy"]


@pytest.mark.parametrize("name", OF_IMAGES)
def test_more_splits_validate_on_others_and_pair_between_embeddings(
    name: str, blob_images: Callable[..., Data]
) -> None:
    images, protocol = blob_images(200, test=80), quick(name).with_splits(3)
    first, second = protocol.evaluate(images.z, images), protocol.evaluate(images.z[:, :2], images)
    assert len(first.of()) == protocol.count(images) == 3
    assert len(set(first.validation["accuracy"])) > 1
    assert paired_difference(first, second).mean > 0
    assert quick(name).evaluate(images.z, images).of() == first.of()[:1]


def test_clusters_of_images_are_those_of_nodes(blobs: Callable[..., Data], blob_images: Callable[..., Data]) -> None:
    protocol, graph, images = resolve("protocol", "clustering").with_splits(2), blobs(150), blob_images(150, test=50)
    assert protocol.evaluate(images.z, images) == protocol.evaluate(graph.x, graph)


@pytest.mark.parametrize("name", [*OF_IMAGES, "clustering"])
def test_wrong_embeddings_are_named(name: str, blob_images: Callable[..., Data]) -> None:
    images = blob_images(100)
    with pytest.raises(InputError, match="scored against 100 images"):
        resolve("protocol", name).evaluate(images.z[:-1], images)
    images.y = images.y[:, None]
    with pytest.raises(InputError, match="100 images need as many labels"):
        resolve("protocol", name).check(images)


@pytest.mark.parametrize("name", OF_IMAGES)
def test_data_that_do_not_allow_it_are_refused_by_check_and_by_evaluate(
    name: str, blobs: Callable[..., Data], blob_images: Callable[..., Data]
) -> None:
    images = blob_images(100)
    images.y[images.y == 1] = -1
    images.y[0] = 1
    graph = blobs(100)
    for data, z, message in (
        (images, images.z, "Class 1 has 1 labeled image; a split needs at least 3"),
        (graph, graph.x, f"{name} scores images, and this is one graph."),
    ):
        with pytest.raises(InputError, match=message):
            resolve("protocol", name).check(data)
        with pytest.raises(InputError, match=message):
            resolve("protocol", name).evaluate(z, data)


def test_no_yardstick_is_trained_on_images(blob_images: Callable[..., Data]) -> None:
    assert not any(can_be_supervised(protocol, blob_images()) for protocol in registered("protocol").values())
