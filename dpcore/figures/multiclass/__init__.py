"""Figures of the page Classes."""
