"""Pictures: of embeddings and their spectra, of runs as training goes on, and every figure of the paper."""

from sfa.figures.embedding_map import draw_maps
from sfa.figures.embedding_spectra import draw_spectra
from sfa.figures.needed_run import NeededRun
from sfa.figures.resolver import FIGURES, NamedFigure, Takes, resolve
from sfa.figures.run_alignment import draw_alignment
from sfa.figures.run_log import RunLog, read_runs
from sfa.figures.run_spectrum import draw_spectrum_evolution
from sfa.figures.style import check_picture, save_figure

__all__ = [
    "FIGURES",
    "NamedFigure",
    "NeededRun",
    "RunLog",
    "Takes",
    "check_picture",
    "draw_alignment",
    "draw_maps",
    "draw_spectra",
    "draw_spectrum_evolution",
    "read_runs",
    "resolve",
    "save_figure",
]
