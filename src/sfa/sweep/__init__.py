"""Search over the ranges of a recipe, choosing on validation alone."""
