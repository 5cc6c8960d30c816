"""The paper's toy illustration of its propositions, all three parts in one picture (its Figure 3)."""

from __future__ import annotations

from matplotlib.figure import Figure

from sfa.figures.style import OPAQUE, style
from sfa.figures.theory.density import LEADING, draw_law
from sfa.figures.theory.push_forward import draw_theory, tell_of_push_forward
from sfa.figures.theory.settings import ITERATIONS
from sfa.figures.theory.simulation import draw_points, tell_of_simulation


@style()
def draw_toy() -> Figure:
    """Rows: the law of the share removed of σ₁ = 2, φ ± σ₁ω in theory, φ′ by Algorithm 1; a column for each k."""
    figure = Figure(figsize=(9.6, 7.8), layout="constrained")
    rows = figure.subplots(3, len(ITERATIONS), sharey="row")
    for place, (k, colour) in enumerate(ITERATIONS.items()):
        for row, draw in zip(rows, (draw_law, draw_theory, draw_points), strict=True):
            draw(row[place], k, colour)
    for panel in (*rows[1], *rows[2]):
        panel.set_title("")
    rows[1][0].legend(loc="upper left", fontsize=8)
    rows[2][-1].legend(loc="upper right", fontsize=7.5, **OPAQUE)
    rows[0][0].set_ylabel(f"(a)  density of $z$ at $\\sigma_1 = {LEADING:g}$")
    rows[1][0].set_ylabel("(b)  $\\phi(\\sigma_1, k)$, theory")
    rows[2][0].set_ylabel("(c)  $\\phi'(\\sigma_1, k)$, drawn")
    return figure


def tell_of_toy() -> str:
    """What holds of the caption."""
    return f"{tell_of_push_forward()} {tell_of_simulation()}"
