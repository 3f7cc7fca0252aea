"""Figures of the page Doors."""
