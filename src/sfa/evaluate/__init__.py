"""Scores and diagnostics of embeddings."""

from typing import TYPE_CHECKING

from sfa.lazy import lazy_names

if TYPE_CHECKING:  # isort: off
    from sfa.evaluate.diagnostics import Diagnostics as Diagnostics, diagnose as diagnose, label_signal as label_signal
    from sfa.evaluate.diagnostics import effective_rank as effective_rank, singular_values as singular_values
    from sfa.evaluate.diagnostics import relative_view_distance as relative_view_distance, uniformity as uniformity
    from sfa.evaluate.diagnostics import view_distance as view_distance
    from sfa.evaluate.protocols import Classification as Classification, Clustering as Clustering
    from sfa.evaluate.protocols import (
        LabelSignal as LabelSignal,
        LinkPrediction as LinkPrediction,
        Protocol as Protocol,
        Regression as Regression,
    )
    from sfa.evaluate.protocols import default_protocol as default_protocol, possible as possible
    from sfa.evaluate.scores import Difference as Difference, Score as Score, paired_difference as paired_difference
    from sfa.evaluate.scores import pool_seeds as pool_seeds, score_difference as score_difference

_MODULES = {
    "diagnostics": "Diagnostics diagnose label_signal effective_rank singular_values relative_view_distance uniformity"
    " view_distance",
    "protocols": "Classification Clustering LabelSignal LinkPrediction Protocol Regression default_protocol possible",
    "scores": "Difference Score paired_difference pool_seeds score_difference",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
