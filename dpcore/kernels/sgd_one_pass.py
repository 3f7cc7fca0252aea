"""One phase of projected stochastic gradient descent: each record once, in order, many runs side by side."""

from __future__ import annotations

import numpy as np
from numba import njit

from .lq_projection import project_row

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


@njit(**_OPTIONS)
def average_of_phase(derivative, records, y, h, first, count, step, order, radius, theta, average):
    """average <- the mean of the count + 1 iterates theta_0, ..., theta_count of each run.

    theta_{s+1} = Proj(theta_s - step l'(z; y_i) x_i), z = <x_i, theta_s>, i = first + s, for s < count; Proj is onto
    ||theta||_order <= radius, order from 2 to inf. derivative: of the loss in z, called for all runs of a record at
    once, so that a record is read once however many runs there are. records: as in `sgd.records_of`, with r
    columns, beyond which they are 0. theta [R, p], p >= r: the starts theta_0, inside the ball; left at theta_count.
    average [R, p]: output.
    """
    runs, p = theta.shape
    dense = np.zeros(p)
    scratch = np.empty((3, p))
    z, slopes, labels = np.empty(runs), np.empty(runs), np.empty(runs)
    for k in range(runs):
        for j in range(p):
            average[k, j] = theta[k, j]
    for i in range(first, first + count):
        if len(records) == 1:
            row = records[0][i]
        else:
            pointers, columns, values = records
            for k in range(pointers[i], pointers[i + 1]):
                dense[columns[k]] = values[k]
            row = dense
        r = row.size
        for k in range(runs):
            product = 0.0
            for j in range(r):
                product += row[j] * theta[k, j]
            z[k] = product
            labels[k] = y[i]
        derivative(z, labels, h, slopes)
        for k in range(runs):
            at, mean, move = theta[k], average[k], step * slopes[k]
            if move != 0.0:
                for j in range(r):
                    at[j] -= move * row[j]
                project_row(at, order, radius, scratch)
            for j in range(p):
                mean[j] += at[j]
        if len(records) == 3:
            pointers, columns, values = records
            for k in range(pointers[i], pointers[i + 1]):
                dense[columns[k]] = 0.0
    for k in range(runs):
        for j in range(p):
            average[k, j] /= count + 1.0
