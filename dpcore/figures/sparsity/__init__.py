"""Figures of the page Sparse."""
