"""Whole runs of Frank-Wolfe on sparse records: the cost of a step is that of the chosen column, not of the table.

theta_t = share_t (theta_1 + sum over s < t of (s + 1) v_s), share_t = 2 / (t (t + 1)), v_s the vertices. So the
predictions are share_t w with w = X (theta_1 + ...), and a step changes w only in the rows of the chosen column.

Choices follow the exponential mechanism exactly, P(v) ~ exp(-<v, grad F> / b), yet most columns are never read.
Let |l'| <= S_t at step t and m_j = sum_i |x_ij|. Then a_j = size g_j / b has |a_j| <= reach_t m_j,
reach_t = size S_t / (n b). Columns with m_j <= m are light, the others are heavy. On the L1 ball the weight of column j
(both its vertices) is 2 cosh(a_j), for a light one at most 2 cosh(A), A = reach_t m. A proposal is a heavy column, each
with its weight, or with weight 2 p cosh(A) a column drawn uniformly from all p, which counts with probability
cosh(a_j) / cosh(A) if it is light and never if it is heavy. One proposal thus ends in column j with probability
2 cosh(a_j) over the same constant for all columns, heavy or light; repetition until one counts gives the exact law.
The number of proposals is at most cosh(A) p / (p - heavy) on average, since weights are at least 2. On the simplex
exp(-a_j) replaces cosh(a_j), and the number is at most exp(2 A) p / (p - heavy). Only gradients of heavy columns are
therefore kept up to date; that of a light column is computed when it is proposed.
"""

import math

import numpy as np
from numba import njit

from .frank_wolfe import draw_vertices
from .random_draws import passed
from .vector_math import exp

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}

# Bounds on |dl/dz| for |z| <= reach: a constant, 2 (reach + y_max), or 1 / (1 + exp(-reach)).
CONSTANT, AFFINE, SIGMOID = 0, 1, 2
# Changes of this share of the heavy columns' entries cost as much as computing their gradient anew.
_SWITCH = 1.0 / 3.0
_ROUNDING = 1.0 + 1e-9  # bounds are compared with sums in floating point


@njit(**_OPTIONS)
def _steepness(kind, reach, y_max):
    if kind == AFFINE:
        return 2.0 * (reach + y_max)
    if kind == SIGMOID:
        return 1.0 / (1.0 + math.exp(-reach))
    return 1.0


@njit(**_OPTIONS)
def _weight(a, signed):
    """Weight of a column, both of its vertices together, over its value at a = 0."""
    return math.cosh(a) if signed else math.exp(-a)


@njit(**_OPTIONS)
def _column_gradient(derivative, h, y, columns, j, predictions, share, z, labels, slopes):
    """g_j = (1/n) sum_i x_ij l'(share predictions_i; y_i)."""
    pointers, rows, values = columns
    start, count = np.int64(pointers[j]), np.int64(pointers[j + 1]) - np.int64(pointers[j])
    for k in range(count):
        i = rows[start + k]
        z[k] = share * predictions[i]
        labels[k] = y[i]
    derivative(z[:count], labels[:count], h, slopes[:count])
    total = 0.0
    for k in range(count):
        total += values[start + k] * slopes[k]
    return total / y.size


@njit(**_OPTIONS)
def _gather(columns, heavy, rows_of, out):
    """out[k] = (1/n) sum_i x_ij rows_of[i] for the heavy columns j."""
    pointers, rows, values = columns
    for k in range(heavy.size):
        total = 0.0
        for e in range(pointers[heavy[k]], pointers[heavy[k] + 1]):
            total += values[e] * rows_of[rows[e]]
        out[k] = total / rows_of.size


@njit(**_OPTIONS)
def _pick(
    derivative, h, y, columns, masses, light, heavy, scores, p, signed, size, sharp, reach, predictions, share, rng,
    sums, z, labels, slopes,
):  # fmt: skip
    """Column drawn by proposals (see the module), and its score size g_j. scores [heavy]: size g_j; sharp: 1 / b."""
    bound = reach * light * _ROUNDING
    top = bound
    for k in range(heavy.size):
        top = max(top, abs(scores[k]) * sharp if signed else -scores[k] * sharp)
    stored = 0.0
    for k in range(heavy.size):
        a = sharp * scores[k]
        stored += 0.5 * (exp(a - top) + exp(-a - top)) if signed else exp(-a - top)
        sums[k] = stored
    most = _weight(-bound, signed)
    total = stored + p * (0.5 * (exp(bound - top) + exp(-bound - top)) if signed else exp(bound - top))
    while True:
        level = rng.random() * total
        if level < stored:
            k = min(passed(sums, level), heavy.size - 1)
            return heavy[k], scores[k]
        j = min(np.int64(rng.random() * p), p - 1)
        if j < masses.size and masses[j] > light:
            continue
        height = rng.random() * most
        if j >= masses.size:
            score = 0.0
        elif height > _weight(-reach * _ROUNDING * masses[j], signed):
            continue
        else:
            score = size * _column_gradient(derivative, h, y, columns, j, predictions, share, z, labels, slopes)
        if height <= _weight(sharp * score, signed):
            return j, score


@njit(**_OPTIONS)
def _change_square(columns, rows, heavy, j, length, predictions, gradient):
    """gradient = X'predictions / n over the heavy columns, after predictions moved by length times column j."""
    pointers, inside, values = columns
    row_pointers, row_columns, row_values = rows
    changes = np.int64(0)
    for e in range(pointers[j], pointers[j + 1]):
        changes += np.int64(row_pointers[inside[e] + 1]) - np.int64(row_pointers[inside[e]])
    if changes > _SWITCH * row_values.size:
        _gather(columns, heavy, predictions, gradient)
        return
    for e in range(pointers[j], pointers[j + 1]):
        moved = length * values[e] / predictions.size
        for k in range(row_pointers[inside[e]], row_pointers[inside[e] + 1]):
            gradient[row_columns[k]] += moved * row_values[k]


@njit(**_OPTIONS)
def _touch(row_pointers, i, touched, counts, seen):
    if not seen[i]:
        seen[i] = True
        touched[counts[0]] = i
        counts[0] += 1
        counts[1] += np.int64(row_pointers[i + 1]) - np.int64(row_pointers[i])


@njit(**_OPTIONS)
def _change_slopes(
    derivative, h, y, columns, rows, heavy, share, predictions, slopes, gradient, touched, counts, z, labels, fresh
):
    """slopes = l' at share times predictions, and gradient = X'slopes / n over the heavy columns."""
    row_pointers, row_columns, row_values = rows
    if counts[1] > _SWITCH * row_values.size:
        for i in range(y.size):
            z[i] = share * predictions[i]
        derivative(z, y, h, slopes)
        _gather(columns, heavy, slopes, gradient)
        return
    # Rows without a chosen column predict 0 as before: the share moves only the others.
    for a in range(counts[0]):
        z[a] = share * predictions[touched[a]]
        labels[a] = y[touched[a]]
    derivative(z[: counts[0]], labels[: counts[0]], h, fresh[: counts[0]])
    for a in range(counts[0]):
        i = touched[a]
        moved = (fresh[a] - slopes[i]) / y.size
        slopes[i] = fresh[a]
        for k in range(row_pointers[i], row_pointers[i + 1]):
            gradient[row_columns[k]] += moved * row_values[k]


@njit(**_OPTIONS)
def sparse_frank_wolfe(
    derivative, squared, y, h, columns, masses, light, rows, heavy, p, signed, lazy, size, noise,
    local, declared, kept, rng, first, last,
    predictions, norm, gradient, linear, slopes, touched, counts, chosen, signs,
):  # fmt: skip
    """Make choices t = first, ..., last - 1 of a run, from the state after the choices before; first = 1 starts.

    columns: (pointers, rows, values), the table by columns, with unsigned indices; masses [r]: sum_i |x_ij|. heavy:
    the columns of mass above `light`, or all if not `lazy`: then every choice reads every column, with the two uniforms
    of `draw_vertices`. rows: the table of the heavy columns alone by rows, renumbered from 0. p: columns in
    all, idle ones included. size: of the set. noise: b where ||theta||_1 = size; on the L1 ball and where `local`, it
    is smaller elsewhere in proportion to the bound on |dl/dz|. declared, kept: (kind of bound, largest |x|, largest
    |y|), for the scale of the noise, and of the records.

    Arrays kept from call to call: predictions [n], at first X theta_1, then as above; norm [1]: ||theta_t||_1;
    gradient [heavy]: of F, for squared loss X'predictions / n, and linear [heavy]: X'y / n; slopes [n]: l' of the rows;
    touched [n], counts [2]: rows where predictions are not 0, how many, and how many heavy entries they have.
    chosen, signs [T - 1]: the result.
    """
    n, r = y.size, masses.size
    pointers, inside, values = columns
    scores, sums = np.empty((1, heavy.size)), np.empty(heavy.size)
    z, labels, fresh = np.empty(n), np.empty(n), np.empty(n)
    uniforms, column, sign, sharpness = np.empty((1, 2)), np.empty(1, np.int64), np.empty(1), np.empty(1)
    follow = heavy.size > 0 and not squared
    seen = np.zeros(n if follow else 0, np.bool_)
    if follow:
        for a in range(counts[0]):
            seen[touched[a]] = True
    if first == 1:
        if follow:
            derivative(predictions, y, h, slopes)
            for i in range(n):
                if predictions[i] != 0.0:
                    _touch(rows[0], i, touched, counts, seen)
        _gather(columns, heavy, predictions if squared else slopes, gradient)
        if squared:
            _gather(columns, heavy, y, linear)
    largest = _steepness(declared[0], declared[1] * size, declared[2])
    for t in range(first, last):
        share = 2.0 / (t * (t + 1.0))
        scale = noise * (_steepness(declared[0], declared[1] * norm[0], declared[2]) / largest) if local else noise
        sharpness[0] = 1.0 / scale
        for k in range(heavy.size):
            scores[0, k] = size * (2.0 * (share * gradient[k] - linear[k]) if squared else gradient[k])
        if lazy:
            reach = size * _steepness(kept[0], kept[1] * norm[0], kept[2]) / (n * scale)
            j, score = _pick(
                derivative, h, y, columns, masses, light, heavy, scores[0], p, signed, size, sharpness[0], reach,
                predictions, share, rng, sums, z, labels, fresh,
            )  # fmt: skip
            s = 1.0
            if signed and rng.random() * (1.0 + math.exp(min(2.0 * sharpness[0] * score, 700.0))) >= 1.0:
                s = -1.0
        else:
            uniforms[0, 0] = rng.random()
            uniforms[0, 1] = rng.random()
            draw_vertices(scores, sharpness, p - r, signed, uniforms, sums, column, sign)
            j, s = column[0], sign[0]
        if signed:
            before = 0.0
            for e in range(t - 1):
                before += (e + 2.0) * signs[e] if chosen[e] == j else 0.0
            mu = 2.0 / (t + 2.0)
            shrunk = (1.0 - mu) * (size * share * before)
            norm[0] = (1.0 - mu) * norm[0] - abs(shrunk) + abs(shrunk + mu * size * s)
        chosen[t - 1], signs[t - 1] = j, s
        share = 2.0 / ((t + 1.0) * (t + 2.0))  # from here on at theta_{t + 1}
        length = (t + 1.0) * size * s
        if j < r:
            for e in range(pointers[j], pointers[j + 1]):
                predictions[inside[e]] += length * values[e]
                if follow:
                    _touch(rows[0], inside[e], touched, counts, seen)
            if squared and heavy.size > 0:
                _change_square(columns, rows, heavy, j, length, predictions, gradient)
        if follow:
            _change_slopes(
                derivative, h, y, columns, rows, heavy, share, predictions, slopes, gradient, touched, counts,
                z, labels, fresh,
            )  # fmt: skip
