"""Membership traced in an accurate model: the lower bound of Talwar, Thakurta and Zhang 2015 at a size that runs.

Theorem 3.1 plants a fingerprinting code in the records of a LASSO: a model that predicts nearly as well as the best one
has the signs of the columns on which all users agree, and such signs reveal the users. Its own size cannot be built
(`literal_size`). Here the same records are built with few users, private Frank-Wolfe is run on them, and members are
distinguished from strangers by the score that traces such codes. This illustrates the theorem and proves nothing.
"""

import bisect
import dataclasses as dc
import math
import sys
from typing import NamedTuple, cast

import numpy as np
from scipy.linalg import hadamard

from ....core.arrays import Array
from ....core.cache import shared
from ....core.cancel import never
from ....core.losses import get_loss
from ....core.privacy import Budget
from ....core.records import Data
from ....core.rng import generator
from ....core.specification import Domain, Spec
from ....experiments.summary import auc
from ....mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from ....solvers import minimise_on_l1_ball
from ....solvers.frank_wolfe import vertices as fw

USERS = 8
EPSILONS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_STRANGERS = 100
_CONSTANT_SHARE = 0.25
# Theorem 3.1's: the smallest loss that a private model can have, over tau w, and tau.
_KAPPA, _TAU = 1.1, 0.001
_GAP = 1e-10


@dc.dataclass(frozen=True)
class Code:
    """Users as rows of -1 and +1, shapes [w, p] (members) and [s, p] (strangers, from the same law).

    bias: [p], P(+1) in a column; nan in a column that is constant by construction.
    """

    members: Array
    strangers: Array
    bias: Array

    @property
    def consensus(self) -> Array:
        """[p]: the sign on which all members agree, 0 in a column where they do not."""
        sums = self.members.sum(axis=0)
        return np.where(np.abs(sums) == len(self.members), np.sign(sums), 0.0)


@dc.dataclass(frozen=True)
class Tracing:
    """Membership leak of releases at each epsilon; arrays are [E] but for `every_auc`.

    auc: how often a member scores above a stranger, ties counting half; every_auc: [E, runs]. limit: what no attack on
    a release of this mechanism can exceed as auc (`Mechanism.attack_limit`). agreement: share of the consensus columns
    whose sign theta has. excess: F(theta) - min F. All are means over the runs. exact: auc without privacy, of the
    minimiser of F. nothing: excess of theta = 0. w, n: users and records; every repetition has a new code and two runs
    for each epsilon.
    """

    epsilon: Array
    limit: Array
    every_auc: Array
    auc: Array
    agreement: Array
    excess: Array
    exact: float
    nothing: float
    w: int
    n: int


class Size(NamedTuple):
    """Sizes in Theorem 3.1: a code of m / ln m users, columns p, records n, and the excess risk that it proves."""

    m: int
    p: int
    n: int
    excess: float


@shared(16)
def tracing(*, seed: int, p: int, repetitions: int) -> Tracing:
    """Private Frank-Wolfe on fingerprinting codes, and how well members are told from strangers by what it releases.

    Records: those of `records_of_code` for 8 users, n = 8 + p; squared loss on the L1 ball of size 1,
    delta = 1 / n^2. p: columns, a power of 2 from 8 on; theta_p is released, so that a model can name nearly every
    column at every epsilon. Arrays must not be changed.

    Source: Talwar, Thakurta and Zhang 2015, Section 3; code after Tardos 2008.

    >>> found = tracing(seed=0, p=64, repetitions=2)
    >>> bool(found.excess[-1] < found.excess[0]), found.n
    (True, 72)
    """
    n = USERS + p
    spec = Spec("squared", n=n, p=p, domain=Domain(q=math.inf), radius=1.0, set="l1_ball")
    mechanism, delta = FrankWolfePolytope(T=p), float(n) ** -2
    plans = [mechanism.calibrate(spec, Budget(epsilon, delta)) for epsilon in EPSILONS]
    runs = []  # repetition, epsilon, run
    exact, nothing = [], []
    for repetition in range(repetitions):
        code = fingerprinting_code(USERS, p, _STRANGERS, generator(seed, "fingerprints", repetition))
        data = records_of_code(code)
        risk = cast(fw.Quadratic, fw.risk_of(get_loss("squared"), data))
        best = minimise_on_l1_ball(risk, 1.0, tol=_GAP)
        prepared = [mechanism.prepare(plan, data) for plan in plans]
        drawn = mechanism.draws(plans, prepared, [generator(seed, mechanism.key, repetition)], never)
        runs.append([[_traced(theta, code, risk, best.risk) for theta in thetas] for thetas in drawn.thetas])
        exact.append(_traced(best.theta, code, risk, best.risk))
        nothing.append(risk.constant - best.risk)
    table = np.moveaxis(np.array(runs), 0, 1).reshape(len(EPSILONS), -1, 3)
    aucs, agreement, excess = (table[:, :, k].mean(axis=1) for k in range(3))
    return Tracing(
        epsilon=np.array(EPSILONS),
        limit=np.array([mechanism.attack_limit(plan) for plan in plans]),
        every_auc=table[:, :, 0],
        auc=aucs,
        agreement=agreement,
        excess=excess,
        exact=float(np.mean(exact, axis=0)[0]),
        nothing=float(np.mean(nothing)),
        w=USERS,
        n=n,
    )


def fingerprinting_code(w: int, p: int, strangers: int, rng: np.random.Generator) -> Code:
    """Columns of biased coins, a quarter of constant columns half of which are -1, in random order.

    P(+1) = sin^2(phi) with phi uniform where t <= P(+1) <= 1 - t, t = 1 / (4 (w + 1)): Tardos' law, cut off.
    """
    width = p - round(p * _CONSTANT_SHARE)
    low = math.asin(math.sqrt(1.0 / (4.0 * (w + 1.0))))
    bias = np.full(p, np.nan)
    bias[:width] = np.sin(rng.uniform(low, 0.5 * math.pi - low, width)) ** 2
    rows = np.where(np.arange(p) % 2, 1.0, -1.0) * np.ones((w + strangers, 1))
    rows[:, :width] = np.where(rng.random((w + strangers, width)) < bias[:width], 1.0, -1.0)
    order = rng.permutation(p)
    rows = rows[:, order]
    return Code(rows[:w], rows[w:], bias[order])


def records_of_code(code: Code) -> Data:
    """p records with label 0, the rows of a Hadamard matrix, and the members with label 1.

    The columns of the first p are orthogonal, so n F(theta) = p ||theta||_2^2 + sum over members (<x_i, theta> - 1)^2.
    """
    w, p = code.members.shape
    return Data(np.vstack([hadamard(p, dtype=float), code.members]), np.concatenate([np.zeros(p), np.ones(w)]))


def scores(theta: Array, rows: Array, bias: Array) -> Array:
    """sum_j sign(theta_j) (x_ij - mean_j) / sd_j over the columns with a bias, over the root of their number; [rows].

    A user who has no part in theta has mean 0 and variance at most 1.
    """
    coded = np.flatnonzero(np.isfinite(bias))
    chance = bias[coded]
    standard = (rows[:, coded] - (2.0 * chance - 1.0)) / (2.0 * np.sqrt(chance * (1.0 - chance)))
    return standard @ np.sign(theta[coded]) / math.sqrt(len(coded))


def literal_size() -> Size:
    """The smallest size at which Theorem 3.1 can be built, and what it then proves; real numbers rounded up.

    Source: docs/formulas.md, "Fingerprints".

    >>> size = literal_size()
    >>> size.m, f"{size.p:.2g} columns", f"{size.n:.2g} records"
    (9119, '8.3e+10 columns', '8.3e+10 records')
    """
    # m / ln m rises from m = e.
    m = bisect.bisect_left(range(sys.maxsize), 0.0, lo=3, key=lambda m: m - math.log(m) / _TAU)
    w, p = m / math.log(m), math.ceil(m**2 / _TAU)
    n = math.ceil(w + _TAU * w * p)
    return Size(m, p, n, (_KAPPA - 1.0 - 4.0 * _TAU) * _TAU / 3.0 * w / n)


def _traced(theta: Array, code: Code, risk: fw.Quadratic, least: float) -> tuple[float, float, float]:
    members, strangers = scores(theta, code.members, code.bias), scores(theta, code.strangers, code.bias)
    agree = np.count_nonzero(np.sign(theta) * code.consensus > 0.0) / np.count_nonzero(code.consensus)
    return auc(members, strangers), agree, float(risk.values(theta)) - least
