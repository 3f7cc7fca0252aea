"""Figures of the page Sparsity."""
