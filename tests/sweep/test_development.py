"""The labels that a search may see, and that it sees no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import stochastic_block_model
from sfa.errors import InputError
from sfa.evaluate import Classification
from sfa.evaluate.inputs import labels_of
from sfa.registry import resolve
from sfa.sweep.development import development_part, hide_labels, unseen_protocol, validation_protocol


def protocol_of(name: str) -> Classification:
    protocol = resolve("protocol", name)
    assert isinstance(protocol, Classification)
    return protocol


@pytest.fixture
def blocks() -> Data:
    return stochastic_block_model(nodes=300, edges=900, features=20, classes=3, seed=0)


def scrambled(graph: Data, items: np.ndarray, seed: int) -> Data:
    """The labels of some items in another order."""
    y = labels_of(graph).copy()
    y[items] = np.random.default_rng(seed).permutation(y[items])
    other = graph.clone()
    other.y = torch.from_numpy(y)
    return other


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("honest-10-10-80", 0.2),
        ("honest-1-10-89", 0.11),
        ("pygcl-10-80-10", 0.2),
        ("grace-10-90", 0.2),
        ("bgrl-20-80", 0.4),
        ("tu-svm-10fold", 0.5),
    ],
)
def test_the_part_does_not_depend_on_other_labels(name: str, share: float, blocks: Data, molecules: Data) -> None:
    graph, protocol = molecules if name.startswith("tu") else blocks, protocol_of(name)
    seen = development_part(protocol, graph)
    count = len(labels_of(graph))
    assert len(seen) == pytest.approx(share * count, abs=1)
    others = np.setdiff1d(np.arange(count), seen)
    for seed in range(3):
        other = scrambled(graph, others, seed)
        assert (labels_of(other) != labels_of(graph)).any()
        assert np.array_equal(development_part(protocol, other), seen)


def test_parts_of_images_are_those_that_are_never_tested(pictures: Data) -> None:
    protocol = protocol_of("image-linear")
    assert np.array_equal(development_part(protocol, pictures), np.arange(45))
    assert unseen_protocol(protocol, pictures) is None, "no test image was seen"
    without = pictures.clone()
    del without.train_mask, without.test_mask
    seen = development_part(protocol, without)
    (split,) = protocol.draw(without)
    assert np.array_equal(seen, np.union1d(split.train, split.validation))
    assert unseen_protocol(protocol, without) is None


def test_public_masks(blocks: Data) -> None:
    order = np.random.default_rng(0).permutation(300)
    for name, part in zip(("train_mask", "val_mask", "test_mask"), np.split(order[:250], [60, 130]), strict=True):
        blocks[name] = torch.from_numpy(np.isin(np.arange(300), part))
    protocol = protocol_of("public")
    assert set(development_part(protocol, blocks)) == set(order[:130]), "neither tested nor left out"
    validates = validation_protocol(protocol, blocks)
    hidden = hide_labels(blocks, development_part(protocol, blocks))
    assert [len(split.train) for split in validates.draw(hidden)] == pytest.approx([60] * 10, abs=2)


def test_hidden_labels(blocks: Data) -> None:
    seen = np.array([1, 5, 7])
    hidden = hide_labels(blocks, seen)
    assert np.array_equal(np.flatnonzero(labels_of(hidden) >= 0), seen)
    assert np.array_equal(labels_of(hidden)[seen], labels_of(blocks)[seen])
    assert (labels_of(blocks) >= 0).all(), "the data themselves keep theirs"
    assert hidden.x is blocks.x


FEW = ["honest-1-10-89", "few-5"]


@pytest.mark.parametrize("name", ["honest-10-10-80", *FEW, "grace-10-90", "tu-svm-10fold", "image-linear"])
def test_validation_stays_within_the_part(name: str, blocks: Data, molecules: Data, pictures: Data) -> None:
    graph = {"tu-svm-10fold": molecules, "image-linear": pictures}.get(name, blocks)
    protocol = protocol_of(name)
    seen = development_part(protocol, graph)
    validates = validation_protocol(protocol, graph)
    hidden = hide_labels(graph, seen)
    validates.check(hidden)
    y = labels_of(graph)
    for split in validates.draw(hidden):
        used = np.concatenate([split.train, split.test])
        assert np.array_equal(np.sort(used), seen), "all of it, in two parts"
        assert set(y[split.train]) == set(y[split.test]) == set(y)
        assert len(split.validation) == 0 or np.array_equal(split.validation, split.test)
    firsts = [split.test for split in validates.draw(hidden)]
    assert len({tuple(part) for part in firsts}) == len(firsts), "each split is another"


def test_few_labels_of_every_class_are_all_that_is_seen(blocks: Data) -> None:
    protocol, y = protocol_of("few-5"), labels_of(blocks)
    seen = development_part(protocol, blocks)
    assert np.bincount(y[seen]).tolist() == [10, 10, 10]
    assert np.array_equal(development_part(protocol, blocks), seen)
    hidden = hide_labels(blocks, seen)
    for split in validation_protocol(protocol, blocks).draw(hidden):
        assert np.bincount(y[split.train]).tolist() == np.bincount(y[split.validation]).tolist() == [5, 5, 5]


def test_where_few_train_a_tenth_validates(blocks: Data) -> None:
    expected = {"honest-1-10-89": (3, 30), "honest-10-10-80": (30, 30), "pygcl-10-80-10": (30, 30)}
    for name, sizes in expected.items():
        protocol = protocol_of(name)
        hidden = hide_labels(blocks, development_part(protocol, blocks))
        drawn = validation_protocol(protocol, blocks).draw(hidden)
        found = [(len(split.train), len(split.validation)) for split in drawn]
        assert found == [pytest.approx(sizes, abs=1.5)] * 10, "every class rounds its own"


def test_few_labels_leave_enough_to_test(blocks: Data) -> None:
    blocks.y = torch.from_numpy(np.where(np.arange(300) < 39, np.arange(300) % 3, -1))
    with pytest.raises(InputError, match="needs 10 labeled nodes"):
        development_part(protocol_of("few-5"), blocks)
    blocks.y = torch.from_numpy(np.where(np.arange(300) < 40, np.arange(300) % 4, -1))
    with pytest.raises(InputError, match="has 10 labeled nodes"):
        development_part(protocol_of("few-5"), blocks)


def test_validation_is_what_the_probe_chose_by(blocks: Data) -> None:
    protocol = protocol_of("honest-10-10-80")
    hidden = hide_labels(blocks, development_part(protocol, blocks))
    score = validation_protocol(protocol, hidden).evaluate(blocks.x, hidden)
    assert len(score.of()) == 10
    assert score.of() == pytest.approx(score.validation["accuracy"])


@pytest.mark.parametrize("name", ["honest-10-10-80", *FEW])
def test_what_no_choice_has_seen(name: str, blocks: Data) -> None:
    protocol = protocol_of(name)
    seen, unseen = development_part(protocol, blocks), unseen_protocol(protocol, blocks)
    assert unseen is not None
    for ours, whole in zip(unseen.draw(blocks), protocol.draw(blocks), strict=True):
        assert np.array_equal(ours.train, whole.train)
        assert np.array_equal(ours.validation, whole.validation)
        assert set(ours.test) == set(whole.test) - set(seen)
    assert unseen.digest(blocks) != protocol.digest(blocks)


def test_a_rare_class_makes_it_larger(blocks: Data) -> None:
    y = np.arange(300) % 2
    y[[3, 70, 130, 180, 240, 290]] = 2
    blocks.y = torch.from_numpy(y)
    protocol = protocol_of("bgrl-20-80")
    with pytest.raises(InputError, match="7 labeled nodes of every class"):
        development_part(protocol, blocks)
    protocol = protocol_of("honest-10-10-80")
    sizes = set()
    for shift in range(0, 300, 60):
        blocks.y = torch.from_numpy(np.roll(y, shift))
        seen = development_part(protocol, blocks)
        assert (labels_of(blocks)[seen] == 2).sum() >= 2
        other = scrambled(blocks, np.setdiff1d(np.arange(300), seen), shift)
        assert np.array_equal(development_part(protocol, other), seen)
        sizes.add(len(seen))
    assert max(sizes) > 60, "a fifth was not enough"


def test_a_class_that_is_too_rare(blocks: Data) -> None:
    y = np.zeros(300, dtype=np.int64)
    y[:3] = 1
    blocks.y = torch.from_numpy(y)
    with pytest.raises(InputError, match="a class is too rare"):
        development_part(protocol_of("bgrl-20-80"), blocks)
    few = hide_labels(blocks, np.array([0, 3, 4]))
    with pytest.raises(InputError, match="Class 1 has 1"):
        replace(validation_protocol(protocol_of("honest-10-10-80"), blocks)).draw(few)
    with pytest.raises(InputError, match="2 classes"):
        validation_protocol(protocol_of("honest-10-10-80"), blocks).draw(hide_labels(blocks, np.array([3, 4])))
