"""One phase of projected stochastic gradient descent against a loop in numpy, and the projections inside it."""

import math

import numpy as np
import pytest
from scipy import sparse

from dpcore import Data, kernels
from dpcore.core.losses import get_loss
from dpcore.core.sets import length, norm_ball
from dpcore.solvers.descent.phased_sgd import Descender, Phase, descend_in_phases

ORDERS = (2.0, 2.001, 2.5, 3.0, 4.0, 7.3, 50.0, 1000.0, math.inf)
every_order = pytest.mark.parametrize("order", ORDERS)


def nearest(rows, order, radius):
    found = rows.copy()
    kernels.project_rows(found, order, radius)
    return found


@every_order
@pytest.mark.parametrize("radius", [1.0, 2.5, 1e-3])
def test_a_nearest_point_sees_no_member_at_an_acute_angle(order, radius):
    """<v - Pv, s - Pv> <= 0 for the best s of the ball: the variational inequality, from far inside to a million radii
    away, with zeros, signs and columns of one entry."""
    rng = np.random.default_rng(1)
    for p in (1, 2, 17):
        for far in (0.01, 0.3, 1.0, 3.0, 100.0, 1e6):
            rows = far * radius * rng.standard_normal((8, p))
            rows[0], rows[1, 1:] = 0.0, 0.0
            found = nearest(rows, order, radius)
            away = (rows - found) / radius
            worst = np.einsum("kp,kp->k", away, norm_ball(order).extreme(-away) - found / radius)
            assert (worst <= 1e-10 * np.maximum(1.0, far * math.sqrt(p))).all()
            assert (length(found, order) <= radius * (1 + 1e-12)).all()
            inside = length(rows, order)[:, 0] <= radius
            assert np.array_equal(found[inside], rows[inside])


def by_hand(loss, data, first, size, step, order, radius, start):
    theta, total = start.copy(), start.copy()
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    for x, y in zip(X[first : first + size], data.y[first : first + size], strict=True):
        slope = loss.derivative(np.array([x @ theta[: len(x)]]), np.array([y]))[0]
        theta[: len(x)] -= step * slope * x
        theta = nearest(theta[None], order, radius)[0]
        total += theta
    return total / (size + 1)


@pytest.mark.parametrize("order", [2.0, 3.0, 4.0, math.inf])
@pytest.mark.parametrize("key", ["logistic", "huber_hinge", "squared", "huber"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_phase_is_the_loop_of_its_definition(order, key, form):
    """Steps so long that many of them leave the set; two columns that are not stored."""
    rng, loss = np.random.default_rng(2), get_loss(key)
    X = np.where(rng.random((30, 5)) < 0.4, 0.0, rng.standard_normal((30, 5)))
    data = Data(form(X), np.sign(rng.standard_normal(30)), p=7)
    starts = nearest(rng.standard_normal((4, 7)), order, 0.7)
    run = Descender(loss, loss.shape, data, norm_ball(order), 0.7)
    found = run.average(Phase(3, 20, 0.4, 0.0), starts)
    expected = np.stack([by_hand(loss, data, 3, 20, 0.4, order, 0.7, start) for start in starts])
    assert np.allclose(found, expected, rtol=0.0, atol=1e-12)


def test_a_run_uses_only_the_records_of_its_phases_each_once_and_in_order():
    """A record's column is its own, so that the model tells which records were used, and how often."""
    n, loss = 12, get_loss("huber")
    data = Data(np.eye(n), np.ones(n))
    phases = [Phase(0, 6, 0.01, 0.0), Phase(6, 3, 0.01, 0.0), Phase(9, 1, 0.01, 0.0)]
    run = Descender(loss, loss.shape, data, norm_ball(2.0), 10.0)
    (theta,) = descend_in_phases(run, phases, [np.random.default_rng(0)])
    # Slope -1 for each; record j of a phase of m is in m - j of the m + 1 iterates.
    shares = [(6 - j) / 7 for j in range(6)] + [(3 - j) / 4 for j in range(3)] + [1 / 2, 0.0, 0.0]
    assert np.allclose(theta, 0.01 * np.array(shares), rtol=1e-12)


def test_runs_do_not_meet_and_noise_enters_after_each_phase():
    loss = get_loss("logistic")
    rng = np.random.default_rng(3)
    data = Data(rng.standard_normal((12, 3)), np.sign(rng.standard_normal(12)))
    run = Descender(loss, loss.shape, data, norm_ball(4.0), 1.0)
    phases = [Phase(0, 6, 0.1, 0.3), Phase(6, 3, 0.05, 0.2)]
    seen = []
    together = descend_in_phases(run, phases, [np.random.default_rng(s) for s in (5, 6, 5)], watch=seen.append)
    alone = np.concatenate([descend_in_phases(run, phases, [np.random.default_rng(s)]) for s in (5, 6)])
    assert np.array_equal(together[:2], alone) and np.array_equal(together[0], together[2])
    noise = np.random.default_rng(5).standard_normal((2, 3))
    first = run.average(phases[0], np.zeros((1, 3)))[0] + 0.3 * noise[0]
    second = run.average(phases[1], run.project(first[None]))[0] + 0.2 * noise[1]
    assert np.allclose(seen[0][0], first, rtol=1e-13) and np.allclose(seen[1][0], second, rtol=1e-13)
    assert np.allclose(together[0], nearest(second[None], 4.0, 1.0)[0], rtol=1e-13)


def test_sets_of_another_shape_are_refused():
    loss, data = get_loss("logistic"), Data(np.eye(2), np.ones(2))
    with pytest.raises(ValueError, match=r"shape must be .* p from 2 to inf, got the L1 ball"):
        Descender(loss, 0.0, data, norm_ball(1.0), 1.0)
