"""Comparisons with peers on the same work; `python -m benchmarks` runs them all."""
