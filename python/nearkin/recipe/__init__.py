"""Recipes: frozen values that determine completely how an input becomes a fingerprint."""

from __future__ import annotations

from nearkin.recipe.grammar import CONTAINMENT, DEFAULT, IDF_TABLES, STOP_LISTS, IdfTable, Scheme
from nearkin.recipe.text import PRESETS, Recipe

__all__ = ["CONTAINMENT", "DEFAULT", "IDF_TABLES", "PRESETS", "STOP_LISTS", "IdfTable", "Recipe", "Scheme"]
