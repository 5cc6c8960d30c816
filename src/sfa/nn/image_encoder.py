"""Encoders of images: standardized channels, residual networks at any width, and sets embedded in chunks."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.modes import evaluating
from sfa.nn.layers import BatchNorm2d, check_batch_size
from sfa.ranges import Width
from sfa.registry import register
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
    if not isinstance(x, Tensor) or x.dim() != 4 or x.dtype != torch.uint8:
        given = f"{x.dtype} of shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
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


class Stem(NamedTuple):
    """The first convolution, and whether max-pooling over 3 x 3 places with stride 2 follows it."""

    kernel: int = 3
    stride: int = 1
    padding: int = 1
    pool: bool = False


CIFAR = Stem(padding=2)  # that of solo-learn's recipes (da Costa et al., 2022), for maps of 34 x 34 from 32 x 32 pixels
IMAGENET = Stem(kernel=7, stride=2, padding=3, pool=True)  # that of He et al. (2016)


class ResNet(ImageEncoder):
    r"""Stages of basic blocks, each stage half as large and twice as wide as the one before.

    From `"Deep Residual Learning for Image Recognition" <https://arxiv.org/abs/1512.03385>`_ (He et al., 2016).

    A block is :math:`\mathrm{ReLU}( \mathrm{BN}(W_2 * \mathrm{ReLU}(\mathrm{BN}(W_1 * x))) + s(x) )` with convolutions
    of 3 x 3 without bias, and a shortcut :math:`s` that is BN after a convolution of 1 x 1 where dimensions change.

    Args:
        hidden: Channels of the first stage, 64 as published; embeddings are ``hidden * 2 ** (len(blocks) - 1)`` wide.
        blocks: Number of blocks of each stage; ResNet-18 has (2, 2, 2, 2).
        stem: The layers before the first stage.
    """

    def __init__(
        self, in_channels: int, hidden: int = 64, *, blocks: tuple[int, ...] = (2, 2, 2, 2), stem: Stem = CIFAR
    ) -> None:
        if hidden < 1 or not blocks or min(blocks) < 1:
            raise InputError(f"A ResNet needs hidden ≥ 1 and stages of 1 block or more, not {hidden} and {blocks}.")
        super().__init__(in_channels, hidden * 2 ** (len(blocks) - 1))
        self.hidden, self.stem = hidden, stem
        self.conv = nn.Conv2d(in_channels, hidden, stem.kernel, stem.stride, stem.padding, bias=False)
        self.norm = BatchNorm2d(hidden)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1) if stem.pool else nn.Identity()
        stages, channels = [], hidden
        for stage, depth in enumerate(blocks):
            width = hidden * 2**stage
            first = BasicBlock(channels, width, stride=1 if stage == 0 else 2)
            stages.append(nn.Sequential(first, *(BasicBlock(width, width) for _ in range(depth - 1))))
            channels = width
        self.stages = nn.Sequential(*stages)
        self.reset_parameters()
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def reset_parameters(self) -> None:
        """Draw new weights; the normalizations become the identity and forget their running statistics."""
        for module in self.modules():
            if isinstance(module, BatchNorm2d):
                module.reset_parameters()
            elif isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def maps(self, images: Tensor) -> Tensor:
        return self.stages(self.pool(self.norm(self.conv(images)).relu_()))  # type: ignore[no-any-return]

    def largest_map(self, height: int, width: int) -> int:
        kernel, stride, padding, _ = self.stem
        rows, columns = ((side + 2 * padding - kernel) // stride + 1 for side in (height, width))
        return self.hidden * rows * columns


class BasicBlock(nn.Module):
    def __init__(self, in_channels: int, channels: int, *, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, padding=1, bias=False)
        self.norm1 = BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = BatchNorm2d(channels)
        self.stride = stride
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != channels:
            self.shortcut = nn.Sequential(nn.Conv2d(in_channels, channels, 1, bias=False), BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        # In place, which is safe: the output of batch normalization is not kept for its backward.
        h = self.norm1(self.conv1(x)).relu_()
        # A convolution of 1 x 1 with a stride, by slicing: of few channels oneDNN writes past its memory in the
        # backward of one that has the stride itself (https://github.com/uxlfoundation/oneDNN/issues/6035).
        shortcut = self.shortcut(x[..., :: self.stride, :: self.stride])
        return self.norm2(self.conv2(h)).add_(shortcut).relu_()  # type: ignore[no-any-return]


@register("encoder", "small")
def small(in_channels: int, hidden: Width = 32) -> ResNet:
    """Build three stages of one block, for images of a few pixels, such as digits; ``4 * hidden`` wide.

    Args:
        hidden: Channels of the first stage.
    """
    return ResNet(in_channels, hidden, blocks=(1, 1, 1), stem=Stem())


@register("encoder", "small-strided")
def small_strided(in_channels: int, hidden: Width = 32) -> ResNet:
    """Build the encoder ``small`` with a stem of stride 2, for images of CIFAR's size without a GPU."""
    return ResNet(in_channels, hidden, blocks=(1, 1, 1), stem=Stem(stride=2))


@register("encoder", "resnet18")
def resnet18(in_channels: int, hidden: Width = 32) -> ResNet:
    """Build the ResNet-18 of the published CIFAR recipes, which have ``hidden=64``; ``8 * hidden`` wide."""
    return ResNet(in_channels, hidden, blocks=(2, 2, 2, 2), stem=CIFAR)


@register("encoder", "resnet18-imagenet")
def resnet18_imagenet(in_channels: int, hidden: Width = 32) -> ResNet:
    """Build the ResNet-18 of He et al. (2016), which has ``hidden=64``; ``8 * hidden`` wide."""
    return ResNet(in_channels, hidden, blocks=(2, 2, 2, 2), stem=IMAGENET)
