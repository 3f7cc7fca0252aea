"""Sparse models: the L1 ball, the simplex, and streams."""
