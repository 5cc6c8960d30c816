"""Batches of images, cut out of a set."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.levels import item_word, level_of, num_items
from sfa.sampling import Images
from sfa.train import train


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_batch_is_some_images_with_their_labels(pictures: Data) -> None:
    batch = Images(pictures).batch(torch.tensor([7, 3]), seeded())
    assert torch.equal(batch.x, pictures.x[[7, 3]])
    assert batch.y.tolist() == pictures.y[[7, 3]].tolist()
    assert batch.images.tolist() == [7, 3]
    assert (level_of(batch), num_items(batch), item_word(batch)) == ("image", 2, "images")


def test_images_outside_of_the_training_part_are_never_seen(pictures: Data) -> None:
    pictures.train_mask = torch.arange(60) % 2 == 1
    sampler = Images(pictures, batch_size=7)
    seen = [int(image) for seeds in sampler.plan(seeded()) for image in sampler.batch(seeds, seeded()).images]
    assert sorted(seen) == list(range(1, 60, 2))


def test_without_parts_every_image_is_seen_once(pictures: Data) -> None:
    del pictures.train_mask, pictures.y
    sampler = Images(pictures, batch_size=16)
    batches = [sampler.batch(seeds, seeded()) for seeds in sampler.plan(seeded(1))]
    assert [len(batch.x) for batch in batches] == [15, 15, 15, 15]
    assert sorted(torch.cat([batch.images for batch in batches]).tolist()) == list(range(60))
    assert all("y" not in batch for batch in batches)


def test_other_data_and_single_images_are_refused(pictures: Data, planted: Data) -> None:
    with pytest.raises(InputError, match="needs a set of images"):
        Images(planted)
    pictures.train_mask = torch.arange(60) == 4
    with pytest.raises(InputError, match="At least 2 images are needed to learn from; there are 1"):
        Images(pictures)
    pictures.train_mask = torch.arange(60) < 45
    sampler = Images(pictures)
    with pytest.raises(InputError, match="Seeds are images from 0 to 44, not 45"):
        sampler.batch(torch.tensor([45]), seeded())


def test_training_without_a_sampler_takes_images_in_batches(pictures: Data) -> None:
    sizes = []

    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(()))

        def forward(self, batch: Data, generator: torch.Generator) -> torch.Tensor:
            sizes.append(len(batch.x))
            return self.weight.square()

    train(Counts(), pictures, epochs=1, device="cpu")
    assert sizes == [45]
