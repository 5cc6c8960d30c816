"""Residual networks of basic blocks, at any width."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from sfa.errors import InputError
from sfa.nn.image_encoder import ImageEncoder
from sfa.nn.layers import BatchNorm2d
from sfa.ranges import Count
from sfa.registry import register


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
def small(in_channels: int, hidden: Count = 32) -> ResNet:
    """Build three stages of one block, for images of a few pixels, such as digits; ``4 * hidden`` wide.

    Args:
        hidden: Channels of the first stage.
    """
    return ResNet(in_channels, hidden, blocks=(1, 1, 1), stem=Stem())


@register("encoder", "small-strided")
def small_strided(in_channels: int, hidden: Count = 32) -> ResNet:
    """Build the encoder ``small`` with a stem of stride 2, for images of CIFAR's size without a GPU."""
    return ResNet(in_channels, hidden, blocks=(1, 1, 1), stem=Stem(stride=2))


@register("encoder", "resnet18")
def resnet18(in_channels: int, hidden: Count = 32) -> ResNet:
    """Build the ResNet-18 of the published CIFAR recipes, which have ``hidden=64``; ``8 * hidden`` wide."""
    return ResNet(in_channels, hidden, blocks=(2, 2, 2, 2), stem=CIFAR)


@register("encoder", "resnet18-imagenet")
def resnet18_imagenet(in_channels: int, hidden: Count = 32) -> ResNet:
    """Build the ResNet-18 of He et al. (2016), which has ``hidden=64``; ``8 * hidden`` wide."""
    return ResNet(in_channels, hidden, blocks=(2, 2, 2, 2), stem=IMAGENET)
