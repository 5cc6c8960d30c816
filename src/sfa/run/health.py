"""Tell without labels whether a run has worked: a table beside features, and what looks wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from sfa.evaluate.health import RANK, measure_health
from sfa.evaluate.part import is_large, remark_on_part
from sfa.report.page import finite
from sfa.run.display import Rows, Shown
from sfa.tasks import Task, item_word, task_of

if TYPE_CHECKING:
    from sfa.run.run import Run

COLLAPSED, ALIKE, AT_CHANCE = 1.5, 0.99, 0.99  # effective rank; mean cosine; share of the chance level
TRY: dict[Task, str] = {
    "node": "other features",
    "graph": "or another --method, such as infograph",
    "image": "or weaker views, --set augmentation.strength=weak",
}


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
    """Measure a run, and look for a loss at chance, for collapse, and for what is better without training."""
    method, data, task, items = run.method, run.data, task_of(run.data), item_word(run.data)
    others = {} if task == "node" or not method.learns else {"untrained encoder": run.untrained.embed}
    given: dict[str, Any] = {"hide": not method.transductive, "views": method.augmentation, "others": others}
    table, alike, count, most = measure_health(method.embed, data, name=run.name, **given)
    own, (near, auc), remarks, warnings = table.iloc[-1], table.columns[1:], list[str](), list[str]()
    if is_large(data):
        remarks.append(remark_on_part(data, whole=method.transductive))
    if task == "node":
        remarks.append(f"{near}: {most:.1f} at most, as many nodes have fewer neighbors.")
    if task == "node" and count:
        remarks.append(f"{auc}: {count} links were taken out of the graph before embedding, but not before training.")
    if task != "node":
        remarks.append(f"The last two columns are of two random views of each of {count} {items}, as in training.")
    is_scaled = method.weights_features or run.recipe.feature_norm == "standard"
    features = TRY[task] if task != "node" or is_scaled else f"{TRY[task]}, or --feature-norm standard"
    loss = run.metrics[-1].get("loss", math.nan) if run.metrics else math.nan
    if (chance := run.chance) is not None:
        remarks.insert(0, f"Loss: {loss:.4g}, and {chance:.4g} by chance.")
        if loss > AT_CHANCE * chance:
            said = f"The loss is at its chance level, training has told no {items} apart"
            warnings.append(f"{said}: try another --lr, more --epochs, another --seed, {features}.")
    if own[RANK] < COLLAPSED or alike > ALIKE:
        seen = f"effective rank {own[RANK]:.1f}, and {alike:.1%} of their squared length is the same in all"
        warnings.append(f"The embedding has collapsed, {items} look alike ({seen}): try a smaller --lr, {features}.")
    leads = table.iloc[1:-1] - own
    is_clear = leads[auc] > 50 / math.sqrt(count or 1)  # some two standard errors
    better, level = (leads.index[(leads[near] > 0) & (leads[auc] > 0) & clear] for clear in (is_clear, ~is_clear))
    if len(level):
        seen = "links that were hidden" if task == "node" else items
        remarks.append(f"Ahead without training, but too little to tell by {count} {seen}: {', '.join(level)}.")
    if len(better):
        advice = "--method propagate, which trains nothing, " if task == "node" else ""
        advice = f"{advice}more --epochs, another --seed, " if method.learns else ""
        warnings.append(f"Better in both columns, without training: {', '.join(better)}. Try {advice}{features}.")
    return Health(table, warnings, remarks)
