"""The base of image encoders: standardized channels, global average pooling, and sets embedded in chunks."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.modes import evaluating
from sfa.nn.layers import check_batch_size
from sfa.tasks import Task

BUDGET = 1 << 27  # bytes of feature maps that are held at a time while a set is embedded
HISTOGRAM_BYTES = 1 << 22  # bytes of images that are counted at a time


class ImageEncoder(nn.Module, ABC):
    """A convolutional network on standardized images, averaged over the places of its last feature map.

    Mean and standard deviation of each channel are buffers that :meth:`setup` takes from the training images of a set.
    """

    task: ClassVar[Task] = "image"
    mean: Tensor
    std: Tensor
    across_processes: bool = False  # whether the images of all processes are one batch: sfa.distributed

    def __init__(self, in_channels: int, width: int) -> None:
        super().__init__()
        if in_channels < 1:
            raise InputError(f"An encoder of images needs 1 channel or more, not {in_channels}.")
        self.in_channels, self.width = in_channels, width
        self.register_buffer("mean", torch.full((in_channels,), 0.5))
        self.register_buffer("std", torch.full((in_channels,), 0.25))

    @abstractmethod
    def maps(self, images: Tensor) -> Tensor:
        """Compute maps ``(B, width, h, w)`` of standardized images ``(B, C, H, W)`` in ``torch.channels_last``."""

    @abstractmethod
    def largest_map(self, height: int, width: int) -> int:
        """Return how many values the largest feature map of one image has; :meth:`embed` chooses its chunks by it."""

    def forward(self, images: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Compute embeddings ``(B, width)`` of float images ``(B, C, H, W)`` in [0, 1]."""
        if images.dim() != 4 or images.shape[1] != self.in_channels or not images.is_floating_point():
            given = f"{images.dtype} of shape {tuple(images.shape)}"
            raise InputError(f"The encoder takes float images (B, {self.in_channels}, height, width), not {given}.")
        self._check_size(*images.shape[1:])
        check_batch_size(self, len(images), "images in a batch")
        mean, std = self.mean[:, None, None], self.std[:, None, None]
        standardized = (images.to(mean.dtype) - mean) / std
        return self.maps(standardized.contiguous(memory_format=torch.channels_last)).mean(dim=(2, 3))

    @torch.no_grad()
    def embed(self, data: Data, *, budget: int = BUDGET) -> Tensor:
        """Compute the output in ``eval()`` for a set, which may lie on disk, in chunks."""
        check_pixels(data.x)
        n, height, width, channels = data.x.shape
        self._check_size(channels, height, width)
        # At the largest map a block holds its input, its output and the memory that the convolution works in.
        chunk = max(1, budget // (3 * self.mean.element_size() * self.largest_map(height, width)))
        z = self.mean.new_empty(n, self.width)
        with evaluating(self):
            for start in range(0, n, chunk):
                z[start : start + chunk] = self(to_float(data.x[start : start + chunk].to(z.device)))
        return z

    @torch.no_grad()
    def setup(self, data: Data) -> None:
        """Set ``mean`` and ``std`` by the images of ``train_mask``, or by all; a constant channel has ``std`` 1."""
        check_pixels(data.x)
        self._check_size(data.x.shape[3])
        counts = histograms(data.x, data.get("train_mask")).tolist()
        if not any(counts[0]):
            raise InputError("There are no training images, so the mean and spread of their channels are unknown.")
        for channel, count in enumerate(counts):
            self.mean[channel], self.std[channel] = moments(count)

    def _check_size(self, channels: int, height: int = 1, width: int = 1) -> None:
        if channels != self.in_channels:
            raise InputError(f"The images have {channels} channel(s), but the encoder takes {self.in_channels}.")
        if height < 1 or width < 1:
            raise InputError(f"Images must have 1 pixel or more, not {height} x {width}.")


def check_pixels(x: Tensor) -> None:
    """Raise unless ``x`` is ``(n, height, width, channels)`` of uint8, as image sets hold it."""
    if x.dim() != 4 or x.dtype != torch.uint8:
        given = f"{x.dtype} of shape {tuple(x.shape)}"
        raise InputError(f"Images must be a uint8 tensor (n, height, width, channels), not {given}.")


def to_float(x: Tensor) -> Tensor:
    """Convert images ``(B, H, W, C)`` of uint8 to ``(B, C, H, W)`` of float32 in [0, 1], ``torch.channels_last``."""
    check_pixels(x)
    return x.permute(0, 3, 1, 2).to(torch.float32).div_(255)


def histograms(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Count each value in each channel, ``(C, 256)``, of uint8 images ``(n, H, W, C)`` or of a mask, in chunks."""
    counts = torch.zeros(x.shape[3], 256, dtype=torch.int64)
    chunk = max(1, HISTOGRAM_BYTES // max(1, x[:1].numel()))
    for start in range(0, len(x), chunk):
        part = x[start : start + chunk]
        if mask is not None:
            part = part[mask[start : start + chunk].to(part.device)]
        for channel, count in enumerate(counts):
            count += torch.bincount(part[..., channel].flatten(), minlength=256).cpu()
    return counts


def moments(counts: list[int]) -> tuple[float, float]:
    """Compute mean and standard deviation, on the scale of [0, 1], of pixels from the count of each value."""
    n = sum(counts)
    total = sum(value * count for value, count in enumerate(counts))
    squares = sum(value * value * count for value, count in enumerate(counts))
    variance = n * squares - total * total  # times n²; whole numbers, so nothing cancels
    return total / n / 255, math.sqrt(variance) / n / 255 if variance else 1.0
