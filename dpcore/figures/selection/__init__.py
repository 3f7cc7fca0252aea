"""Figures of the page Selection."""
