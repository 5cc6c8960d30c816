"""Pictures: of embeddings and their spectra, of runs as training goes on, and every figure of the paper."""

from sfa.figures import builtin as builtin
from sfa.figures.embedding_map import draw_maps
from sfa.figures.embedding_spectra import draw_spectra
from sfa.figures.named import NamedFigure, Takes, find_figure
from sfa.figures.needed_run import NeededRun
from sfa.figures.run_alignment import draw_alignment
from sfa.figures.run_log import RunLog, read_runs
from sfa.figures.run_spectrum import draw_spectrum_evolution
from sfa.figures.style import check_picture, save_figure

__all__ = [
    "NamedFigure",
    "NeededRun",
    "RunLog",
    "Takes",
    "check_picture",
    "draw_alignment",
    "draw_maps",
    "draw_spectra",
    "draw_spectrum_evolution",
    "find_figure",
    "read_runs",
    "save_figure",
]
