"""Runs against the first of them, metric by metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sfa.evaluate import Score, score_difference
from sfa.report.reported import ReportedRun


def score_rows(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """An entry for each embedding and metric; the last embedding is the run's own."""
    return [
        {
            "embedding": score.name,
            "protocol": score.protocol,
            "metric": metric,
            "values": list(values),
            "mean": score.mean(metric),
            "std": _or_none(score.std(metric)),
            "own": score is scores[-1],
        }
        for score in scores
        for metric, values in score.values.items()
    ]


def comparison_rows(runs: Sequence[ReportedRun]) -> list[dict[str, Any]]:
    """A row for each run and metric, with the paired difference from the first run; none for it itself."""
    baseline = runs[0].score
    rows = []
    for number, reported in enumerate(runs):
        score = reported.score
        if score is None or baseline is None:
            continue
        for metric in score.values:
            found = score_difference(score, baseline, metric)
            rows.append(
                {
                    "run": reported.name,
                    "metric": metric,
                    "mean": score.mean(metric),
                    "std": _or_none(score.std(metric)),
                    "difference": [_or_none(v) for v in (found.mean, found.low, found.high)] if number else None,
                    "p": _or_none(found.p_value) if number else None,
                }
            )
    return rows


def _or_none(value: float) -> float | None:
    """JSON has no word for NaN."""
    return None if math.isnan(value) else value
