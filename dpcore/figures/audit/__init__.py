"""Figures of the page Audit."""
