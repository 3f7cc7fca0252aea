"""Minimisers over the simplex."""
