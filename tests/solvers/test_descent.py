"""Batched noisy descent: step by step the same as a plain loop, and the exact law of columns that are not stored."""

import itertools
import math
from concurrent.futures import CancelledError

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from dpcore import Data
from dpcore.core.losses import get_loss
from dpcore.kernels import SINGLE_DERIVATIVE
from dpcore.solvers.descent import noisy_gd
from dpcore.solvers.descent.noisy_gd import Schedule, gradient_descent, noise_of_steps
from tests.nights import each
from tests.problems import BALL, LINEAR, LOCATION, PROBLEMS, for_loss, random_records

ONE, PAIR = np.ones(1), np.array([1.0, -1.0])
# Different lengths, step rules, regularisers and averages, none of them in the order of its length.
SCHEDULES = [
    Schedule(np.full(12, 0.7), noise=0.05, lam=0.0, first=7),
    Schedule(1.5 / np.sqrt(np.arange(1, 41)), noise=0.3, lam=0.02, first=40),
    Schedule(np.full(3, 0.2), noise=0.0, lam=0.5, first=1),
    Schedule(np.full(25, 2.0), noise=0.1, lam=0.1, first=1),
    Schedule(np.full(12, 0.01), noise=4.0, lam=0.0, first=12),
]


def rngs(*seeds) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in seeds]


def plain_gradient(key: str, data: Data, theta: np.ndarray) -> np.ndarray:
    """Record by record, in all columns of theta."""
    loss, total = get_loss(key), np.zeros_like(theta)
    rows = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    for row, y in zip(rows, data.y, strict=True):
        x = np.append(row, np.zeros(len(theta) - len(row)))
        z = x @ theta if loss.linear else np.linalg.norm(theta - x)
        slope = loss.derivative(np.array([z]), np.array([y]))[0]
        total += slope * (x if loss.linear else (theta - x) / z if z else 0.0 * x)
    return total / data.n


def plain_descent(key, data, schedule, xi, radius) -> np.ndarray:
    """One model and one schedule; xi: [T, columns]."""
    theta, kept = np.zeros(xi.shape[1]), []
    for t in range(schedule.steps):
        gradient = plain_gradient(key, data, theta) + schedule.lam * theta + schedule.noise * xi[t]
        theta = theta - schedule.etas[t] * gradient
        if radius is not None and np.linalg.norm(theta) > radius:
            theta = theta * (radius / np.linalg.norm(theta))
        if t + 1 >= schedule.first:
            kept.append(theta)
    return np.mean(kept, axis=0)


def descend(key, data, schedules=SCHEDULES, seeds=(1, 2), signs=ONE, radius=None, idle=0, stored=None, **options):
    facts = dict(radius=radius, stored=stored or data.stored, idle=idle)
    return gradient_descent(get_loss(key), data, schedules, rngs(*seeds), signs, **facts, **options)


@pytest.mark.parametrize("radius, key", each(2, itertools.product([None, 0.6], BALL)))
def test_every_schedule_goes_as_a_plain_loop_does(key, radius):
    """Repetition 2's opposite noise included, and a last model without; the noise of a seed is what its generator draws
    row by row."""
    data = for_loss(key, PROBLEMS["more columns than rows"])
    found = descend(key, data, signs=PAIR, radius=radius, quiet=True)
    assert found.shape == (5, 5, data.p)
    for k, schedule in enumerate(SCHEDULES):
        quiet = plain_descent(key, data, schedule, np.zeros((schedule.steps, data.p)), radius)
        assert np.allclose(found[k, 4], quiet, rtol=1e-9, atol=1e-11)
        for r, seed in enumerate((1, 2)):
            xi = np.random.default_rng(seed).standard_normal((schedule.steps, data.p))
            for s, sign in enumerate(PAIR):
                expected = plain_descent(key, data, schedule, sign * xi, radius)
                assert np.allclose(found[k, 2 * r + s], expected, rtol=1e-9, atol=1e-11)
    if radius is not None:
        free = descend(key, data, signs=PAIR, quiet=True)
        assert np.linalg.norm(found - free, axis=2).max() > 0.1, "the ball must matter"


@pytest.mark.parametrize("key", LINEAR)
def test_sparse_records_descend_like_dense_ones(key):
    data = for_loss(key, PROBLEMS["more columns than rows"])
    thinned = np.where(np.abs(data.X) > 0.1, data.X, 0.0)
    dense, sparse = Data(thinned, data.y), Data(csr_array(thinned), data.y)
    assert sparse.sparse and np.allclose(descend(key, sparse), descend(key, dense), rtol=1e-10, atol=1e-12)
    single = descend(key, sparse, radius=2.0, single=True)
    assert np.allclose(single, descend(key, dense, radius=2.0), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("key", BALL)
def test_pictures_in_single_precision_are_close(key):
    data = for_loss(key, PROBLEMS["full rank"])
    double, single = (descend(key, data, radius=2.0, single=single) for single in (False, True))
    assert np.allclose(single, double, rtol=1e-3, atol=1e-4)
    assert np.array_equal(single, double) == (key not in SINGLE_DERIVATIVE)


@pytest.mark.parametrize("key", LOCATION)
def test_points_move_in_columns_that_no_record_fills(key):
    data = Data(PROBLEMS["two records"].X, np.zeros(2), p=6)
    found = descend(key, data, stored=6, radius=1.0)
    for k, schedule in enumerate(SCHEDULES):
        xi = np.random.default_rng(1).standard_normal((schedule.steps, 6))
        assert np.allclose(found[k, 0], plain_descent(key, data, schedule, xi, 1.0), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("idle", [1, 2, 40])
def test_idle_columns_have_the_law_of_explicit_ones(idle):
    """Two-sample Kolmogorov-Smirnov of the stored coordinate along the signal and of the stored length, 4,000 releases
    each, at 1e-7: false alarm below 1e-6 over all cases. Leaving the idle columns out is seen wherever they are many.
    """
    data = for_loss("logistic", PROBLEMS["separable"])
    schedules = [
        Schedule(np.full(12, 1.0), noise=0.1, lam=0.0, first=12),
        Schedule(1.5 / np.sqrt(np.arange(1, 9)), noise=0.3, lam=0.4, first=3),
    ]
    seeds, r = range(2_000), data.stored
    short = descend("logistic", data, schedules, seeds, PAIR, 0.5, idle)
    padded = Data(np.hstack([data.X, np.zeros((data.n, idle))]), data.y)
    wide = descend("logistic", padded, schedules, range(5_000, 7_000), PAIR, 0.5)[:, :, :r]
    without = descend("logistic", data, schedules, seeds, PAIR, 0.5)
    signal = short.mean(axis=(0, 1)) / np.linalg.norm(short.mean(axis=(0, 1)))

    def levels(one, two):
        for k in range(len(schedules)):
            # Opposite signs are tested apart: the two models of a pair are not independent.
            for s in range(2):
                a, b = one[k, s::2], two[k, s::2]
                yield stats.ks_2samp(a @ signal, b @ signal).pvalue
                yield stats.ks_2samp(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)).pvalue

    assert min(levels(short, wide)) > 1e-7
    if idle == 40:
        assert min(levels(without, wide)) < 1e-12


def test_the_length_in_idle_columns_is_the_noise_alone():
    """One step from 0 with the ball reached in every run: stored / radius is then known from xi and a chi-square.

    Kolmogorov-Smirnov against the exact law of a coordinate on the sphere: 4,000 runs, false alarm 1e-7.
    """
    schedule = [Schedule(np.ones(1), noise=1e6, lam=0.0, first=1)]
    theta = descend("logistic", PROBLEMS["one column"], schedule, range(4_000), radius=1.0, idle=3)[0, :, 0]
    assert stats.kstest(theta**2, stats.beta(0.5, 1.5).cdf).pvalue > 1e-7
    assert stats.kstest(theta**2, stats.beta(0.5, 1.0).cdf).pvalue < 1e-7


@pytest.mark.parametrize("idle, radius", each(2, [(0, None), (0, 0.6), (5, 0.6), (1, 0.6)]))
def test_a_repetition_does_not_know_what_runs_beside_it(idle, radius):
    """Other repetitions, other schedules, longer ones too, opposite signs: nothing but rounding changes."""
    data = PROBLEMS["full rank"]
    long = Schedule(np.full(4_000, 0.1), noise=0.2, lam=0.0, first=4_000)  # several blocks of noise
    facts = dict(radius=radius, idle=idle)
    together = descend("logistic", data, [*SCHEDULES, long], (1, 2, 3), PAIR, **facts)
    for k, schedule in enumerate([*SCHEDULES, long]):
        alone = descend("logistic", data, [schedule], (2,), **facts)[0, 0]
        assert np.allclose(together[k, 2], alone, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("idle", [0, 5])
def test_a_shorter_descent_meets_the_first_steps_of_the_same_noise(idle):
    def drawn(steps):
        return list(itertools.islice(noise_of_steps(rngs(3, 4), 600, idle), steps))

    whole = drawn(70)  # blocks of 27 steps
    assert len(whole) == 70
    for steps in (1, 26, 27, 28, 69):
        for (xi, along, across), (whole_xi, whole_along, whole_across) in zip(drawn(steps), whole, strict=False):
            assert np.array_equal(xi, whole_xi) and xi.shape == (2, 600)
            assert np.array_equal(along, whole_along) and np.array_equal(across, whole_across)
    numbers = np.array([xi for xi, _, _ in whole])
    assert len(np.unique(numbers)) == numbers.size, "no number is used twice"


def test_columns_that_fill_a_block_get_one_step_each():
    normals = np.stack([xi[0] for xi, *_ in itertools.islice(noise_of_steps(rngs(0), 40_000, 0), 3)])
    assert np.array_equal(normals, np.random.default_rng(0).standard_normal((3, 40_000)))


def test_watching_shows_the_noisy_gradients_of_the_longest_schedule():
    data, seen = PROBLEMS["full rank"], []
    answers = descend("logistic", data, [SCHEDULES[0], SCHEDULES[1]], radius=0.6, watch=seen.append)
    assert len(seen) == 40 and seen[0].shape == (2, data.p)
    schedule, theta = SCHEDULES[1], np.zeros((2, data.p))
    for t, gradients in enumerate(seen):
        xi = [np.random.default_rng(seed).standard_normal((40, data.p))[t] for seed in (1, 2)]
        clean = get_loss("logistic").gradients(data, theta) + schedule.lam * theta
        assert np.allclose(gradients, clean + schedule.noise * np.array(xi), rtol=1e-9, atol=1e-12)
        theta = schedule.after(t, theta, gradients, 0.6)
        assert np.linalg.norm(theta, axis=1).max() <= 0.6 * (1 + 1e-15)
    assert np.allclose(answers[1], theta, rtol=1e-9, atol=1e-12)
    assert np.array_equal(schedule.after(0, np.zeros((1, 2)), np.zeros((1, 2)), 0.6), np.zeros((1, 2)))


def test_a_cancelled_descent_stops_before_its_next_step():
    asked = []

    def cancelled():
        asked.append(1)
        return len(asked) > 5

    watched = []
    with pytest.raises(CancelledError):
        descend("logistic", PROBLEMS["full rank"], cancelled=cancelled, watch=watched.append)
    assert len(asked) == 6 and len(watched) == 5


def test_many_models_are_cut_into_pieces_without_a_change():
    """More predictions than fit into the cache at once: the pieces are put together in order."""
    data = Data(np.tile(PROBLEMS["full rank"].X, (200, 1)), np.tile(PROBLEMS["full rank"].y, 200))
    assert data.n * 8 > 1 << 17
    for single in (False, True):
        found = descend("logistic", data, [SCHEDULES[2]], range(8), single=single)
        few = descend("logistic", PROBLEMS["full rank"], [SCHEDULES[2]], range(8), single=single)
        assert np.allclose(found, few, rtol=1e-4 if single else 1e-9, atol=1e-6 if single else 1e-12)
    assert math.isfinite(found.max())


@pytest.mark.parametrize("p", [1, 4, 7, noisy_gd._NARROW, noisy_gd._NARROW + 1])
@pytest.mark.parametrize("n", [3, noisy_gd._BLOCK + 1])
def test_gradients_for_pictures_are_those_of_releases_up_to_rounding(n, p):
    """Also where columns are filled up to a multiple of four, records are cut into blocks, and models are wider."""
    loss, data = get_loss("logistic"), random_records(n, p, seed=1)
    thetas = np.random.default_rng(2).standard_normal((5, p + 2))
    single, double = (noisy_gd._gradients(loss, data, single)(thetas) for single in (True, False))
    assert np.allclose(single[:, :p], double[:, :p], rtol=0.0, atol=3e-7) and not single[:, p:].any()
