"""From a model to its gradient in one pass over a table that does not fit into the nearest caches."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, error_model="numpy")
def sweep(function, X, theta, y, h, rows, z, slopes, pulled):
    """z = X theta [n], slopes[i] = function(z[i]; y[i]) and pulled = slopes X [r], by blocks of `rows` rows."""
    part = np.empty_like(pulled)
    for j in range(pulled.size):
        pulled[j] = 0.0
    for start in range(0, z.size, rows):
        block = slice(start, min(start + rows, z.size))
        np.dot(X[block], theta, z[block])
        function(z[block], y[block], h, slopes[block])
        np.dot(slopes[block], X[block], part)
        for j in range(pulled.size):
            pulled[j] += part[j]
