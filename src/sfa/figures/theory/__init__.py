"""Pictures of the theory: no run and no data behind them."""

from sfa.figures.theory.bound import draw_bound, tell_of_bound
from sfa.figures.theory.density import draw_density, tell_of_density
from sfa.figures.theory.implicit_steps import draw_implicit_steps, tell_of_implicit_steps
from sfa.figures.theory.levelling import draw_levelling, tell_of_levelling
from sfa.figures.theory.model import draw_model, tell_of_model
from sfa.figures.theory.power_law import draw_power_law, tell_of_power_law
from sfa.figures.theory.push_forward import draw_push_forward, tell_of_push_forward
from sfa.figures.theory.simulation import draw_simulation, tell_of_simulation
from sfa.figures.theory.surrogate_error import draw_surrogate_error
from sfa.figures.theory.toy import draw_toy, tell_of_toy
from sfa.figures.theory.variants import draw_variants, tell_of_variants

__all__ = [
    "draw_bound",
    "draw_density",
    "draw_implicit_steps",
    "draw_levelling",
    "draw_model",
    "draw_power_law",
    "draw_push_forward",
    "draw_simulation",
    "draw_surrogate_error",
    "draw_toy",
    "draw_variants",
    "tell_of_bound",
    "tell_of_density",
    "tell_of_implicit_steps",
    "tell_of_levelling",
    "tell_of_model",
    "tell_of_power_law",
    "tell_of_push_forward",
    "tell_of_simulation",
    "tell_of_toy",
    "tell_of_variants",
]
