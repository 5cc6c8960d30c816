"""Pictures of the theory: no run and no data behind them."""

from sfa.figures.theory.bound import draw_bound
from sfa.figures.theory.density import draw_density
from sfa.figures.theory.power_law import draw_power_law
from sfa.figures.theory.push_forward import draw_push_forward
from sfa.figures.theory.simulation import draw_simulation
from sfa.figures.theory.surrogate_error import draw_surrogate_error
from sfa.figures.theory.variants import draw_variants

__all__ = [
    "draw_bound",
    "draw_density",
    "draw_power_law",
    "draw_push_forward",
    "draw_simulation",
    "draw_surrogate_error",
    "draw_variants",
]
