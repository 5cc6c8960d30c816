"""What all encoders of images share: standardised channels, chunks, modes, odd input."""

from __future__ import annotations

import statistics
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.modes import evaluating
from sfa.nn import ImageEncoder, small
from sfa.nn import image_encoder as module
from sfa.nn.image_encoder import histograms, moments, to_float
from sfa.seeding import seeded_initialization
from tests.memory_maps import file_of


def pixels(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def trained_a_little(channels: int = 3) -> ImageEncoder:
    """An encoder whose running statistics are no longer those of a new module."""
    with seeded_initialization(0):
        encoder = small(channels, 4)
    encoder(to_float(pixels(20, 8, 8, channels, seed=1)))
    return encoder


class Plain(ImageEncoder):
    """A network that changes nothing: the embeddings are the means of the standardised channels."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, channels)
        self.chunks: list[int] = []

    def maps(self, images: Tensor) -> Tensor:
        assert images.is_contiguous(memory_format=torch.channels_last)
        self.chunks.append(len(images))
        return images

    def largest_map(self, height: int, width: int) -> int:
        return self.in_channels * height * width


def test_to_float_turns_the_axes_and_keeps_the_order_in_memory() -> None:
    x = pixels(2, 3, 5, 3)
    images = to_float(x)
    assert images.dtype == torch.float32
    assert images.is_contiguous(memory_format=torch.channels_last)
    for index in np.ndindex(2, 3, 5, 3):
        image, row, column, channel = index
        assert float(images[image, channel, row, column]) == pytest.approx(int(x[index]) / 255, rel=1e-6)
    whole = torch.arange(256, dtype=torch.uint8).view(1, 16, 16, 1)
    assert (float(to_float(whole).min()), float(to_float(whole).max())) == (0, 1)
    assert torch.equal(x, pixels(2, 3, 5, 3)), "nothing is done in place"


@pytest.mark.parametrize("x", [torch.ones(2, 3, 3, 1), torch.ones(2, 3, 3, dtype=torch.uint8)], ids=["float", "3-D"])
def test_what_are_no_pixels_are_refused(x: Tensor) -> None:
    message = r"must be a uint8 tensor \(n, height, width, channels\), not torch"
    with pytest.raises(InputError, match=message):
        to_float(x)
    with pytest.raises(InputError, match=message):
        Plain(1).embed(Data(x=x))
    with pytest.raises(InputError, match=message):
        Plain(1).setup(Data(x=x))


def test_channels_are_standardised_and_averaged() -> None:
    encoder, x = Plain(3), pixels(40, 6, 5, 3)
    images = to_float(x)
    torch.testing.assert_close(encoder(images), (images.mean((2, 3)) - 0.5) / 0.25)
    encoder.setup(Data(x=x))
    z = encoder(images)
    torch.testing.assert_close(z.mean(0), torch.zeros(3), rtol=0, atol=1e-6)
    torch.testing.assert_close(
        z[:, 1], (images[:, 1].mean((1, 2)) - images[:, 1].mean()) / images[:, 1].std(correction=0)
    )
    assert set(encoder.state_dict()) == {"mean", "std"}, "they are saved with the weights"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_images_take_the_dtype_of_the_weights(dtype: torch.dtype) -> None:
    encoder = trained_a_little().to(dtype)
    images = to_float(pixels(4, 8, 8, 3))
    assert encoder(images).dtype == encoder(images.double()).dtype == encoder.embed(Data(x=pixels(4, 8, 8, 3))).dtype
    assert encoder(images).dtype == dtype


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("channels", [1, 3])
def test_embeddings_do_not_depend_on_chunks_or_the_mode(channels: int, training: bool) -> None:
    encoder = trained_a_little(channels)
    x = pixels(23, 8, 8, channels)
    expected = encoder.eval()(to_float(x)).detach()
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    encoder.train(training)
    per_image = 3 * 4 * encoder.largest_map(8, 8)
    for budget in (1, 5 * per_image, 1 << 28):
        found = encoder.embed(Data(x=x), budget=budget)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
        assert not found.requires_grad
    assert encoder.training is training
    assert all(torch.equal(tensor, before[name]) for name, tensor in encoder.state_dict().items())


def test_chunks_keep_to_the_budget() -> None:
    encoder = Plain(3)
    for budget, chunks in ((3 * 4 * 3 * 64 * 5, [5, 5, 1]), (0, [1] * 11), (1 << 28, [11])):
        encoder.chunks.clear()
        encoder.embed(Data(x=pixels(11, 8, 8, 3)), budget=budget)
        assert encoder.chunks == chunks


def test_a_set_without_images_has_no_embeddings() -> None:
    assert trained_a_little().embed(Data(x=pixels(0, 8, 8, 3))).shape == (0, 16)


def test_every_part_gets_its_mode_back_even_after_an_error() -> None:
    encoder = trained_a_little()
    next(part for part in encoder.modules() if isinstance(part, nn.BatchNorm2d)).eval()
    modes = [part.training for part in encoder.modules()]
    assert len(set(modes)) == 2
    encoder.embed(Data(x=pixels(3, 8, 8, 3)))
    assert [part.training for part in encoder.modules()] == modes
    with evaluating(encoder):
        assert not any(part.training for part in encoder.modules())
    with pytest.raises(InputError, match="takes 3"):
        encoder.embed(Data(x=pixels(3, 8, 8, 1)))
    with pytest.raises(ZeroDivisionError), evaluating(encoder):
        raise ZeroDivisionError
    assert [part.training for part in encoder.modules()] == modes


def test_mapped_images(tmp_path: Path) -> None:
    x = pixels(30, 8, 8, 3)
    path = tmp_path / "x.npy"
    np.save(path, x.numpy())
    mapped = torch.from_numpy(np.load(path, mmap_mode="r+"))
    assert file_of(mapped) == str(path)
    data, in_memory = (Data(x=images, train_mask=torch.arange(30) < 20) for images in (mapped, x))
    one, other = trained_a_little(), trained_a_little()
    one.setup(data)
    other.setup(in_memory)
    assert torch.equal(one.mean, other.mean)
    assert torch.equal(one.std, other.std)
    assert torch.equal(one.embed(data, budget=1 << 16), other.embed(in_memory, budget=1 << 16))
    assert np.array_equal(np.load(path), x.numpy())


@pytest.mark.parametrize("chunk_bytes", [1, 500, 1 << 22])
@pytest.mark.parametrize("masked", [True, False])
def test_mean_and_spread_are_those_of_the_training_pixels(
    masked: bool, chunk_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HISTOGRAM_BYTES", chunk_bytes)
    x = pixels(25, 7, 6, 3)
    x[..., 1] //= 3
    data = Data(x=x)
    if masked:
        data.train_mask = torch.arange(25) % 3 == 1
    encoder = Plain(3)
    encoder.setup(data)
    seen = (x[data.train_mask] if masked else x).double() / 255
    for channel in range(3):
        values = seen[..., channel]
        assert float(encoder.mean[channel]) == pytest.approx(float(values.mean()), rel=1e-7)
        assert float(encoder.std[channel]) == pytest.approx(float(values.std(correction=0)), rel=1e-7)


@given(values=st.lists(st.integers(0, 255), min_size=1, max_size=30))
def test_moments_are_exact(values: list[int]) -> None:
    x = torch.tensor(values, dtype=torch.uint8).view(-1, 1, 1, 1)
    counts = histograms(x)
    assert counts.sum() == len(values)
    mean, std = moments(counts[0].tolist())
    fractions = [Fraction(value, 255) for value in values]
    assert mean == pytest.approx(float(statistics.mean(fractions)), rel=1e-15)
    assert std == pytest.approx(float(statistics.pstdev(fractions)) if len(set(values)) > 1 else 1, rel=1e-14)


def test_moments_of_many_pixels_do_not_cancel() -> None:
    """ImageNet's number of pixels, all white but one: float64 has no digits left for the difference of squares."""
    n = 2 * 10**11
    mean, std = moments([0] * 254 + [1, n - 1])
    assert mean == pytest.approx(1 - 1 / (255 * n), rel=1e-15)
    assert std == pytest.approx((1 / n * (1 - 1 / n)) ** 0.5 / 255, rel=1e-12)


def test_a_constant_channel_keeps_its_scale() -> None:
    x = pixels(9, 4, 4, 3)
    x[..., 2] = 51
    encoder = Plain(3)
    encoder.setup(Data(x=x))
    assert float(encoder.mean[2]) == pytest.approx(0.2)
    assert float(encoder.std[2]) == 1
    assert encoder.std[:2].max() < 0.5
    assert encoder.embed(Data(x=x)).isfinite().all()


def test_no_training_images_are_refused() -> None:
    encoder = Plain(3)
    for data in (Data(x=pixels(4, 2, 2, 3), train_mask=torch.zeros(4, dtype=torch.bool)), Data(x=pixels(0, 2, 2, 3))):
        with pytest.raises(InputError, match="no training images"):
            encoder.setup(data)
    assert torch.equal(encoder.mean, torch.full((3,), 0.5))


def test_another_number_of_channels_is_refused_and_both_are_named() -> None:
    encoder, grey = trained_a_little(3), Data(x=pixels(5, 8, 8, 1))
    for what in (encoder.embed, encoder.setup):
        with pytest.raises(InputError, match=r"have 1 channel\(s\), but"):
            what(grey)
    with pytest.raises(InputError, match=r"torch.float32 of shape \(5"):
        encoder(to_float(grey.x))


@pytest.mark.parametrize(
    "images", [torch.ones(2, 3, 8, 8, dtype=torch.uint8), torch.ones(3, 8, 8)], ids=["uint8", "3-D"]
)
def test_only_float_images_are_taken(images: Tensor) -> None:
    with pytest.raises(InputError, match="takes float images"):
        trained_a_little()(images)


def test_images_without_pixels_are_refused() -> None:
    with pytest.raises(InputError, match="1 pixel or more"):
        trained_a_little()(torch.ones(2, 3, 0, 8))
    with pytest.raises(InputError, match="1 pixel or more"):
        trained_a_little().embed(Data(x=pixels(2, 8, 0, 3)))


def test_one_image_can_be_embedded_but_not_trained_on() -> None:
    encoder = trained_a_little()
    with pytest.raises(InputError, match="1: take larger batches"):
        encoder(torch.rand(1, 3, 8, 8))
    assert encoder.embed(Data(x=pixels(1, 8, 8, 3))).shape == (1, 16)
