"""Sampling from the simplex, and play on streams of costs."""
