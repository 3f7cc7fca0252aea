"""Passes over the margins of many models with several classes: the rounded hinge of `solvers.multiclass`.

scores [R, C, n] hold a model's scores of record i in class c; the margin is m = scores[r, c, i] - scores[r, y_i, i].
Sums go over the classes first, record by record, so that every inner loop runs along the records.
"""

import numpy as np
from numba import njit

_OPTIONS = {"nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def _own(scores, labels, own):
    for i in range(labels.size):
        own[i] = scores[labels[i], i]


@njit(**_OPTIONS)
def _sum(values):
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@njit(**_OPTIONS)
def margin_losses(scores, labels, h, pulls, losses):
    """losses[r] = sum_i sum_{c != y_i} psi(m), pulls [R, C, n]: its derivatives by the scores; NaN stays in losses."""
    n = labels.size
    own, total, value = np.empty(n), np.empty(n), np.empty(n)
    for r in range(scores.shape[0]):
        _own(scores[r], labels, own)
        for i in range(n):
            total[i] = value[i] = 0.0
        for c in range(scores.shape[1]):
            row, out = scores[r, c], pulls[r, c]
            for i in range(n):
                short = 1.0 - (row[i] - own[i])
                s = min(max((short + h) / (2.0 * h), 0.0), 1.0)
                s = 0.0 if labels[i] == c else s
                out[i] = -s
                total[i] += s
                value[i] += s * short + h * s * (1.0 - s)
        for i in range(n):
            pulls[r, labels[i], i] = total[i]
        losses[r] = _sum(value)


@njit(**_OPTIONS)
def margin_curvatures(scores, labels, h, moved):
    """moved [R, C, n], a change of the scores, becomes the change of `pulls` to first order, in place."""
    n = labels.size
    own, own_moved, total = np.empty(n), np.empty(n), np.empty(n)
    for r in range(scores.shape[0]):
        _own(scores[r], labels, own)
        _own(moved[r], labels, own_moved)
        for i in range(n):
            total[i] = 0.0
        for c in range(scores.shape[1]):
            row, out = scores[r, c], moved[r, c]
            for i in range(n):
                # The margin of the own class does not change.
                turn = (out[i] - own_moved[i]) / (2.0 * h)
                turn = turn if abs(1.0 - (row[i] - own[i])) < h else 0.0
                out[i] = turn
                total[i] += turn
        for i in range(n):
            moved[r, labels[i], i] = -total[i]


@njit(**_OPTIONS)
def margin_slope(start, moves, labels, h, t):
    """Derivative of one model's loss at start + t moves, scores [C, n], along moves."""
    n = labels.size
    own, own_moved, total = np.empty(n), np.empty(n), np.zeros(n)
    _own(start, labels, own)
    _own(moves, labels, own_moved)
    for c in range(start.shape[0]):
        row, moved = start[c], moves[c]
        for i in range(n):
            turn = moved[i] - own_moved[i]
            m = row[i] - own[i] + t * turn
            total[i] -= min(max((1.0 + h - m) / (2.0 * h), 0.0), 1.0) * turn
    return _sum(total)
