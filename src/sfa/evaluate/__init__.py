"""Scores and diagnostics of embeddings."""

# isort: off
from sfa.evaluate.diagnostics import Diagnostics as Diagnostics, diagnose as diagnose, label_signal as label_signal
from sfa.evaluate.diagnostics import effective_rank as effective_rank, singular_values as singular_values
from sfa.evaluate.diagnostics import relative_view_distance as relative_view_distance, uniformity as uniformity
from sfa.evaluate.diagnostics import view_distance as view_distance
from sfa.evaluate.protocols import Classification as Classification, Clustering as Clustering
from sfa.evaluate.protocols import LabelSignal as LabelSignal, LinkPrediction as LinkPrediction, Protocol as Protocol
from sfa.evaluate.protocols import default_protocol as default_protocol, possible as possible
from sfa.evaluate.scores import Difference as Difference, Score as Score, paired_difference as paired_difference
from sfa.evaluate.scores import pool_seeds as pool_seeds, score_difference as score_difference
