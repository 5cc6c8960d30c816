"""Recipes: validated at the boundary, keyword arguments from there on."""

from sfa.run.files import load_recipe, shipped_recipes
from sfa.run.recipe import Recipe

__all__ = ["Recipe", "load_recipe", "shipped_recipes"]
