"""A run, or several, as one page that needs nothing else."""
