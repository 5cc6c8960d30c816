"""Recipes: validated at the boundary, keyword arguments from there on."""

from sfa.run.recipe import Recipe, load_recipe, shipped_recipes

__all__ = ["Recipe", "load_recipe", "shipped_recipes"]
