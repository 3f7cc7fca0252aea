"""Descent without privacy, by all records a step and by one: counts, risks and Theorem 2."""

import dataclasses as dc
import math

import numpy as np
import pytest

from dpcore import Problem, data
from dpcore.core.losses import get_loss
from dpcore.experiments.metrics import risk
from dpcore.solvers.descent.noisy_sgd import noisy_descent
from dpcore.studies.perturbation.non_private_descent import work
from dpcore.theory import gradient_descent as theory

N, P, SEED = 30, 3, 4
PROBLEM = Problem("synthetic", N, P, seed=SEED)


def test_n_steps_squared_cost_n_cubed_gradients_or_n_squared():
    made = work(PROBLEM)
    assert made.full.gradients[-1] == N**3 and made.single.gradients[-1] == N**2
    assert made.full.steps[-1] == made.single.steps[-1] == N**2 and made.n == N
    assert np.array_equal(made.full.gradients, N * made.full.steps)
    assert work(PROBLEM) is made, "kept"
    assert work(dc.replace(PROBLEM, seed=SEED + 1)) is not made


def test_all_records_a_step_is_plain_projected_descent():
    """theta <- Proj(theta - 2 B / (G sqrt(t)) grad F), B = 10, G = 1, written out."""
    train, loss = data.load("synthetic", N, P, SEED).train, get_loss("logistic")
    theta, risks = np.zeros(P), {}
    for t in range(1, N**2 + 1):
        theta = theta - 20.0 / math.sqrt(t) * (loss.derivative(train.X @ theta, train.y) @ train.X) / N
        theta *= min(1.0, 10.0 / np.linalg.norm(theta))
        risks[t] = risk(loss, theta, train)
    made = work(PROBLEM)
    assert made.full.risks == pytest.approx([risks[t] for t in made.full.steps], abs=1e-12)


def test_theorem_2_bounds_both_and_the_reference_is_the_ball_s():
    made = work(PROBLEM)
    assert made.best == PROBLEM.reference().risk
    assert made.bound == pytest.approx([theory.last_iterate_bound(20.0, 1.0, int(t)) for t in made.full.steps])
    for progress in (made.full, made.single):
        assert (progress.risks - made.best <= made.bound).all()


def test_one_record_a_step_reaches_the_same_on_average():
    """The mean of 40 runs of n^2 single steps lies within five standard errors below Theorem 2, and above F*."""
    train, loss = data.load("synthetic", N, P, SEED).train, get_loss("logistic")
    best = work(PROBLEM).best
    ends = [
        noisy_descent(
            loss, train, steps=N**2, step=20.0, decaying=True, sigma=0.0, radius=10.0, rng=np.random.default_rng(seed)
        ).last
        for seed in range(40)
    ]
    excess = np.array([risk(loss, end, train) - best for end in ends])
    error = excess.std(ddof=1) / math.sqrt(len(excess))
    assert excess.min() > -1e-9
    assert excess.mean() + 5.0 * error < theory.last_iterate_bound(20.0, 1.0, N**2)
