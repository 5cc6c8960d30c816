"""Search over the ranges of a recipe, choosing on validation alone."""

# isort: off
from sfa.sweep.ranges import Range as Range, load_ranges as load_ranges, merged as merged, parse_range as parse_range
from sfa.sweep.ranges import shipped_ranges as shipped_ranges
from sfa.sweep.report import Report as Report, fresh_seeds as fresh_seeds, make_report as make_report
from sfa.sweep.search import DEFAULT_TRIALS as DEFAULT_TRIALS, Search as Search, SearchCallback as SearchCallback
from sfa.sweep.search import open_search as open_search, recipe_of as recipe_of, reopen_search as reopen_search
from sfa.sweep.settings import Settings as Settings, Space as Space
from sfa.sweep.trials import Record as Record, best_of as best_of
