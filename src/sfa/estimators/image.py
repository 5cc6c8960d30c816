"""Embeddings of images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data import as_images
from sfa.errors import InputError
from sfa.estimators.base import Embedder
from sfa.levels import Level
from sfa.methods import Method


class ImageEmbedder(Embedder):
    """Embeddings of images, learnt without labels.

    Images are uint8 arrays or tensors ``(n, height, width)`` or ``(n, height, width, channels)`` with 1 or 3 channels,
    a list of Pillow images or arrays of one size, the name or path of a data set, or what :func:`sfa.data.load` gives.
    Of a set with parts of its own, those to train on alone are learnt from.

    Args:
        method: The method: its name (``sfa list methods``), ``package.module:Class``, a class, or an object.
        spectral: The spectral map between encoder and projector, or a list of several: names (``sfa list spectral``),
            classes or objects; ``none`` is the plain method, which leaves the options of maps aside.
        encoder: The encoder: a name (``sfa list encoders``), a class, or any ``nn.Module`` from images to ``(b, d)``,
            such as a network of torchvision or timm; by default the method's.
        augmentation: What makes two views: a name (``sfa list augmentations``), or a function ``(data, generator) ->
            (view, view)``; by default the method's.
        hidden: Channels of the encoder's first stage; embeddings are 4 or 8 times as wide.
        iterations: Power iterations of the spectral map.
        tau: Temperature of the loss, where it has one.
        epochs: Training epochs.
        lr: Learning rate.
        batch_size: Images of a step.
        options: Any other key of a recipe by its path, for instance ``{"training.warmup": 5}``.
        random_state: Seed, a NumPy ``RandomState``, or ``None`` for a new draw at each fit.
        device: ``auto``, ``cpu``, ``cuda``, …

    Arguments left at ``None`` have the method's own defaults.

    Attributes:
        recipe_: Everything that decided the fit.
        history_: Metrics of each epoch.
        embedding_: Embeddings of the images it was fitted to.
        image_ids_: Ids of these, in the order of the embeddings.
        n_features_in_: Number of channels.
    """

    level: ClassVar[Level] = "image"
    kept: ClassVar[Mapping[str, type]] = {}

    image_ids_: list[str | int]

    def __init__(
        self,
        method: str | type[Method] | Method = "simclr",
        spectral: Any = "sfa",
        *,
        encoder: Any = None,
        augmentation: Any = None,
        hidden: int | None = None,
        iterations: int | None = None,
        tau: float | None = None,
        epochs: int | None = None,
        lr: float | None = None,
        batch_size: int | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
    ) -> None:
        self.method = method
        self.spectral = spectral
        self.encoder = encoder
        self.augmentation = augmentation
        self.hidden = hidden
        self.iterations = iterations
        self.tau = tau
        self.epochs = epochs
        self.lr = lr
        self.batch_size = batch_size
        self.options = options
        self.random_state = random_state
        self.device = device

    def _read(self, X: Any) -> Data:
        return as_images(X, labels=False)

    def _check(self, data: Data) -> None:
        if data.num_features != self.n_features_in_:
            raise InputError(
                f"Channels of these images: {data.num_features}; this embedder was fitted to {self.n_features_in_}."
            )

    def _embed(self, data: Data) -> NDArray[np.float32]:
        embeddings: NDArray[np.float32] = self.method_.embed(data).cpu().numpy()  # which moves some at a time
        return embeddings
