"""Figures of the page Papers."""
