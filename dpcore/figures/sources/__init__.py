"""Figures of the page Sources."""
