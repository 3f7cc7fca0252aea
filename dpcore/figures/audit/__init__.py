"""Figures of the page Trust."""
