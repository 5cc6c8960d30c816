"""Operations on batches of images, each image with parameters of its own: crops, colors, blur.

Images are ``(B, C, H, W)`` in ``[0, 1]``, of three channels (red, green, blue) or one (gray), and are never changed in
place. Operations are those of Pillow and torchvision, without their rounding to 8 bits in between.
"""

import math

import torch
from torch import Tensor

TRIES = 10
ASPECTS = (3 / 4, 4 / 3)  # least and greatest width over height of a crop
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)  # the four parts of a jitter; an order is a permutation of them
LUMA = (0.299, 0.587, 0.114)  # weights of red, green and blue in a gray (ITU-R BT.601)


def crop_boxes(tries: Tensor, places: Tensor, size: tuple[int, int], scale: tuple[float, float]) -> Tensor:
    """Compute boxes ``(B, 4)`` int64, each ``(top, left, height, width)``, of crops of images of this size.

    As in torchvision's RandomResizedCrop: the area is uniform in ``scale`` of the image's, the aspect log-uniform in
    :data:`ASPECTS`; the first that fits of 10 ``tries`` ``(B, 2, 10)`` is taken, at ``places`` ``(B, 2)`` of top and
    left, all uniform in ``[0, 1)``. If none fits, it is the largest box in the middle whose aspect is allowed.
    """
    bounds = places.new_tensor(size)
    area = math.prod(size) * (scale[0] + (scale[1] - scale[0]) * tries[:, 0])
    aspect = ASPECTS[0] * (ASPECTS[1] / ASPECTS[0]) ** tries[:, 1]
    sides = torch.stack([(area / aspect).sqrt(), (area * aspect).sqrt()], 2).round()
    fits = ((sides >= 1) & (sides <= bounds)).all(2)
    first = fits.to(torch.uint8).argmax(1)[:, None, None].expand(-1, 1, 2)
    sides = sides.gather(1, first).squeeze(1)
    starts = (places * (bounds - sides + 1)).floor()

    height, width = size
    middle = bounds.new_tensor([min(height, round(width / ASPECTS[0])), min(width, round(height * ASPECTS[1]))])
    none_fits = ~fits.any(1, keepdim=True)
    sides = sides.where(~none_fits, middle)
    starts = starts.where(~none_fits, ((bounds - middle) / 2).floor())
    return torch.cat([starts, sides], 1).long()


def crop_images(images: Tensor, boxes: Tensor, flipped: Tensor) -> Tensor:
    """Enlarge the pieces in the boxes ``(B, 4)`` to the size of the images, mirrored where asked.

    The bicubic interpolation is Pillow's: Keys' cubic with a = -1/2; at the border of a box the weights of the pixels
    inside are scaled to sum 1. Values are clamped to ``[0, 1]``.
    """
    top, left, height, width = boxes.unbind(1)
    rows = _cubic(top, height, images.shape[2], torch.zeros_like(flipped), images.dtype)
    columns = _cubic(left, width, images.shape[3], flipped, images.dtype)
    return resample(images, rows, columns).clamp_(0, 1)


def _cubic(start: Tensor, length: Tensor, size: int, backwards: Tensor, dtype: torch.dtype) -> Tensor:
    """Compute weights ``(B, size, size)`` of a line's pixels for those of its piece, enlarged to that size."""
    start, length = (bound.to(dtype)[:, None] for bound in (start, length))
    pixels = torch.arange(size, dtype=dtype, device=start.device)
    goals = torch.where(backwards[:, None], size - 1 - pixels, pixels)
    centers = (goals + 0.5) * (length / size) - 0.5
    before = centers.floor()
    t = centers - before
    weights = torch.stack(
        [((1 - 0.5 * t) * t - 0.5) * t, (1.5 * t - 2.5) * t**2 + 1, ((2 - 1.5 * t) * t + 0.5) * t, (t - 1) * t**2 / 2],
        2,
    )
    neighbors = before[:, :, None] + torch.arange(-1, 3, dtype=dtype, device=start.device)
    weights = weights * ((neighbors >= 0) & (neighbors < length[:, :, None]))
    weights = weights / weights.sum(2, keepdim=True)
    places = (neighbors + start[:, :, None]).clamp_(0, size - 1).long()
    return weights.new_zeros(len(start), size, size).scatter_add_(2, places, weights)


def blur_images(images: Tensor, sigma: Tensor, reach: int) -> Tensor:
    """Convolve every channel with a Gaussian, with the border repeated beyond the image, as in Pillow.

    Standard deviations ``sigma`` ``(B,)`` are in pixels; ``reach`` pixels on each side of a pixel count for it, more
    than in SimCLR's code, whose kernel of 3 pixels for images of 32 makes all blurs from ``sigma`` 1 on alike.
    """
    steps = torch.arange(-reach, reach + 1, dtype=images.dtype, device=images.device)
    kernels = (-0.5 * (steps / sigma.to(images.dtype)[:, None]).square()).softmax(1)
    rows, columns = (_banded(kernels, size) for size in images.shape[2:])
    return resample(images, rows, columns).clamp_(0, 1)


def _banded(kernels: Tensor, size: int) -> Tensor:
    """Build the matrices ``(B, size, size)`` that convolve a line of pixels with kernels ``(B, 2 reach + 1)``."""
    width = kernels.shape[1]
    pixels = torch.arange(size, device=kernels.device)
    steps = torch.arange(width, device=kernels.device) - width // 2
    falls_on = (pixels + steps[:, None]).clamp_(0, size - 1)
    places = (falls_on[:, :, None] == pixels).to(kernels.dtype).view(width, size * size)
    return (kernels @ places).view(len(kernels), size, size)


def resample(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    r"""Turn every channel :math:`X` of an image into :math:`R X C^\top`, of rows ``(B, S, H)``, columns ``(B, T, W)``.

    Two batched matrix products cost less than gathering neighbors does, and copy no images in channels_last format.
    """
    count, channels, height, width = images.shape
    pixels = images.permute(0, 2, 3, 1).reshape(count, height, width * channels)
    # Each product gives its result transposed, which brings the next direction into place without a copy.
    with_rows = pixels.mT @ rows.mT
    planes = with_rows.view(count, width, channels * rows.shape[1]).mT @ columns.mT
    return planes.view(count, channels, rows.shape[1], columns.shape[1])


def luma(images: Tensor) -> Tensor:
    """Compute how bright each pixel is, ``(B, 1, H, W)``; of gray images, the images themselves."""
    if images.shape[1] == 1:
        return images
    red, green, blue = images.unbind(1)
    return (red * LUMA[0]).add_(green, alpha=LUMA[1]).add_(blue, alpha=LUMA[2]).unsqueeze(1)


def to_gray(images: Tensor) -> Tensor:
    return luma(images).expand_as(images)


def solarize(images: Tensor) -> Tensor:
    """Invert every value from 0.5 on."""
    return torch.minimum(images, 1 - images)


def jitter_colors(images: Tensor, factors: Tensor, orders: Tensor) -> Tensor:
    r"""Change brightness, contrast, saturation and hue one after the other, in each image's own order.

    The first three blend an image with another, :math:`x \leftarrow \mathrm{clamp}(f x + (1 - f) y)`, where :math:`y`
    is black for the brightness, the mean :func:`luma` of the image for the contrast and the luma of each pixel for the
    saturation. The hue is rotated by its factor, in turns. Gray images have neither saturation nor hue. ``factors`` are
    ``(B, 4)``, ``orders`` ``(B, 4)`` permutations of ``0 … 3``.
    """
    colored = images.shape[1] == 3
    idle = (orders == HUE) if colored else (orders >= SATURATION)
    own = factors.gather(1, orders).masked_fill(idle, 1)
    shares = (own, *((1 - own) * (orders == kind) for kind in (CONTRAST, SATURATION)))  # of image, mean and luma
    by_place = (share.T[:, :, None, None, None] for share in shares)  # (4, B, 1, 1, 1)
    images = images.clone()
    for kinds, of_image, of_mean, of_luma in zip(orders.unbind(1), *by_place, strict=True):
        gray = luma(images)
        mean = gray.mean((2, 3), keepdim=True)
        images.mul_(of_image).addcmul_(gray, of_luma).add_(mean * of_mean).clamp_(0, 1)
        rows = (kinds == HUE).nonzero().squeeze(1)
        if colored and len(rows):
            turned = rotate_hue(images.index_select(0, rows), factors[:, HUE].index_select(0, rows))
            images.index_copy_(0, rows, turned)
    return images


def rotate_hue(images: Tensor, turns: Tensor) -> Tensor:
    r"""Rotate the hue of every pixel by ``turns`` ``(B,)`` of the color circle; saturation and value (HSV) stay.

    With the greatest and least channel :math:`M` and :math:`m` of a pixel, and its new hue :math:`h \in [0, 6)`, red is
    :math:`m + (M - m)\,[|h - 3| - 1]_0^1`, green and blue alike with :math:`2 - |h - 2|` and :math:`2 - |h - 4|`: the
    conversion to HSV and back without its six cases.
    """
    red, green, blue = images.unbind(1)
    least = images.amin(1)
    chroma = images.amax(1).sub_(least)
    # In sixths of a turn the old hue is 3 ± (2 - q), minus where green exceeds blue, in all six sextants.
    q = (green + blue).sub_(red).sub_(least).div_(chroma.clamp_min(torch.finfo(images.dtype).tiny))
    hue = (2 - q).copysign_(blue - green).div_(6).add_(turns[:, None, None] + 0.5)
    hue = hue.sub_(hue.floor()).mul_(6)
    ramps = ((hue - 3).abs_().sub_(1), 2 - (hue - 2).abs_(), 2 - (hue - 4).abs_())
    return torch.stack([torch.addcmul(least, chroma, ramp.clamp_(0, 1)) for ramp in ramps], 1)
