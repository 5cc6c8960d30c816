"""Residual networks against their formulas written out, the published number of parameters, and images of all sizes."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from sfa import distributed
from sfa.errors import InputError
from sfa.nn import ResNet, resnet18, resnet18_imagenet, small, small_strided
from sfa.nn.image_encoder import CIFAR, IMAGENET, Stem
from sfa.nn.layers import BatchNorm2d
from sfa.seeding import seeded_initialization
from tests.processes import run_in_processes

STEMS = {"plain": Stem(), "strided": Stem(stride=2), "cifar": CIFAR, "imagenet": IMAGENET}
BLOCKS = {"one each": (1, 1, 1), "two each": (2, 2, 2, 2), "uneven": (1, 3)}


def random_images(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def perturbed(encoder: ResNet) -> ResNet:
    """With normalisations that are not the identity, and running statistics that are not those of a new module."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for norm in encoder.modules():
            if isinstance(norm, BatchNorm2d):
                for name in ("weight", "bias", "running_mean", "running_var"):
                    tensor = getattr(norm, name)
                    tensor.add_(torch.rand(tensor.shape, generator=generator))
    return encoder


def network(hidden: int = 4, channels: int = 3, blocks: tuple[int, ...] = (1, 1, 1), stem: Stem = CIFAR) -> ResNet:
    with seeded_initialization(0):
        return perturbed(ResNet(channels, hidden, blocks=blocks, stem=stem))


def normalized(x: Tensor, weights: dict[str, Tensor], name: str, training: bool) -> Tensor:
    """A channel at a time."""
    channels = []
    for c in range(x.shape[1]):
        values = x[:, c]
        if training:
            mean, variance = values.mean(), (values - values.mean()).square().mean()
        else:
            mean, variance = weights[f"{name}.running_mean"][c], weights[f"{name}.running_var"][c]
        scaled = (values - mean) / torch.sqrt(variance + 1e-5)
        channels.append(scaled * weights[f"{name}.weight"][c] + weights[f"{name}.bias"][c])
    return torch.stack(channels, 1)


def reference(
    weights: dict[str, Tensor], images: Tensor, blocks: tuple[int, ...], stem: Stem, training: bool
) -> Tensor:
    """He et al. (2016), section 3.3 and table 1, block by block from the weights alone."""

    def convolved(x: Tensor, name: str, stride: int, padding: int) -> Tensor:
        return functional.conv2d(x, weights[f"{name}.weight"], stride=stride, padding=padding)

    x = torch.stack([(images[:, c] - weights["mean"][c]) / weights["std"][c] for c in range(images.shape[1])], 1)
    x = normalized(convolved(x, "conv", stem.stride, stem.padding), weights, "norm", training).clamp(min=0)
    if stem.pool:
        x = functional.max_pool2d(x, 3, 2, 1)
    for stage, depth in enumerate(blocks):
        for block in range(depth):
            name = f"stages.{stage}.{block}"
            stride = 2 if stage > 0 and block == 0 else 1
            h = normalized(convolved(x, f"{name}.conv1", stride, 1), weights, f"{name}.norm1", training).clamp(min=0)
            h = normalized(convolved(h, f"{name}.conv2", 1, 1), weights, f"{name}.norm2", training)
            if stride == 2:
                x = normalized(convolved(x, f"{name}.shortcut.0", 2, 0), weights, f"{name}.shortcut.1", training)
            x = (h + x).clamp(min=0)
    return x.flatten(2).mean(2)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_values_and_gradients_are_those_of_the_paper(blocks: str, stem: str, training: bool) -> None:
    ours = network(3, blocks=BLOCKS[blocks], stem=STEMS[stem]).double().train(training)
    images = random_images(3, 3, 17, 14)
    weights = {name: tensor.detach().clone() for name, tensor in ours.state_dict().items()}
    names = [name for name, _ in ours.named_parameters()]
    for name in names:
        weights[name].requires_grad_()
    expected = reference(weights, images, BLOCKS[blocks], STEMS[stem], training)
    result = ours(images)
    torch.testing.assert_close(result, expected)
    direction = random_images(*result.shape, seed=1)
    found = torch.autograd.grad((result * direction).sum(), list(ours.parameters()))
    right = torch.autograd.grad((expected * direction).sum(), [weights[name] for name in names])
    for name, one, other in zip(names, found, right, strict=True):
        torch.testing.assert_close(one, other, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize(("stem", "count"), [(CIFAR, 11_168_832), (IMAGENET, 11_176_512)], ids=["cifar", "imagenet"])
def test_resnet_18_has_the_published_number_of_parameters(stem: Stem, count: int) -> None:
    encoder = ResNet(3, 64, blocks=(2, 2, 2, 2), stem=stem)
    assert sum(parameter.numel() for parameter in encoder.parameters()) == count
    assert encoder.width == 512


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 3), (8, 8), (1, 40), (33, 32), (224, 224)])
def test_images_of_all_sizes(height: int, width: int, stem: str) -> None:
    encoder = network(2, blocks=(1, 1, 1, 1), stem=STEMS[stem])
    images = random_images(2, 3, height, width, dtype=torch.float32)
    seen = []
    encoder.norm.register_forward_hook(lambda _, given, __: seen.append(given[0].shape))
    result = encoder(images)
    assert result.shape == (2, 16)
    assert encoder.largest_map(height, width) == math.prod(seen[0][1:])
    result.sum().backward()
    assert all(bool(p.grad is not None and p.grad.isfinite().all()) for p in encoder.parameters())


def test_cifar_images_are_padded_by_two_and_shrunk_thrice() -> None:
    encoder = network(2, blocks=(2, 2, 2, 2), stem=CIFAR)
    sizes = []
    for stage in encoder.stages:
        stage.register_forward_hook(lambda _, __, maps: sizes.append(tuple(maps.shape[1:])))
    encoder(random_images(2, 3, 32, 32, dtype=torch.float32))
    assert sizes == [(2, 34, 34), (4, 17, 17), (8, 9, 9), (16, 5, 5)]


def test_imagenet_images_are_shrunk_by_32() -> None:
    encoder = network(2, blocks=(2, 2, 2, 2), stem=IMAGENET)
    assert encoder.maps(random_images(2, 3, 224, 224, dtype=torch.float32)).shape == (2, 16, 7, 7)


def test_initial_weights_are_those_of_he_and_normalisations_the_identity() -> None:
    with seeded_initialization(0):
        encoder = ResNet(3, 32, blocks=(1, 2), stem=IMAGENET)
    convolutions = [module for module in encoder.modules() if isinstance(module, torch.nn.Conv2d)]
    assert len(convolutions) == 8
    for convolution in convolutions:
        spread = math.sqrt(2 / (convolution.out_channels * convolution.kernel_size[0] ** 2))
        torch.testing.assert_close(float(convolution.weight.detach().std()), spread, rtol=0.05, atol=0)
        assert abs(float(convolution.weight.detach().mean())) < 0.05 * spread
        assert convolution.bias is None
    norms = [module for module in encoder.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    assert len(norms) == 8
    assert all(isinstance(norm, BatchNorm2d) for norm in norms), "which can span processes"
    assert all(bool((norm.weight == 1).all() and (norm.bias == 0).all()) for norm in norms)


@pytest.mark.parametrize("training", [True, False])
def test_channels_stay_last(training: bool) -> None:
    encoder = network(4).train(training)
    assert all(w.is_contiguous(memory_format=torch.channels_last) for w in encoder.parameters() if w.dim() == 4)
    strides = []
    for module in encoder.modules():
        if isinstance(module, (torch.nn.Conv2d, BatchNorm2d)):
            module.register_forward_hook(
                lambda _, __, maps: strides.append(maps.is_contiguous(memory_format=torch.channels_last))
            )
    images = random_images(2, 3, 12, 12, dtype=torch.float32)
    first, last = encoder(images), encoder(images.contiguous(memory_format=torch.channels_last))
    assert strides == 2 * 18 * [True]
    torch.testing.assert_close(first, last)


def test_bfloat16_by_autocast() -> None:
    images = random_images(16, 3, 16, 16, dtype=torch.float32)
    plain, mixed = network(16), network(16)
    expected = plain(images)
    with torch.autocast("cpu", torch.bfloat16):
        result = mixed(images)
    assert result.dtype == torch.bfloat16
    error = (result.float() - expected).norm() / expected.norm()
    assert 0 < error < 0.03
    result.float().square().mean().backward()
    assert all(bool(p.grad is not None and p.grad.isfinite().all()) for p in mixed.parameters())
    for name, buffer in mixed.named_buffers():
        assert buffer.dtype == dict(plain.named_buffers())[name].dtype
        torch.testing.assert_close(buffer, dict(plain.named_buffers())[name], rtol=0.05, atol=0.05)


@pytest.mark.multiprocess
def test_float32_gradients_of_narrow_networks() -> None:
    """In a process of its own: oneDNN's strided convolution of 1 x 1 with channels last would overwrite its memory."""
    for hidden, error in run_in_processes(narrow_errors, 1)[0].items():
        assert error < 1e-3, hidden


def narrow_errors() -> dict[int, float]:
    """Relative errors of gradients in float32, against those in float64."""
    errors = {}
    for hidden in (1, 4, 8, 12):
        gradients = []
        for dtype in (torch.float32, torch.float64):
            encoder = network(hidden).to(dtype)
            for _ in range(3):
                encoder.zero_grad()
                encoder(random_images(4, 3, 56, 56).to(dtype)).square().sum().backward()
            gradients.append(torch.cat([p.grad.double().flatten() for p in encoder.parameters() if p.grad is not None]))
        errors[hidden] = float((gradients[0] - gradients[1]).norm() / gradients[1].norm())
    return errors


@pytest.mark.multiprocess
def test_the_images_of_two_processes_are_one_batch() -> None:
    images, direction = random_images(8, 3, 9, 9), random_images(8, 16, seed=1)
    sizes = [(5, 3), (2, 0, 6)]
    expected, gradients, state = outputs((8,), images, direction)
    for each in sizes:
        parts = run_in_processes(outputs, len(each), each, images, direction)
        torch.testing.assert_close(torch.cat([part[0] for part in parts]), expected)
        for name, gradient in gradients.items():
            torch.testing.assert_close(sum(part[1][name] for part in parts), gradient)
        for _, _, found in parts:
            for name, tensor in state.items():
                torch.testing.assert_close(found[name], tensor)


def outputs(
    sizes: tuple[int, ...], images: Tensor, direction: Tensor
) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    encoder = network(4).double()
    distributed.enable_cross_rank(encoder)
    own, weights = (whole.split(sizes)[distributed.rank()] for whole in (images, direction))
    result = encoder(own)
    (result * weights).sum().backward()
    gradients = {name: p.grad for name, p in encoder.named_parameters() if p.grad is not None}
    assert len(gradients) == len(list(encoder.parameters()))
    return result.detach(), gradients, encoder.state_dict()


@pytest.mark.parametrize(("hidden", "blocks"), [(0, (1,)), (4, ()), (4, (1, 0))], ids=str)
def test_impossible_shapes_are_refused(hidden: int, blocks: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="stages of 1 block"):
        ResNet(3, hidden, blocks=blocks)


Build = Callable[..., ResNet]


@pytest.mark.parametrize(
    ("build", "width", "side"), [(small, 4, 32), (small_strided, 4, 16), (resnet18, 8, 34), (resnet18_imagenet, 8, 16)]
)
@pytest.mark.parametrize("channels", [1, 3])
def test_widths_and_first_maps(build: Build, width: int, side: int, channels: int) -> None:
    encoder = build(channels, 2)
    assert encoder.width == 2 * width
    assert encoder.largest_map(32, 32) == 2 * side**2
    assert encoder(torch.rand(2, channels, 16, 16)).shape == (2, encoder.width)


def test_default_widths() -> None:
    assert [build(3).width for build in (small, small_strided, resnet18, resnet18_imagenet)] == [128, 128, 256, 256]


def test_a_small_one_has_a_block_in_each_of_three_stages() -> None:
    plain, strided = (dict(build(1, 8).named_parameters()) for build in (small, small_strided))
    assert {name: p.shape for name, p in plain.items()} == {name: p.shape for name, p in strided.items()}
    stem, first = 8 * 9 + 16, 2 * (8 * 8 * 9 + 16)
    second = 9 * (8 * 16 + 16 * 16) + 8 * 16 + 3 * 32
    third = 9 * (16 * 32 + 32 * 32) + 16 * 32 + 3 * 64
    assert sum(p.numel() for p in plain.values()) == stem + first + second + third


def test_no_channels_are_refused() -> None:
    with pytest.raises(InputError, match="1 channel or more"):
        small(0)
