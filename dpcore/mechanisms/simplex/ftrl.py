"""Private FTRL (follow the regularised leader): one arm of the simplex a step, along a stream of cost vectors."""

import dataclasses as dc
import math
from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from ... import kernels
from ...accounting.attack_limits import bounded_range_attack_limit
from ...accounting.tradeoff import TradeoffCurve, equal_choices_curve
from ...accounting.zcdp import bounded_range_eta
from ...core.arrays import Array
from ...core.cancel import Cancelled
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, Event, NoiseLaw, NotApplicable
from ...core.records import Data
from ...core.rng import Generators
from ...core.specification import Domain, Spec
from ...solvers import Minimum
from ...theory import sampling_and_regret as theory
from ..base import BAND_MISS, Link, Prepared, ReadingMechanism, knob, records_of
from ..noise.rounding import ROUNDED_UP
from ..plan import Plan
from .weight_range import privacy_cost

_SOURCE = "Jain and Thakurta 2014, section 5.2"
_FARTHEST = 1e40  # beyond it, and below its inverse, epsilon would leave the range of a budget
_BLOCK_NUMBERS = 4_000_000  # of a sparse stream that are made dense at once


@dc.dataclass(frozen=True)
class FTRL(ReadingMechanism):
    """Play T = n arms: a_{t+1} ~ w_{t+1} ~ exp(-(x_1 + ... + x_t) / (T lam)), w_1 uniform.

    The records are the cost vectors x_1, ..., x_T in their order, ||x_t||_inf <= R. w_{t+1} minimises the average
    (1/T) sum_{tau<=t} <x_tau, w> + lam sum_j w_j ln w_j; the source's lambda is T lam. An arm is as good as
    argmin_j (x_1 + ... + x_t)_j / T - lam g_j with standard Gumbel g. A release is the arms, T numbers: column indices
    as floats.

    Replacing one x_tau moves the sum of each later step by at most 2 R a coordinate, hence the log-ratios of its arm's
    probabilities lie in an interval of length eta = 4 R / (T lam), and step tau's own arm was drawn before. At most
    T - 1 arms are affected; given the arms before it, each is such a choice on its own.

    lam="auto": the larger of the smallest private one, eta = `zcdp.bounded_range_eta`, and R / sqrt(2 T ln p),
    which minimises the regret bound. lam="published", and "auto" with published accounting: the source's
    R sqrt(8 ln p ln(1/delta) / T) / epsilon. For every lam, `Plan.spent` is its cost by the better of zCDP and the sum,
    and may exceed the request.

    Source: Jain and Thakurta 2014, section 5.2 and equation (12), which is false (constants
        derived in docs/formulas.md, explicit).
    Randomness: T uniform draws, one a step, in order; each is the level at which a running sum of the weights stops.
    Guarantee: (epsilon, delta)-differential privacy, delta >= 0, for replacing one record, a whole cost vector, in a
        stream that is fixed beforehand or whose costs react to arms that were played before, whatever the others are.
    Not protected: n, p, lam, the budget and R are public; a person who is in several cost vectors; running time; the
        low-order bits of probabilities; a release whose seed is known.
    """

    accounting: str = knob(
        "tight",
        choices=("tight", "published"),
        help='which lam "auto" takes: the smallest one that is proved private, or the source\'s',
    )

    key: str = dc.field(default="ftrl", init=False, repr=False)
    noise: NoiseLaw = dc.field(default="gumbel", init=False, repr=False)
    label = "private FTRL"
    source = _SOURCE
    family = "sampling"
    place = "selection"
    quantity = "regret"
    set = "simplex"
    usual_loss = "linear"
    worst_spec = Spec("linear", n=10, p=2, domain=Domain(math.inf), set="simplex")
    first_attack = ("sensitivity", "the sensitivity of a sum of costs and the number of draws")

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        _check(self.key, spec)
        T, R, lam = spec.n, spec.domain.R, self._lam(spec, budget)
        eta = 4.0 * R / (T * lam)
        if not 1.0 / _FARTHEST <= eta <= _FARTHEST:
            raise NotApplicable(f"{self.key} has no useful guarantee if an arm's log-ratios range over {eta:g}")
        event = Event(self.noise, lam, 2.0 * R / T, times=T - 1)
        spent = _spent(eta, T - 1, budget)
        return Plan(self, dc.replace(spec, lam=lam), budget, spent, (event,), T, self.noise, lam, tol=0.0)

    def _lam(self, spec: Spec, budget: Budget) -> float:
        T, R, log_p = spec.n, spec.domain.R, math.log(spec.p)
        if not isinstance(spec.lam, str):
            return spec.lam
        if spec.lam == "published" or self.accounting == "published":
            return theory.published_stream_lam(T, spec.p, R, budget) / T
        private = 4.0 * R / bounded_range_eta(budget, T - 1) * ROUNDED_UP
        # A single arm has no regret that lam could reduce.
        return max(private, R * math.sqrt(T / (2.0 * log_p)) if log_p else 0.0) / T

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds on the regret on average and in one run, and two published orders of growth, one of them wrong."""
        spec = plan.spec
        T, p, R = spec.n, spec.p, spec.domain.R
        mean = theory.regret_bound(T * plan.scale, p, R, T)
        says = "costs that do not depend on the arm of their own step"
        ours = f"{_SOURCE}, with explicit constants"
        one_run = min(mean + theory.regret_band(R, T, BAND_MISS), 2.0 * R * T)
        found = [
            Bound("regret", "upper", mean, "expectation", ours, says),
            Bound("regret", "upper", one_run, "probability", ours, f"in {1 - BAND_MISS:.0%} of runs; {says}"),
        ]
        if not plan.requested.pure:
            rate = theory.published_stream_rate(T, p, R, plan.requested)
            source = "Jain and Thakurta 2014, equation (12) as published; it does not follow"
            false = "false for the costs (-R, R, ..., R) in every step, whose regret is of the order ln p"
            found.append(Bound("regret", "rate", rate, "expectation", source, false))
        rate = theory.earlier_stream_rate(T, p, R, plan.requested)
        cited = "Dwork, Naor, Pitassi and Rothblum 2010, as cited by Jain and Thakurta 2014, without poly(ln T)"
        return (*found, Bound("regret", "rate", rate, "expectation", cited, "private online learning before it"))

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        """The potential's rise in each step, its end, and the worst costs. best: the best arm and the sum of its
        costs."""
        T, p, R, lam_sum = plan.steps, plan.spec.p, plan.spec.domain.R, plan.steps * plan.scale
        dense = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
        costs, idle = np.hstack([dense, np.zeros((T, 1))]), p - data.stored
        counts = np.append(np.ones(data.stored), idle)
        rises = -lam_sum * logsumexp(log_weights(data, lam_sum) - costs / lam_sum, b=counts, axis=1)
        spread = (np.ptp(costs if idle else dense, axis=1) ** 2).sum() / (8.0 * lam_sum)
        start, worst = lam_sum * math.log(p), theory.regret_bound(lam_sum, p, R, T)
        numbers = np.minimum([rises.sum() + spread - best.risk, start + spread, worst], 2.0 * R * T)[:, None]
        return (
            Link("arms: Hoeffding's lemma on the costs met", "Online", numbers[0]),
            Link("potential: no higher than the best arm", "Online", numbers[1]),
            Link("costs: all over [−R, R] in every step", "Online", numbers[2], worst=True),
        )

    def attack_limit(self, plan: Plan) -> float:
        """Attack success by the range of each arm's log-ratios."""
        event = plan.ledger[0]
        return bounded_range_attack_limit(2.0 * event.sensitivity / plan.scale, event.times)

    def claimed_curve(self, plan: Plan) -> TradeoffCurve:
        times = plan.ledger[0].times
        return equal_choices_curve(bounded_range_eta(plan.spent, times), times)

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Arms of each run, shape [len(rngs), T]; equal to releases one by one."""
        uniforms = np.array([rng.random(plan.steps) for rng in rngs])
        return play(records_of(prepared), plan.steps * plan.scale, uniforms).arms

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Neighbours with R (1, -1, ..., -1) or its opposite first, then zeros: each later arm has the range eta."""
        spec = plan.spec
        if spec.p == 1:
            raise NotApplicable("ftrl has no worst pair for p = 1: a single arm reveals nothing")
        X = np.zeros((spec.n, spec.p))
        X[0] = -spec.domain.R
        X[0, 0] = spec.domain.R
        return Data(X, np.zeros(spec.n)), Data(-X, np.zeros(spec.n))

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Largest distance of an average of costs, over all steps and columns."""
        apart = np.zeros(zero.theta.shape)
        largest = 0.0
        for (_, these), (_, those) in zip(_blocks(records_of(zero)), _blocks(records_of(one)), strict=True):
            along = apart + np.cumsum(these - those, axis=0)
            largest, apart = max(largest, float(np.abs(along).max())), along[-1]
        return largest / plan.steps

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """Sum over the steps of ln w_t(arm) on one set of records less that on the other; exact."""
        arms = outputs.astype(np.intp)
        ratio = np.zeros(len(arms))
        for side, sign in ((one, 1.0), (zero, -1.0)):
            data = records_of(side)
            logs = log_weights(data, plan.steps * plan.scale)
            ratio += sign * logs[np.arange(plan.steps), np.minimum(arms, data.stored)].sum(axis=1)
        return ratio


@dc.dataclass(frozen=True)
class Played:
    """Result of a stream. arms: [K, T], of each player. expected: [T], <w_t, x_t>. scores: [r], sums of all costs."""

    arms: Array
    expected: Array
    scores: Array


def play(data: Data, lam_sum: float, uniforms: Array) -> Played:
    """Play multiplicative weights w ~ exp(-sum of the costs so far / lam_sum) along the rows of `data`.

    uniforms: [K, T] in [0, 1), a row for each player that decides its arms; K may be 0. lam_sum: > 0, lam of a sum.

    >>> data = Data(np.array([[1.0, -1.0], [1.0, -1.0]]), np.zeros(2))
    >>> play(data, 1.0, np.array([[0.4, 0.1], [0.6, 0.2]])).arms.tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    r, T = data.stored, data.n
    uniforms = np.ascontiguousarray(uniforms, dtype=float).reshape(-1, T)
    arms, expected, scores = np.empty(uniforms.shape), np.empty(T), np.zeros(r)
    # A draw reads `width` numbers and then r / width; loops of a multiple of 16 have no remainder.
    width = 16 * math.ceil(math.sqrt(r) / 8)
    ends, sums = np.empty(width), np.empty(-(-r // width) * width)
    for first, costs in _blocks(data):
        kernels.play_stream(costs, first, lam_sum, data.p - r, uniforms, scores, sums, ends, arms, expected)
    return Played(arms, expected, scores)


def log_weights(data: Data, lam_sum: float) -> Array:
    """ln w_t of every stored column before each step, and of one column that is not stored; shape [T, r + 1]."""
    costs = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    logs = np.zeros((data.n, data.stored + 1))
    logs[1:, :-1] = -np.cumsum(costs[:-1], axis=0) / lam_sum
    highest = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - highest)
    mass = weights[:, :-1].sum(axis=1) + (data.p - data.stored) * weights[:, -1]
    return logs - highest - np.log(mass)[:, None]


def _blocks(data: Data) -> Iterator[tuple[int, Array]]:
    """Rows in order, as dense tables with the number of their first row; a single table if the stream is dense."""
    if isinstance(data.X, np.ndarray):
        yield 0, data.X
        return
    step = max(1, _BLOCK_NUMBERS // data.stored)
    for start in range(0, data.n, step):
        yield start, data.X[start : start + step].toarray()


def _check(key: str, spec: Spec) -> None:
    if spec.set != "simplex":
        raise NotApplicable(f"{key} plays vertices of the simplex, got set {spec.set!r}")
    if spec.domain.q != math.inf:
        raise NotApplicable(f"{key} is proved for ||x||_inf <= R, got q = {spec.domain.q:g}")
    if spec.loss != "linear":
        raise NotApplicable(f"{key} is proved for linear costs, got {get_loss(spec.loss).label}")
    if spec.reach != 1.0:
        raise NotApplicable(f"{key} plays arms, vertices of the simplex of radius 1, got radius = {spec.radius:g}")
    if spec.lam == 0.0:
        raise NotApplicable(f"{key} needs lam > 0, got lam = 0: the leader without noise reveals the costs")
    if spec.lam == "population":
        raise NotApplicable(f"{key} has no rule 'population' for lam: a stream has no fresh records")


def _spent(eta: float, times: int, budget: Budget) -> Budget:
    """Privacy cost of `times` choices of range eta: by their sum, which needs no delta, or by zCDP."""
    found = privacy_cost(eta, times, budget.delta)
    # A cost within the budget by the formula for eta must not exceed it by rounding.
    within = eta <= bounded_range_eta(budget, times)
    return Budget(min(found.epsilon, budget.epsilon), found.delta) if within else found
