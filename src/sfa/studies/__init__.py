"""The paper's studies: what they compare, and how they fill the ledger."""

from sfa.studies import builtin as builtin
from sfa.studies.estimate import Estimator, duration
from sfa.studies.plan import Cell, Dataset, Plan, make_plan, protocols_of, starting_point
from sfa.studies.runner import Runner, Watcher, cells_folder, missing_protocols
from sfa.studies.study import RUN_TIME, Study
from sfa.studies.summary import Summary, metrics_of, summarise, summary_of

__all__ = [
    "RUN_TIME",
    "Cell",
    "Dataset",
    "Estimator",
    "Plan",
    "Runner",
    "Study",
    "Summary",
    "Watcher",
    "cells_folder",
    "duration",
    "make_plan",
    "metrics_of",
    "missing_protocols",
    "protocols_of",
    "starting_point",
    "summarise",
    "summary_of",
]
