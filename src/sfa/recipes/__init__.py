"""Recipes: validated at the boundary, keyword arguments from there on."""

from sfa.recipes.files import load_recipe, shipped_recipes
from sfa.recipes.schema import Recipe

__all__ = ["Recipe", "load_recipe", "shipped_recipes"]
