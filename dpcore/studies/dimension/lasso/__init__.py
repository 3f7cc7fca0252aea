"""Sparse regression over the L1 ball by private Frank-Wolfe: curves over T, n and p, and single runs.

Records are those of the source "synthetic_sparse", known by their moments alone, so that a move of epsilon
or T costs no pass over them. Excess is F(theta) - F* on the training records, F* over the L1 ball.
"""
