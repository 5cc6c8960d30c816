"""Online evaluation: a linear classifier trained beside the encoder, which it does not influence."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa import distributed
from sfa.errors import InputError
from sfa.evaluate.probes.base import RANKS, best_labels
from sfa.evaluate.probes.linear import LinearClassifiers
from sfa.evaluate.splits import HeldOutSplits
from sfa.methods.base import FeatureMaps, Method
from sfa.modes import evaluating, full_precision
from sfa.ranges import check_number, check_whole
from sfa.seeding import derive_seed
from sfa.tasks import item_word, task_of

TOGETHER = 1024  # images that are read and embedded at a time
COUNTS = ("epochs_done", "right", "seen")
"""Epochs, and rows of this epoch: those predicted rightly before the step that learns from them, and all."""


class OnlineProbe:
    r"""A softmax classifier of the plain features of both views, trained by SGD with momentum on every batch.

    The online evaluation of `"solo-learn: A Library of Self-supervised Methods for Visual Representation Learning"
    <https://arxiv.org/abs/2108.01775>`_ (da Costa et al., 2022). Its rate in epoch ``e`` is
    :math:`\tfrac12 (1 + \cos(\pi e / \text{epochs})) \, \eta`.

    It learns from the training part of the first split of ``image-linear`` and is looked at on its validation part; the
    test part it never sees. There is a look every so many epochs, ``every``, and after the last. The encoder is trained
    to the same bits with it or without. Several processes train one classifier: each has its rows of a batch, and all
    must make the same calls.
    """

    def __init__(
        self, width: int, data: Data, *, lr: float = 0.1, epochs: int = 100, every: int = 1, seed: int = 0
    ) -> None:
        if task_of(data) != "image":
            raise InputError(f"An online probe looks at images while they are learned from, not at {item_word(data)}.")
        check_number("lr", lr, above=0)
        check_whole("epochs", epochs, 1)
        check_whole("every", every, 1)
        self.lr, self.epochs, self.every = lr, epochs, every
        (split,) = HeldOutSplits().of(data, 1)
        self.validation = torch.from_numpy(split.validation)
        self.learns_from = torch.zeros(len(data.y), dtype=torch.bool)
        self.learns_from[split.train] = True
        self.classes = torch.unique(data.y[self.learns_from])
        generator = torch.Generator().manual_seed(derive_seed(seed, 7))
        self.classifier = LinearClassifiers(width, 1, len(self.classes), momentum=0.9, generator=generator)
        self.epochs_done, self.right, self.seen = 0, 0, 0

    @torch.no_grad()
    def observe(self, maps: FeatureMaps, batch: Data) -> None:
        """Learn from the features before the spectral map; the batch has ``y`` and the numbers ``images``, ``(B,)``."""
        views = [view for view in (maps.h_alpha, maps.h_beta) if view is not None]
        device = views[0].device
        if self.classes.device != device:
            self.classes, self.learns_from = self.classes.to(device), self.learns_from.to(device)
            self.classifier.to(device)
        rows = self.learns_from[batch.images]
        target = torch.searchsorted(self.classes, batch.y[rows]).repeat(len(views))
        with full_precision(torch.cat([view[rows] for view in views]).float()) as (x,):
            scores = self.classifier.scores(x)
            sums = [distributed.all_reduce_sum(part) for part in self.classifier.gradients(x, scores, target)]
        told = (scores[:, 0].argmax(1) == target).sum()
        right, seen = distributed.all_reduce_sum(torch.stack([told, torch.full_like(told, len(x))])).tolist()
        if seen > 0:
            rate = self.lr * (1 + math.cos(math.pi * min(1.0, self.epochs_done / self.epochs))) / 2
            self.classifier.step((sums[0] / seen, sums[1] / seen), torch.tensor([[rate]], device=device))
        self.right, self.seen = self.right + right, self.seen + seen

    def end_of_epoch(self, method: Method, data: Data) -> dict[str, float]:
        """Return top-1 accuracies of an epoch in per cent, of a method and the image set that the probe was made for.

        ``train`` is that of the views, each before the step that learns from it; ``validation`` that of the plain
        embeddings, when it is due, and ``validation_top5``, if there are more than 5 classes.
        """
        self.epochs_done += 1
        found = {"train": 100 * self.right / self.seen} if self.seen > 0 else {}
        self.right, self.seen = 0, 0
        if self.epochs_done % self.every == 0 or self.epochs_done == self.epochs:
            found |= self._validate(method, data)
        return found

    def state_dict(self) -> dict[str, Tensor]:
        """Return all that changes: weights, their momentum, and how far it is."""
        return {**self.classifier.state_dict(), **{name: torch.tensor(getattr(self, name)) for name in COUNTS}}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        for name, tensor in self.classifier.state_dict().items():
            given, own = tuple(state[name].shape), tuple(tensor.shape)
            if given != own:
                raise InputError(f"This state is of another online probe: {name} of {given}, not of {own}.")
            tensor.copy_(state[name])
        self.epochs_done, self.right, self.seen = (int(state[name]) for name in COUNTS)

    @torch.no_grad()
    def _validate(self, method: Method, data: Data) -> dict[str, float]:
        """Compute accuracies on the validation part, of which each process looks at its share."""
        own = self.validation.tensor_split(distributed.world_size())[distributed.rank()]
        hits = torch.zeros(2, dtype=torch.int64, device=self.classes.device)
        with evaluating(method):
            for numbers in (piece for piece in torch.split(own, TOGETHER) if len(piece) > 0):
                z = method.embed(Data(x=data.x[numbers])).float()
                right = best_labels(self.classifier.scores(z)[:, 0], self.classes) == data.y[numbers, None].to(z.device)
                hits += torch.stack([right[:, 0].sum(), right.any(1).sum()])
        first, top = (100 * right / len(self.validation) for right in distributed.all_reduce_sum(hits).tolist())
        return {"validation": first, **({f"validation_top{RANKS}": top} if len(self.classes) > RANKS else {})}
