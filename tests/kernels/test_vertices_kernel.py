"""Draws of vertices against their probabilities, counted over an even grid of uniforms: nothing here is random."""

import numpy as np
import pytest

from dpcore import kernels

POINTS = 20_000


def drawn(scores, sharpness, idle, signed, uniforms):
    """Column and sign for each row of uniforms, all with the same scores [r]."""
    count = len(uniforms)
    columns, signs = np.empty(count, np.int64), np.empty(count)
    rows, room = np.tile(scores, (count, 1)), np.empty(len(scores))
    kernels.draw_vertices(rows, np.full(count, sharpness), idle, signed, uniforms, room, columns, signs)
    return columns, signs


def shares(scores, sharpness, idle, signed):
    """Probabilities of the columns [r + idle], by logarithms."""
    x = sharpness * np.append(scores.astype(float), np.zeros(idle))
    logs = np.logaddexp(x, -x) if signed else -x
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


@pytest.mark.parametrize("score", [-1.1, -0.2, 0.0, 0.7])
def test_signs_come_as_often_as_they_should(score):
    grid = (np.arange(POINTS) + 0.5) / POINTS
    _, signs = drawn(np.array([score]), 2.0, 0, True, np.column_stack([grid, grid]))
    share = np.exp(-2.0 * score) / (np.exp(-2.0 * score) + np.exp(2.0 * score))
    assert abs(np.count_nonzero(signs > 0) - POINTS * share) < 0.51
    assert (drawn(np.array([score]), 2.0, 0, False, np.column_stack([grid, grid]))[1] == 1.0).all()


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("sharpness", [1e-12, 1e3, 1e9])
@pytest.mark.parametrize("shift", [-5.0, 5.0])
def test_scores_of_any_size_are_drawn_by_their_differences(signed, sharpness, shift):
    scores = shift + np.array([0.0, 1.0, 2.0]) / sharpness
    grid = (np.arange(POINTS) + 0.5) / POINTS
    columns, signs = drawn(scores, sharpness, 0, signed, np.column_stack([grid, grid]))
    expected = POINTS * shares(scores, sharpness, 0, signed)
    assert np.abs(np.bincount(columns, minlength=3) - expected).max() < 1.01
    if signed and sharpness > 1.0:
        assert (signs == (-1.0 if shift > 0.0 else 1.0)).all()


def test_the_last_uniform_below_one_finds_the_last_column():
    last = np.full((1, 2), np.nextafter(1.0, 0.0))
    for r in (1, 64, 130):
        assert drawn(np.zeros(r), 1.0, 0, True, last)[0][0] == r - 1
        assert drawn(np.zeros(r), 1.0, 4, True, last)[0][0] == r + 3


@pytest.mark.parametrize("signed", [True, False])
def test_the_best_of_noisy_scores_is_the_smallest_sum(signed):
    rng, sides = np.random.default_rng(0), 2 if signed else 1
    scores, noise, streams = rng.normal(size=(6, 37)), rng.uniform(0.1, 2.0, 6), np.array([0, 2, 1, 1, 0, 2])
    draws = rng.laplace(size=(3, sides * 37))
    columns, signs, values = np.empty(6, np.int64), np.empty(6), np.empty(6)
    kernels.best_of_noisy(scores, noise, draws, streams, signed, columns, signs, values)
    sums = np.hstack([scores, -scores][:sides]) + noise[:, None] * draws[streams]
    assert np.array_equal(columns, sums.argmin(axis=1) % 37)
    assert np.array_equal(signs, np.where(sums.argmin(axis=1) < 37, 1.0, -1.0))
    assert values == pytest.approx(sums.min(axis=1), abs=1e-15)


def test_tallies_of_columns_that_share_a_place_stay_apart():
    keys, sums, totals = np.zeros((2, 8), np.int64), np.zeros((2, 8), np.int64), np.zeros(2, np.int64)
    kept: list[dict[int, int]] = [{}, {}]
    rng = np.random.default_rng(1)
    for _ in range(60):
        columns, gains = 8 * rng.integers(0, 6, 2), rng.integers(-5, 6, 2)
        kernels.tally(keys, sums, totals, columns, gains)
        for k in range(2):
            kept[k][columns[k]] = kept[k].get(columns[k], 0) + gains[k]
        assert totals.tolist() == [sum(map(abs, one.values())) for one in kept]
