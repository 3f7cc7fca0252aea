"""Sparse regression over the L1 ball by private Frank-Wolfe: curves over T, n and p, and single runs.

Records are those of the source "synthetic_sparse", known by their moments alone, so that a move of epsilon
or T costs no pass over them. Excess is F(theta) - F* on the training records, F* over the L1 ball.
"""

from .curves import NS, PS, TS, AgainstN, AgainstP, AgainstT, ExcessCurve, against_n, against_p, against_T
from .data import LOSS, SOURCE, Instance, Spread, instances, sampling_term, spreads, stored_columns, truth
from .single_run import Path, path

__all__ = [
    "LOSS",
    "NS",
    "PS",
    "SOURCE",
    "TS",
    "AgainstN",
    "AgainstP",
    "AgainstT",
    "ExcessCurve",
    "Instance",
    "Path",
    "Spread",
    "against_T",
    "against_n",
    "against_p",
    "instances",
    "path",
    "sampling_term",
    "spreads",
    "stored_columns",
    "truth",
]
