"""Quasi-Newton steps: their parts against plain numpy, and what happens where they do not suffice."""

import collections
import itertools

import numpy as np
import pytest

from dpcore import Data
from dpcore.core.losses import get_loss
from dpcore.solvers import erm, minimise
from dpcore.solvers.erm import smooth
from tests.problems import KINKED, LINEAR, random_records
from tests.solvers.objectives import SMALL, plain_objective, sparse

SMOOTH = [get_loss(key) for key in LINEAR if key not in KINKED]
every_smooth_loss = pytest.mark.parametrize("loss", SMOOTH, ids=[loss.key for loss in SMOOTH])
LOGISTIC = get_loss("logistic")


def test_the_inverse_meets_the_latest_secant_and_is_symmetric():
    """So does the inverse Hessian of BFGS, whose matrix is never formed."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((8, 8))
    hessian = root @ root.T + np.eye(8)
    pairs = collections.deque()
    for move in rng.standard_normal((5, 8)):
        pairs.append((move, hessian @ move, 1.0 / (move @ hessian @ move)))
        inverse = np.column_stack([smooth._inverse_times(pairs, lambda v: v / 7.0, each) for each in np.eye(8)])
        assert np.allclose(inverse @ (hessian @ move), move, atol=1e-12)
        assert np.allclose(inverse, inverse.T, atol=1e-12) and np.linalg.eigvalsh(inverse).min() > 0.0


@every_smooth_loss
def test_a_step_that_overshoots_is_shortened(loss):
    """What is known at its end is what the records say there."""
    linear = np.array([0.01, -0.02, 0.0, 0.03])
    objective = erm.objective.Objective(loss, SMALL, 0.01, linear)
    start = objective.at(np.full(4, 0.3))
    for size in (1e3, 1e-3):
        there = smooth._step(objective, start, -size * start.gradient, 0.2)
        gradient = plain_objective(loss, SMALL, 0.01, there.theta)[1] + linear
        assert np.allclose(there.gradient, gradient, rtol=0, atol=1e-12)
        assert np.allclose(there.z, SMALL.X @ there.theta, rtol=0, atol=1e-12)
        assert gradient @ -start.gradient <= 0.2 * start.norm**2 + 1e-12
        assert size == 1e3 or np.allclose(there.theta, start.theta - size * start.gradient)


@every_smooth_loss
def test_a_large_table_is_read_in_blocks(loss, monkeypatch):
    objective, theta = erm.objective.Objective(loss, SMALL, 0.01, np.arange(4.0)), np.full(4, 0.2)
    whole = objective.at(theta)
    monkeypatch.setattr(erm.objective, "_CACHED", 68)
    blocks = objective.at(theta)
    assert np.allclose(blocks.z, whole.z, rtol=1e-14) and np.allclose(blocks.gradient, whole.gradient, rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_tiny_and_huge_records_are_solved(scale):
    data, lam = random_records(200, 4, seed=2), 1e-3 * scale**2
    usual = minimise(LOGISTIC, data, 1e-3, tol=1e-9)
    for form in (Data(scale * data.X, data.y), sparse(Data(scale * data.X, data.y))):
        found = minimise(LOGISTIC, form, lam, tol=1e-9 / scale)
        assert np.allclose(scale * found.theta, usual.theta, rtol=0, atol=1e-8)


def test_a_useless_preconditioner_is_left_for_newton(monkeypatch):
    monkeypatch.setattr(
        smooth._Preconditioner, "inverse_at", lambda self, *state: lambda vector: vector * np.arange(1, 41) ** 4
    )
    found = minimise(LOGISTIC, random_records(2000, 40, seed=6), 1e-6, tol=1e-6)
    assert smooth._MAX_STEPS < found.steps < smooth._MAX_STEPS + 20 and found.distance <= 1e-6


@every_smooth_loss
def test_nearly_equal_columns_are_solved(loss):
    data = random_records(600, 3, seed=9)
    doubled = Data(np.hstack([data.X, data.X * (1 + 1e-9)]), data.y)
    for form, lam in itertools.product((doubled, sparse(doubled)), (1e-3, 1e-9)):
        assert minimise(loss, form, lam, tol=1e-10 / lam).distance <= 1e-10 / lam
