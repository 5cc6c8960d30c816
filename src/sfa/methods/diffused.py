"""What MVGRL and MERIT share: embeddings of a graph and of its diffusion, added up."""

from __future__ import annotations

from sfa.augment import Diffusion
from sfa.errors import InputError
from sfa.methods.base import Method


def diffusion_of(method: Method) -> Diffusion:
    """Return the augmentation of a method that also embeds the diffusion of a graph; raise if it is another one."""
    if not isinstance(method.augmentation, Diffusion):
        raise InputError(
            f"{type(method).__name__} contrasts a graph with its diffusion, and takes the augmentation `diffusion` "
            f"(sfa.augment.Diffusion), not {method.augmentation!r}."
        )
    return method.augmentation
