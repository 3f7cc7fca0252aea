"""Call the compiled functions of `losses` from Python, on vectors and on one row per repetition."""

from __future__ import annotations

from numba import njit

_OPTIONS = {"nogil": True}
_BLOCK = 512


@njit(**_OPTIONS)
def apply(function, z, y, h, out):
    """out[i] = function(z[i]; y[i])."""
    function(z, y, h, out)


@njit(error_model="numpy", fastmath={"reassoc", "contract", "nsz"}, **_OPTIONS)
def apply_along(function, z, change, share, y, h, before, end, out):
    """end = z + share change, out[i] = function(end[i]; y[i]); returns <out - before, change>.

    In blocks that stay in the nearest cache, where going over them three times costs next to nothing.
    """
    total = 0.0
    for start in range(0, z.size, _BLOCK):
        block = slice(start, min(start + _BLOCK, z.size))
        here, moved, earlier, there, values = z[block], change[block], before[block], end[block], out[block]
        for i in range(here.size):
            there[i] = here[i] + share * moved[i]
        function(there, y[block], h, values)
        for i in range(here.size):
            total += (values[i] - earlier[i]) * moved[i]
    return total


@njit(**_OPTIONS)
def row_means(function, margins, noise, scale, y, h, out):
    """out[r] = mean_i function(margins[i] + scale * noise[r, i]; y[i]), a repetition per row of `noise`."""
    z = margins.copy()
    values = margins.copy()
    for r in range(noise.shape[0]):
        for i in range(z.size):
            z[i] = margins[i] + scale * noise[r, i]
        function(z, y, h, values)
        out[r] = values.mean()


@njit(**_OPTIONS)
def row_accuracies(margins, noise, scale, y, out):
    """out[r] = share of i with y[i] * (margins[i] + scale * noise[r, i]) > 0."""
    for r in range(noise.shape[0]):
        right = 0
        for i in range(margins.size):
            right += y[i] * (margins[i] + scale * noise[r, i]) > 0.0
        out[r] = right / margins.size


@njit(**_OPTIONS)
def gaussian_mean(function, z, y, sd, h, out):
    """out[i] = E function(z[i] + sd[i] * g; y[i]) with g ~ N(0, 1)."""
    function(z, y, sd, h, out)
