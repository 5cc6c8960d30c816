"""The page "What we found" and README quote, of recipes tuned alike, what the results that ship contain."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

from sfa.evaluate import Difference, paired_difference, pool_seeds
from sfa.paper.tables.make import shipped_entries

PAGE = Path(__file__).parents[2].joinpath("docs", "what_we_found.md").read_text(encoding="utf-8")
DATASETS = ("Cora", "CiteSeer", "PubMed", "Computers", "Photo")
METHODS = {"InfoNCE (GRACE)": "grace", "Barlow Twins (G-BT)": "g-bt"}
CELLS = [(dataset, loss) for dataset in DATASETS for loss in METHODS]


def tuned(dataset: str, loss: str, protocol: str) -> list:
    """Return the scores of five fresh seeds of the recipes that were tuned without and with SFA, pooled."""
    scores = []
    for spectral in ("none", "sfa"):
        label = f"{dataset.lower()}-{METHODS[loss]}, spectral.name={spectral}: best"
        runs = [entry for entry in shipped_entries() if ("sweep", label) in entry.labels]
        of_seed = {run.seed: score for run in runs for score in run.scores if score.protocol == protocol}
        assert sorted(of_seed) == [1, 2, 3, 4, 5]
        scores.append(pool_seeds(of_seed, "accuracy"))
    return scores


def holm(p_values: list[float]) -> list[float]:
    """Correct p-values for their number by Holm's method."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(np.argsort(p_values)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def row_of(dataset: str, loss: str) -> list[str]:
    (row,) = re.findall(rf"^\| {re.escape(dataset)} \| {re.escape(loss)} \| (.*) \|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in row.split("|")]


def written(difference: Difference) -> str:
    return f"{difference.mean:+.2f} [{difference.low:+.2f}, {difference.high:+.2f}]"


@pytest.mark.parametrize(("dataset", "loss"), CELLS)
def test_recipes_that_were_tuned_alike(dataset: str, loss: str) -> None:
    without, with_sfa = tuned(dataset, loss, "honest-10-10-80")
    unseen = paired_difference(*reversed(tuned(dataset, loss, "honest-10-10-80 unseen")))
    cells = row_of(dataset, loss)
    means = [f"{score.mean():.2f} ± {score.std():.2f}" for score in (without, with_sfa)]
    assert cells[:2] == means
    assert cells[2].strip("*") == written(paired_difference(with_sfa, without))
    assert cells[3] == written(unseen)


def test_only_differences_that_survive_the_correction_of_holm_are_bold() -> None:
    pairs = [tuned(dataset, loss, "honest-10-10-80") for dataset, loss in CELLS]
    corrected = holm([ttest_rel(other.of(), one.of()).pvalue for one, other in pairs])
    bold = [row_of(*cell)[2].startswith("**") for cell in CELLS]
    assert bold == [p < 0.05 for p in corrected]
    summary = re.findall(r"^\| difference \| (.*) \|$", PAGE, re.MULTILINE)
    shown = [cell.strip().startswith("**") for row in summary for cell in row.split("|")]
    assert shown == [bold[CELLS.index((dataset, loss))] for loss in METHODS for dataset in DATASETS]
