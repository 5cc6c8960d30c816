"""Runs measured one by one into a results file: what is missing is trained, scored and stored."""
