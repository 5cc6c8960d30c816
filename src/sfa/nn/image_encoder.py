"""What encoders of images share: standardised channels, global average pooling, and sets embedded in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa import distributed as processes
from sfa.errors import InputError
from sfa.image.channels import histograms, moments
from sfa.image.pixels import check_pixels, to_float
from sfa.levels import Level
from sfa.modes import evaluating

BUDGET = 1 << 27
"""Bytes of feature maps that :meth:`ImageEncoder.embed` may hold at a time."""


class ImageEncoder(nn.Module, ABC):
    r"""A convolutional network on images whose channels are standardised, averaged over the places of its last map.

    .. math::
        z = \frac{1}{h w} \sum_{p} f\Big(\frac{x - \mu}{\sigma}\Big)_p

    with the mean :math:`\mu` and standard deviation :math:`\sigma` of each channel in buffers, which :meth:`setup`
    takes from the training images of a set. Subclasses say what :meth:`maps` are.

    Args:
        in_channels: Channels of an image.
        width: Width of the embeddings.
    """

    level: ClassVar[Level] = "image"

    mean: Tensor
    std: Tensor
    across_processes: bool = False
    """Whether the images of all processes are one batch; :func:`sfa.distributed.enable_cross_rank` sets it."""

    def __init__(self, in_channels: int, width: int) -> None:
        super().__init__()
        if in_channels < 1:
            raise InputError(f"An encoder of images needs 1 channel or more, not {in_channels}.")
        self.in_channels = in_channels
        self.width = width
        """Of the embeddings."""
        self.register_buffer("mean", torch.full((in_channels,), 0.5))
        self.register_buffer("std", torch.full((in_channels,), 0.25))

    @abstractmethod
    def maps(self, images: Tensor) -> Tensor:
        """Feature maps ``(B, width, h, w)`` of standardised images ``(B, C, H, W)`` in ``torch.channels_last``."""

    @abstractmethod
    def largest_map(self, height: int, width: int) -> int:
        """How many values the largest feature map of one image has, by which :meth:`embed` chooses its chunks."""

    def forward(self, images: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Embeddings ``(B, width)`` of float images ``(B, C, H, W)`` in [0, 1]."""
        self._check(images)
        mean, std = self.mean[:, None, None], self.std[:, None, None]
        standardised = (images.to(mean.dtype) - mean) / std
        return self.maps(standardised.contiguous(memory_format=torch.channels_last)).mean(dim=(2, 3))

    @torch.no_grad()
    def embed(self, data: Data, *, budget: int = BUDGET) -> Tensor:
        """What :meth:`forward` gives in ``eval()`` for the images of a set, ``(n, width)``, on the weights' device.

        So many images are taken at a time as have some ``budget`` bytes of feature maps; the set may lie on disk.
        """
        self._check_set(data)
        n, height, width, _ = data.x.shape
        # At the largest map a block holds what it was given, what it makes and what the convolution works in.
        chunk = max(1, budget // (3 * self.mean.element_size() * self.largest_map(height, width)))
        z = self.mean.new_empty(n, self.width)
        with evaluating(self):
            for start in range(0, n, chunk):
                z[start : start + chunk] = self(to_float(data.x[start : start + chunk].to(z.device)))
        return z

    @torch.no_grad()
    def setup(self, data: Data) -> None:
        """Set ``mean`` and ``std`` from all pixels of the images of ``train_mask``, or of all if there is none.

        They are exact, from counts of the 256 values; a channel that has one value alone keeps its scale (std 1).
        """
        self._check_set(data)
        counts = histograms(data.x, data.get("train_mask")).tolist()
        if not any(counts[0]):
            raise InputError("There are no training images, so the mean and spread of their channels are unknown.")
        for channel, count in enumerate(counts):
            self.mean[channel], self.std[channel] = moments(count)

    def _check(self, images: Tensor) -> None:
        if images.dim() != 4 or images.shape[1] != self.in_channels or not images.is_floating_point():
            raise InputError(
                f"The encoder takes float images (B, {self.in_channels}, height, width) with {self.in_channels} "
                f"channel(s), not {images.dtype} of shape {tuple(images.shape)}."
            )
        check_size(images.shape[2], images.shape[3])
        alone = not (self.across_processes and distributed.world_size() > 1)
        if self.training and alone and len(images) < 2:
            raise InputError(
                f"Batch normalisation needs 2 or more images in a batch to train on, not {len(images)}: "
                "take larger batches."
            )

    def _check_set(self, data: Data) -> None:
        check_pixels(data.x)
        check_size(data.x.shape[1], data.x.shape[2])
        if data.x.shape[3] != self.in_channels:
            raise InputError(f"The images have {data.x.shape[3]} channel(s), but the encoder takes {self.in_channels}.")


def check_size(height: int, width: int) -> None:
    """Images have pixels."""
    if height < 1 or width < 1:
        raise InputError(f"Images must have 1 pixel or more, not {height} x {width}.")
