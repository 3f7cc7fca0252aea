"""Figures of the page Decide."""
