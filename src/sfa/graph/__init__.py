"""Graphs as matrices: sparse patterns and products, diffusion, centralities, walks, batches."""
