"""Embeddings of two views in, one number out."""

from sfa.losses.barlow_twins import barlow_twins
from sfa.losses.nt_xent import nt_xent

__all__ = ["barlow_twins", "nt_xent"]
