"""The model, and what Algorithm 1 makes of a spectrum (the paper's Figure 2)."""

from __future__ import annotations

from matplotlib.figure import Figure

from sfa.figures.style import style
from sfa.figures.theory.pipeline import draw_pipeline
from sfa.figures.theory.settings import ITERATIONS
from sfa.figures.theory.simulation import DECAY, DRAWS, draw_spectrum
from sfa.theory import push_forward, simulate

K = 1


@style()
def draw_model() -> Figure:
    """(a) From a graph to the loss. (b) A power-law spectrum before and after Algorithm 1."""
    figure = Figure(figsize=(11.2, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3.1, 1))
    draw_pipeline(left)
    left.set_title("(a)  the model")
    draw_spectrum(right, K, ITERATIONS[K])
    right.set(title=f"(b)  Algorithm 1, $k = {K}$", ylabel="singular value", xticks=[1, 3, 10, 30])
    right.set_xticklabels(["1", "3", "10", "30"])
    right.minorticks_off()
    right.legend(loc="upper right", fontsize=8)
    return figure


def tell_of_model() -> str:
    """What happens to the leading values on average, and in single draws."""
    mean = push_forward(DECAY, K).mean
    leading = simulate(DECAY, K, DRAWS).spectrum[:, 0]
    before, after = (", ".join(f"{value:.2f}" for value in values[:3]) for values in (DECAY, mean))
    return (
        f"The leading values {before} of this spectrum become {after} on average: cut rather than equalised, as they "
        f"fall steeply. No single draw has a leading value below the second, {DECAY[1]:.2f}: the mean of {DRAWS} is "
        f"{leading.mean():.2f}."
    )
