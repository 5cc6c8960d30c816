"""Search over the ranges of a recipe, choosing on validation alone."""

from sfa.sweep.ranges import Range, load_ranges, merged, parse_range, shipped_ranges
from sfa.sweep.report import Report, fresh_seeds, make_report
from sfa.sweep.search import DEFAULT_TRIALS, Search, SearchCallback, best_of, open_search, recipe_of, reopen_search
from sfa.sweep.settings import Settings
from sfa.sweep.space import Space
from sfa.sweep.trials import Record

__all__ = [
    "DEFAULT_TRIALS",
    "Range",
    "Record",
    "Report",
    "Search",
    "SearchCallback",
    "Settings",
    "Space",
    "best_of",
    "fresh_seeds",
    "load_ranges",
    "make_report",
    "merged",
    "open_search",
    "parse_range",
    "recipe_of",
    "reopen_search",
    "shipped_ranges",
]
