"""Sweeps of mechanisms over data, with their metrics."""
