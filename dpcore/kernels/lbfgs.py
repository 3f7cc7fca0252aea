"""Two halves of the two-loop recursion of limited-memory BFGS, with the pairs of steps kept in single precision.

moves, changes [k, r]: unit vectors along each step and along the change of the gradient there, in a ring whose latest
row is `last`, `count` of them; cosines [k] between the two, ratios [k] of their lengths. Rounding them hardly affects
the direction, does not affect the accuracy of the solution, and halves the memory that a step reads. Each pair's sum is
computed while the vector is changed for the pair before.
"""

import math

from numba import njit

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


@njit(**_OPTIONS)
def keep_secant(before, after, gradient_before, gradient_after, move, change):
    """Write unit vectors along a step and along the change of the gradient; returns their cosine and lengths' ratio.

    Nothing is written unless the cosine is > 0, as it is for every convex function.
    """
    product, length, turn = 0.0, 0.0, 0.0
    for j in range(after.size):
        s, y = after[j] - before[j], gradient_after[j] - gradient_before[j]
        product += s * y
        length += s * s
        turn += y * y
    if not product > 0.0:
        return 0.0, 0.0
    length, turn = math.sqrt(length), math.sqrt(turn)
    for j in range(after.size):
        move[j] = (after[j] - before[j]) / length
        change[j] = (gradient_after[j] - gradient_before[j]) / turn
    return product / (length * turn), length / turn


@njit(**_OPTIONS)
def _subtract(share, vector, other, q):
    """q -= share * vector; returns <other, q>."""
    product = 0.0
    for j in range(q.size):
        q[j] -= share * vector[j]
        product += other[j] * q[j]
    return product


@njit(**_OPTIONS)
def fold_secants(moves, changes, cosines, last, count, shares, q):
    """The first loop, from the latest pair to the oldest: q [r] and the shares [k] that the second needs, in place."""
    if not count:
        return
    product = _subtract(0.0, moves[last], moves[last], q)
    for step in range(count):
        k = (last - step) % len(moves)
        shares[k] = product / cosines[k]
        product = _subtract(shares[k], changes[k], moves[(k - 1) % len(moves)], q)


@njit(**_OPTIONS)
def unfold_secants(moves, changes, cosines, ratios, last, count, shares, q):
    """The second loop, from the oldest pair to the latest, on the preconditioned q, in place."""
    if not count:
        return
    oldest = (last - count + 1) % len(moves)
    product = _subtract(0.0, moves[oldest], changes[oldest], q)
    for step in range(count):
        k = (oldest + step) % len(moves)
        share = product / cosines[k] - ratios[k] * shares[k]
        product = _subtract(share, moves[k], changes[(k + 1) % len(moves)], q)
