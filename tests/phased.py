"""Plans and records that the tests of phased stochastic gradient descent share."""

import math

import numpy as np
import pytest

from dpcore import Budget, Data, Domain, Spec
from dpcore.core.sets import norm_ball
from dpcore.mechanisms.gradient.phased_sgd import PhasedSGD

BUDGET = Budget(1.0, 1e-6)
P_NORMS = (2.0, 4.0, math.inf)
every_p = pytest.mark.parametrize("p_norm", P_NORMS)
every_loss = pytest.mark.parametrize("loss", ["logistic", "huber_hinge", "huber", "squared", "hinge", "absolute"])


def dual(p_norm: float) -> float:
    return 1.0 if p_norm == math.inf else p_norm / (p_norm - 1.0)


def plan_for(loss="logistic", p_norm=2.0, *, n=1000, d=10, q=None, R=1.0, radius=1.0, budget=BUDGET, **knobs):
    domain = Domain(dual(p_norm) if q is None else q, R)
    return PhasedSGD(**knobs).calibrate(Spec(loss, n, d, "auto", domain, radius, set=norm_ball(p_norm)), budget)


def rngs_of(*seeds: int) -> list[np.random.Generator]:
    return [np.random.default_rng([3, *seeds, i]) for i in range(4)]


def upper(plan) -> float:
    return next(bound.value for bound in plan.mechanism.bounds(plan) if bound.form == "upper")


def dense(rng, n: int, d: int, p_norm: float) -> Data:
    """Entries of one size, three of four positive, all labels 1: the best model of the ball has equal entries."""
    return Data(np.where(rng.random((n, d)) < 0.75, 1.0, -1.0) * d ** (-1.0 / dual(p_norm)), np.ones(n))


def hard_records(rng, n: int, d: int, q: float) -> np.ndarray:
    """At the border of the domain; the longest in L2 have one entry."""
    X = np.where(rng.random((n, 1)) < 0.5, rng.standard_normal((n, d)), np.eye(d)[rng.integers(d, size=n)])
    return X / np.linalg.norm(X, q, axis=1, keepdims=True)
