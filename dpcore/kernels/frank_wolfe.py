"""Inner loops of Frank-Wolfe: choices among the vertices of a polytope, and their effect on gradients and norms.

Each run is a row; the rows of one call are steps of different runs that advance together.
"""

import numpy as np
from numba import njit

from .vector_math import exp

# Scores are finite numbers; only sums over columns are reordered.
_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz", "nnan"}}
_BLOCK = 64


@njit(**_OPTIONS)
def _pair_weights(scores, sharp, highest, opposite, weights):
    """weights = e^(x - highest) + e^(-x - highest) with x = sharp |scores|. opposite: e^(-2 highest)."""
    for j in range(weights.size):
        weight = exp(sharp * abs(scores[j]) - highest)
        weights[j] = weight + opposite / weight


@njit(**_OPTIONS)
def _weights(scores, sharp, highest, weights):
    """weights = e^(-sharp scores - highest)."""
    for j in range(weights.size):
        weights[j] = exp(-sharp * scores[j] - highest)


@njit(**_OPTIONS)
def _sum(weights):
    total = 0.0
    for j in range(weights.size):
        total += weights[j]
    return total


@njit(**_OPTIONS)
def _farthest(scores, origin):
    """Largest |score - origin|, found as the largest of their bit patterns as integers: only that is vectorised."""
    found = np.int64(0)
    for j in range(scores.size):
        distance = np.float64(abs(scores[j] - origin)).view(np.int64)
        found = distance if distance > found else found
    return np.int64(found).view(np.float64)


@njit(forceinline=True, **_OPTIONS)
def _column_at(level, weights, ends, r):
    """Column at which the running sum of the weights passes `level`; no branch depends on its position."""
    block = 0
    for b in range(ends.size):
        block += ends[b] <= level
    block = min(block, ends.size - 1)
    if block > 0:
        level -= ends[block - 1]
    column, last, passed = block * _BLOCK, min((block + 1) * _BLOCK, r), 0.0
    for j in range(block * _BLOCK, last):
        passed += weights[j]
        column += passed <= level
    return min(column, last - 1)


@njit(**_OPTIONS)
def draw_vertices(scores, sharpness, idle, signed, uniforms, weights, columns, signs):
    """Draw for each row k a vertex v with probability proportional to exp(-sharpness_k <v, scores_k>).

    scores [K, r]; idle: further columns whose scores are all 0. Vertices are +e_j and -e_j where `signed`, else e_j.
    uniforms [K, 2], in [0, 1): the first picks the column, whose weight is that of both its vertices together, the
    second the sign. weights [r]: work space. columns, signs [K]: the result; idle columns are numbered from r on.
    Sums over blocks of columns replace a running sum, in which each number would wait for the one before.
    """
    r = scores.shape[1]
    ends = np.empty((r + _BLOCK - 1) // _BLOCK)
    for k in range(scores.shape[0]):
        row, sharp = scores[k], sharpness[k]
        highest = _farthest(row, 0.0)
        if not signed:
            highest = _farthest(row, highest) - highest
            highest = max(highest, 0.0) if idle else highest
        highest *= sharp
        opposite = exp(-2.0 * highest) if highest < 300.0 else 0.0
        each = 2.0 * exp(-highest) if signed else exp(-highest)
        if signed:
            _pair_weights(row, sharp, highest, opposite, weights)
        else:
            _weights(row, sharp, highest, weights)
        stored = 0.0
        for b in range(ends.size):
            stored += _sum(weights[b * _BLOCK : (b + 1) * _BLOCK])
            ends[b] = stored
        level = uniforms[k, 0] * (stored + idle * each)
        if idle and level >= stored:
            columns[k] = r + min(int((level - stored) / each), idle - 1)
            score = 0.0
        else:
            columns[k] = _column_at(level, weights, ends, r)
            score = row[columns[k]]
        negative = signed and uniforms[k, 1] * (1.0 + np.exp(min(2.0 * sharp * score, 700.0))) >= 1.0
        signs[k] = -1.0 if negative else 1.0


@njit(**_OPTIONS)
def best_of_noisy(scores, noise, draws, streams, signed, columns, signs, values):
    """Find for each row k the vertex v with the smallest <v, scores_k> + noise_k draws[streams_k, v], and that value.

    scores [K, r]; draws [., r], or [., 2 r] where `signed`: those of +e_1, ..., +e_r, then of -e_1, ..., -e_r. Of equal
    values the first wins. columns, signs, values [K]: the result.
    """
    r = scores.shape[1]
    for k in range(scores.shape[0]):
        row, drawn, scale = scores[k], draws[streams[k]], noise[k]
        best, chosen, sign = np.inf, 0, 1.0
        for j in range(r):
            value = row[j] + scale * drawn[j]
            if value < best:
                best, chosen = value, j
        if signed:
            for j in range(r):
                value = scale * drawn[r + j] - row[j]
                if value < best:
                    best, chosen, sign = value, j, -1.0
        columns[k], signs[k], values[k] = chosen, sign, best


@njit(**_OPTIONS)
def follow(gradients, mu, lengths, columns, slots, table, linear, squares, products):
    """Take a step of theta' G theta - 2 <linear, theta>: theta_k <- (1 - mu) theta_k + mu lengths_k e_(columns_k).

    gradients [K, r] = 2 (G theta_k - linear), squares [K] = theta_k' G theta_k and products [K] = <linear, theta_k> are
    updated. table[slots_k] is that column of G; slots_k is -1 for an idle column, where G and linear are 0.
    """
    stay = 1.0 - mu
    for k in range(columns.size):
        row, gain = gradients[k], mu * lengths[k]
        squares[k] *= stay * stay
        products[k] *= stay
        if slots[k] >= 0:
            j, moved = columns[k], table[slots[k]]
            squares[k] += gain * (stay * (row[j] + 2.0 * linear[j]) + gain * moved[j])
            products[k] += gain * linear[j]
            for i in range(row.size):
                row[i] = stay * row[i] + 2.0 * (gain * moved[i] - mu * linear[i])
        else:
            for i in range(row.size):
                row[i] = stay * row[i] - 2.0 * mu * linear[i]


@njit(**_OPTIONS)
def tally(keys, sums, totals, columns, gains):
    """Add gains_k to the sum that run k keeps for columns_k; totals[k] is the sum of |sums| of run k.

    keys, sums int64 [K, m], all 0 at first: a hash table for each run, m a power of two above its number of columns.
    """
    mask = keys.shape[1] - 1
    for k in range(columns.size):
        key = columns[k] + 1
        slot = key & mask
        while keys[k, slot] != 0 and keys[k, slot] != key:
            slot = (slot + 1) & mask
        keys[k, slot] = key
        before = abs(sums[k, slot])
        sums[k, slot] += gains[k]
        totals[k] += abs(sums[k, slot]) - before
