"""Pictures of embeddings and their spectra."""

from sfa.figures.embedding_map import draw_maps
from sfa.figures.spectrum import draw_spectra

__all__ = ["draw_maps", "draw_spectra"]
