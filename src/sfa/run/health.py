"""Tell without labels whether a run has worked: a table beside features, and sentences about what looks wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from sfa.evaluate.health import AUC, NEAR, PROPAGATED, RANK, Measured, measure_health
from sfa.report.page import finite
from sfa.run.display import Rows, Shown
from sfa.tasks import item_word, num_items

if TYPE_CHECKING:
    from sfa.run.run import Run

COLLAPSED, ALIKE, AT_CHANCE = 1.5, 0.99, 0.99  # effective rank; mean cosine; share of the chance level
PER_STEP = ("whole", "neighbours", "starts", "random-nodes", "graphs", "images")  # samplers whose seeds are the rows


@dataclass(frozen=True, repr=False)
class Health(Shown):
    """What can be said of embeddings without labels."""

    frame: pd.DataFrame  # effective rank, neighbors among the nearest, AUC of hidden links; the run's row is the last
    warnings: Sequence[str]  # what looks wrong, and what to try
    remarks: Sequence[str] = ()
    loss: float | None = None  # of the last epoch
    chance: float | None = None  # the loss of a method that tells nothing apart, where that is known

    def table(self) -> tuple[Sequence[str], Rows]:
        frame = self.frame.dropna(axis=1, how="all")
        texts = frame.map(lambda value: "–" if math.isnan(value) else f"{value:.1f}")
        return ["embedding", *frame.columns], texts.reset_index().to_numpy().tolist()

    def notes(self) -> list[str]:
        return [*self.remarks, *(self.warnings or ["Nothing here looks wrong."])]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        table = finite(self.frame.to_dict(orient="index"))
        return {"health": table, "loss": self.loss, "chance": self.chance, "warnings": list(self.warnings)}


def health_of(run: Run) -> Health:
    """Measure the embeddings of a run, and look for a loss at chance, collapse, and what no training does better."""
    measured = measure_health(run.method.embed, run.data, name=run.name, hide=not run.method.transductive)
    losses = [row["loss"] for row in run.metrics if isinstance(row.get("loss"), float)]
    loss, chance, remarks = losses[-1] if losses else None, chance_of(run), []
    if loss is not None and chance is not None:
        remarks.append(f"Loss: {loss:.4g}, and {chance:.4g} by chance.")
    if measured.most == measured.most:
        remarks.append(f"{NEAR}: at most {measured.most:.1f} are possible, as nodes with fewer neighbors count too.")
    if measured.links:
        taken = f"{measured.links} links were taken out of the graph before it was embedded, but not before training"
        remarks.append(f"{AUC}: {taken}; --protocol link-prediction trains anew.")
    return Health(measured.table, warnings_of(run, measured, loss, chance), remarks, loss, chance)


def warnings_of(run: Run, measured: Measured, loss: float | None, chance: float | None) -> list[str]:
    """Return a sentence for each thing that looks wrong, with what to try."""
    table, items, own = measured.table, item_word(run.data), measured.table.iloc[-1]
    features, found = "other features or --set feature_norm=standard", []
    if own[RANK] < COLLAPSED or measured.alike > ALIKE:
        seen = f"effective rank {own[RANK]:.1f}, mean cosine of two {items} {measured.alike:.3f}"
        found.append(f"The embedding has collapsed, {items} look alike ({seen}): try a smaller --lr, or {features}.")
    if loss is not None and chance and loss > AT_CHANCE * chance:
        nothing = f"The loss is at its chance level, training has told no {items} apart"
        found.append(f"{nothing}: try another --lr, more --epochs, another --seed, or {features}.")
    if PROPAGATED in table.index and measured.links:
        lead, noise = table.loc[PROPAGATED] - own, 50 / math.sqrt(measured.links)  # some two standard errors
        if lead[NEAR] > 0 and lead[AUC] > noise:
            advice = f"more --epochs, {features}, or another --seed"
            advice = f"{advice}, or --method propagate, which trains nothing" if run.method.learns else advice
            found.append(f"Propagated features, without training, are better in both columns: try {advice}.")
    return found


def chance_of(run: Run) -> float | None:
    """Return the loss by chance, for as many rows as a step has, if the method and the sampler say it."""
    sampler, count = run.recipe.sampler, num_items(run.data)
    if sampler["name"] not in PER_STEP:
        return None
    steps = -(-count // sampler.get("batch_size", count)) * run.recipe.training.accumulate
    return run.method.chance_loss(max(2, round(count / steps)))
