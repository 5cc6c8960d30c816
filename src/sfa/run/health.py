"""Tell without labels whether a run has worked: a table beside features, and what looks wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from sfa.errors import InputError
from sfa.evaluate.health import AUC, NEAR, RANK, measure_health
from sfa.report.page import finite
from sfa.run.display import Rows, Shown
from sfa.tasks import task_of

if TYPE_CHECKING:
    from sfa.run.run import Run

COLLAPSED, ALIKE, AT_CHANCE = 1.5, 0.99, 0.99  # effective rank; mean cosine; share of the chance level
SAMPLERS = ("whole", "neighbours", "starts", "random-nodes")  # those whose seeds are the rows of a step


@dataclass(frozen=True, repr=False)
class Health(Shown):
    """What can be said of embeddings without labels; the last row of the frame is the run's."""

    frame: pd.DataFrame
    warnings: Sequence[str]  # what looks wrong, and what to try
    remarks: Sequence[str]

    def table(self) -> tuple[Sequence[str], Rows]:
        texts = self.frame.map(lambda value: "–" if math.isnan(value) else f"{value:.1f}")
        return ["embedding", *texts.columns], texts.reset_index().to_numpy().tolist()

    def notes(self) -> list[str]:
        return [*self.remarks, *(self.warnings or ["Nothing here looks wrong."])]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"health": finite(self.frame.to_dict(orient="index")), "notes": self.notes()}


def health_of(run: Run) -> Health:
    """Measure a run, and look for a loss at chance, for collapse, and for features that are better untrained."""
    if task_of(run.data) != "node":
        raise InputError("Health without labels is measured of the nodes of one graph, and this is a set: give labels.")
    method = run.method
    is_scaled = method.weights_features or run.recipe.feature_norm == "standard"
    features = "other features" if is_scaled else "other features, or --feature-norm standard"
    table, alike, links, most = measure_health(method.embed, run.data, name=run.name, hide=not method.transductive)
    own, remarks, warnings = table.iloc[-1], [f"{NEAR}: {most:.1f} at most, as many nodes have fewer neighbors."], []
    if links:
        remarks.append(f"{AUC}: {links} links were taken out of the graph before embedding, but not before training.")
    sampler, n = run.recipe.sampler, run.data.num_nodes
    loss = run.metrics[-1].get("loss", math.nan) if run.metrics else math.nan
    steps = math.ceil(n / sampler.get("batch_size", n)) * run.recipe.training.accumulate
    chance = method.chance_loss(max(2, round(n / steps))) if sampler["name"] in SAMPLERS else None
    if chance is not None:
        remarks.insert(0, f"Loss: {loss:.4g}, and {chance:.4g} by chance.")
        if loss > AT_CHANCE * chance:
            said = "The loss is at its chance level, training has told no nodes apart"
            warnings.append(f"{said}: try another --lr, more --epochs, another --seed, {features}.")
    if own[RANK] < COLLAPSED or alike > ALIKE:
        seen = f"effective rank {own[RANK]:.1f}, mean cosine of two nodes {alike:.3f}"
        warnings.append(f"The embedding has collapsed, nodes look alike ({seen}): try a smaller --lr, {features}.")
    lead = table.loc["propagated features"] - own
    if links and lead[NEAR] > 0 and lead[AUC] > 50 / math.sqrt(links):  # some two standard errors
        advice = "--method propagate, which trains nothing, more --epochs, another --seed, " if method.learns else ""
        warnings.append(f"Propagated features, without training, are better in both columns: try {advice}{features}.")
    return Health(table, warnings, remarks)
