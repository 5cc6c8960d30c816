"""Linear maps of rows and columns of pixels, with matrices of each image's own."""

from __future__ import annotations

from torch import Tensor


def resampled(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    r"""Every channel :math:`X` of an image becomes :math:`R X C^\top`.

    Whatever is linear and separable in the two directions (a crop with interpolation, a Gaussian blur) takes two
    batched matrix products so, with parameters of each image's own; they cost less than gathering neighbours does.

    Args:
        images: ``(B, C, H, W)``; no copy is made of memory format channels_last.
        rows: ``R``, ``(B, S, H)``.
        columns: ``C``, ``(B, T, W)``.

    Returns:
        ``(B, C, S, T)``, contiguous: a plane a channel, as operations on colours like it.
    """
    count, channels, height, width = images.shape
    pixels = images.permute(0, 2, 3, 1).reshape(count, height, width * channels)
    # Each product gives its result transposed, which brings the next direction into place without a copy.
    with_rows = pixels.mT @ rows.mT
    planes = with_rows.view(count, width, channels * rows.shape[1]).mT @ columns.mT
    return planes.view(count, channels, rows.shape[1], columns.shape[1])
