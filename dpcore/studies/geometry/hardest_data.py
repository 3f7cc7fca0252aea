"""Data on which no private mechanism learns a linear loss well: the lower bound for 1 < p <= 2 at a size that runs.

f(x, z) = -<x, z> over the unit l_p ball, ||z||_q* <= 1 with 1/p + 1/q* = 1. Records are fingerprinting rows, +-1 times
d^(-1/q*), with columns biased by an arcsine law. With zbar their mean, F(x) = -<x, zbar>, and by Hoelder's inequality
F* = -||zbar||_q*.

A good x names the members: for 1 < p <= 2 and all x of the ball F(x) - F* >= (p - 1)/2 ||zbar||_q* ||x - x*||_p^2
(docs/formulas.md, "The hardest linear instance").

Source: Bassily, Guzmán and Nandi 2021, Appendix A; the paper's (p - 1)/4 is by another inequality.
"""

import dataclasses as dc
import math

import numpy as np

from ...accounting.attack_limits import gaussian_attack_limit
from ...accounting.gaussian import gaussian_mu
from ...core.arrays import Array
from ...core.privacy import Budget
from ...core.rng import generator
from ...core.sets import dual_order, length, norm_ball
from ...core.validation import check_real
from ...experiments.summary import auc
from ...mechanisms.noise.generalized_gaussian import lp_noise

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_MEMBERS, _STRANGERS, _REPETITIONS = 20, 200, 8


@dc.dataclass(frozen=True)
class Hardest:
    """Records in R^d for the norm of order p_norm: members times `entry`.

    members: [n, d], -1 and +1. strangers: [s, d], more rows of the same law, in no record. bias: [d], the mean of a
    column's entries, from -1 to 1.
    """

    p_norm: float
    members: Array
    strangers: Array
    bias: Array

    @property
    def entry(self) -> float:
        """d^(-1/q*), so that ||z||_q* = 1."""
        return float(len(self.bias) ** (-1.0 / dual_order(self.p_norm)))

    @property
    def mean(self) -> Array:
        """zbar, [d]."""
        return self.entry / len(self.members) * self.members.sum(axis=0)


@dc.dataclass(frozen=True)
class Tracing:
    """Minimisers x of private means at each epsilon; arrays [E], means over the repetitions.

    auc: how often a member scores above a stranger, ties counting half. excess: F(x) - F*. limit: what no attack can
    exceed as auc on average, Phi(mu / 2). exact: auc without privacy. signal: ||zbar||_q*, the excess of x = 0. p_norm,
    d, n: the setting; every repetition has new rows and new noise.
    """

    epsilon: Array
    limit: Array
    auc: Array
    auc_se: Array
    excess: Array
    exact: float
    signal: float
    p_norm: float
    d: int
    n: int


def hardest_records(p_norm: float, d: int, n: int, rng: np.random.Generator) -> Hardest:
    """Draw an instance for 1 < p_norm <= 2: an entry is +1 with probability sin^2 of a column's uniform angle.

    >>> instance = hardest_records(1.5, 8, 5, np.random.default_rng(0))
    >>> instance.members.shape, instance.strangers.shape, instance.entry
    ((5, 8), (200, 8), 0.5)
    """
    bias = np.sin(np.pi * (rng.random(d) - 0.5))
    rows = np.where(rng.random((n + _STRANGERS, d)) < 0.5 * (1.0 + bias), 1.0, -1.0)
    return Hardest(p_norm, rows[:n], rows[n:], bias)


def gap(x: Array, zbar: Array, p_norm: float) -> Array:
    """F(x) - F* = ||zbar||_q* - <x, zbar>, >= 0 in the ball; x [..., d] and zbar [..., d], answer [...].

    >>> float(gap(np.zeros(2), np.array([3.0, -4.0]), 2.0))
    5.0
    """
    return length(zbar, dual_order(p_norm))[..., 0] - (x * zbar).sum(axis=-1)


def scores(x: Array, rows: Array, bias: Array) -> Array:
    """sum_j sign(x_j) (row_j - bias_j) / sqrt(d) of rows [m, d] of -1 and +1; shape [m].

    A row that has no part in x has mean 0 and variance at most 1.

    >>> scores(np.array([0.5, -2.0, 1.0, 0.0]), np.array([[1.0, -1.0, 1.0, 1.0]]), np.zeros(4))
    array([1.5])
    """
    return (rows - bias) @ np.sign(x) / math.sqrt(len(bias))


def hardest_tracing(*, seed: int, p_norm: float, d: int, delta: float) -> Tracing:
    """Membership of 20 records traced in the minimiser of zbar plus noise, at each epsilon and without privacy.

    Gaussian noise on zbar: sensitivity 2/n in l_q*, multiplier exact for (epsilon, delta); x is then the minimiser for
    the noisy mean. p_norm: in (1, 2]. All epsilons share rows and noise.

    >>> found = hardest_tracing(seed=0, p_norm=1.5, d=200, delta=1e-6)
    >>> bool(found.auc[0] < found.auc[-1] <= 1.0), found.n
    (True, 20)
    """
    p_norm = check_real("p_norm", p_norm, "in (1, 2]", lambda v: 1 < v <= 2)
    budgets = [Budget(epsilon, delta) for epsilon in EPSILONS]
    noise, ball = lp_noise("gaussian", dual_order(p_norm), d), norm_ball(p_norm)
    scale = 2.0 / _MEMBERS * noise.widening * np.array([noise.multiplier(budget) for budget in budgets])
    runs = []  # repetition, exact and every epsilon
    for repetition in range(_REPETITIONS):
        rng = generator(seed, "geometry hardest", repetition)
        instance = hardest_records(p_norm, d, _MEMBERS, rng)
        noisy = instance.mean + np.append(0.0, scale)[:, None] * noise.draw([rng])
        runs.append([_traced(x, instance) for x in (*ball.extreme(-noisy), np.zeros(d))])
    table = np.array(runs)
    aucs, excess = table.mean(axis=0).T
    return Tracing(
        epsilon=np.array(EPSILONS),
        limit=np.array([gaussian_attack_limit(gaussian_mu(budget)) for budget in budgets]),
        auc=aucs[1:-1],
        auc_se=table[:, 1:-1, 0].std(axis=0, ddof=1) / math.sqrt(_REPETITIONS),
        excess=excess[1:-1],
        exact=float(aucs[0]),
        signal=float(excess[-1]),
        p_norm=p_norm,
        d=d,
        n=_MEMBERS,
    )


def _traced(x: Array, instance: Hardest) -> tuple[float, float]:
    members, strangers = scores(x, instance.members, instance.bias), scores(x, instance.strangers, instance.bias)
    return auc(members, strangers), float(gap(x, instance.mean, instance.p_norm))
