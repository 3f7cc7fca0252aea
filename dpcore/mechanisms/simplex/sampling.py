"""Simplex sampling: the mean of columns drawn with the weights of a minimiser."""

import dataclasses as dc
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from ... import kernels
from ...accounting.attack_limits import bounded_range_attack_limit
from ...accounting.tradeoff import PureCurve, RepeatedChoiceCurve, TradeoffCurve, equal_choices_curve
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, Event, NoiseLaw, NotApplicable
from ...core.records import Data
from ...core.rng import Generators
from ...core.specification import Domain, Spec
from ...data import check_records
from ...solvers import Minimum
from ...solvers.simplex.entropic import minimise_entropic
from ...theory import erm
from ...theory import sampling_and_regret as theory
from ..base import Drawn, Lens, Link, Mechanism, Prepared, knob, whole
from ..plan import Plan, Plans
from . import weight_range as br

_OURS = "Jain and Thakurta 2014, Theorems 3 and 4, with explicit constants"
# Number of draws for which charts use one uniform each, which makes them smooth in w; then whole multinomials.
_MOST_UNIFORMS = 1 << 17
_MOST_COUNTED = 20_000
_LARGEST_ETA = 1e80  # epsilon stays in the range of a budget


@dc.dataclass(frozen=True)
class PreparedWeights(Prepared):
    """Prepared weights. log_weights: [r], ln w_j of the stored columns. log_idle: of each other column, -inf for none.

    theta = radius w; distance is the solver's residual, in units of ln w.
    """

    log_weights: Array
    log_idle: float

    @property
    def start(self) -> Array:
        return self.log_weights


def weights_of(prepared: Prepared) -> PreparedWeights:
    """`prepared` as `PreparedWeights`; TypeError for another kind."""
    if not isinstance(prepared, PreparedWeights):
        raise TypeError(f"prepared must come from the mechanism's own prepare, got {type(prepared).__name__}")
    return prepared


@dc.dataclass(frozen=True)
class SimplexSampling(Mechanism):
    """Release radius / m times the number of times that each column comes up in m draws with probabilities w.

    w minimises J(w) = F(radius w) + lam sum_j w_j ln w_j, so that w_j is proportional to exp(-g_j / lam) with
    g = radius grad F(radius w): a draw is the j for which -g_j + lam * (Gumbel noise) is largest. One replaced record
    moves ln w_j - ln w'_j within an interval of length eta (`dpcore.mechanisms.simplex.weight_range`), whatever the
    other records are; the ledger states scores that move by eta lam / 2 each way.

    m is as many draws as the budget allows by basic composition or by zCDP of bounded range, unless it is set by hand.
    Theorem 3 as published lacks a factor L R where delta > 0 and would spend too much for large L R (docs/errata.md).
    Below one draw the plan is refused: m is never rounded up.

    lam "auto" and "population" minimise their bound; "published" is Theorem 4's.

    Source: Jain and Thakurta 2014, section 5, Theorems 3 and 4 (constants explicit, docs/formulas.md).
    Randomness: one multinomial draw of m, over the stored columns in order and then all others together.
    Guarantee: (epsilon, delta)-differential privacy for replacing one record, delta >= 0, for losses of a linear
        prediction with bounded slope (on the simplex) and curvature, whatever the other records are.
    Not protected: n, p, lam, m, the budget and the bounds R, L, c, y_max and radius are public; running time; the
        low-order bits of floating-point probabilities; a release whose seed is known.
    """

    m: int | str = knob("auto", check=whole(1, br.MOST_DRAWS), help='number of drawn columns: "auto" or an integer')

    key: str = dc.field(default="simplex_sampling", init=False, repr=False)
    noise: NoiseLaw = dc.field(default="gumbel", init=False, repr=False)
    label = "simplex sampling"
    source = "Jain and Thakurta 2014, Theorems 3 and 4"
    family = "sampling"
    place = "selection"
    set = "simplex"
    # Linear costs, whose weights move by all of eta; lam is such that some dozens of draws cost (1, 1e-5).
    worst_spec = Spec("linear", n=10, p=2, lam=5.0, domain=Domain(q=math.inf), set="simplex")
    first_attack = ("sensitivity", "the range by the slope of a record and the number of draws")

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        self._check(spec)
        by_hand = None if self.m == "auto" else int(self.m)
        spec = dc.replace(spec, lam=br.resolved_lam(self.key, spec, budget, by_hand))
        lam, found = float(spec.lam), br.weight_range(spec)
        eta = found.eta(lam)
        if not eta < _LARGEST_ETA:
            raise NotApplicable(f"{self.key} cannot draw one column: its log-probability could move by {eta:.3g}")
        m = by_hand or br.affordable_draws(self.key, spec, budget)
        event = Event(self.noise, lam, 0.5 * eta * lam, times=m)
        spent = br.privacy_cost(eta, m, budget.delta)
        return Plan(self, spec, budget, spent, (event,), m, self.noise, scale=lam, tol=found.tol(lam))

    def _check(self, spec: Spec) -> None:
        loss = get_loss(spec.loss)
        if spec.set != "simplex":
            raise NotApplicable(f"{self.key} draws columns and works on the simplex, got set {spec.set!r}")
        if spec.domain.q != math.inf:
            raise NotApplicable(f"{self.key} is proved for ||x||_inf <= R, got q = {spec.domain.q:g}")
        if not loss.linear:
            raise NotApplicable(f"{self.key} needs a loss of a linear prediction, got {loss.label}")
        if not math.isfinite(loss.curvature_bound):
            raise NotApplicable(
                f"{self.key} needs a loss with a bounded second derivative, got {loss.label}: one record could change "
                "the slopes of all others"
            )
        if spec.lam == 0.0:
            raise NotApplicable(
                f"{self.key} needs lam > 0, got lam = 0: without entropy one record can change the best column"
            )

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over the minimiser, over every model on the simplex, on fresh records; and the published orders."""
        spec, loss, lam = plan.spec, get_loss(plan.spec.loss), float(plan.spec.lam)
        L, R = loss.lipschitz(spec), spec.domain.R * (spec.reach or 1.0)
        sampling, bias = self._costs(plan)
        # The weights lie within tol / 2 of the minimiser in L1.
        fresh = sampling + bias + erm.stability(L, R, spec.n, lam) + L * R * plan.tol
        over = sampling + 0.5 * L * R * plan.tol
        says = "comparator on the simplex"
        upper = (
            Bound("excess_empirical_risk", "upper", sampling + bias, "expectation", _OURS, says),
            Bound("excess_over_regularised", "upper", over, "expectation", _OURS, "||x||_inf <= R"),
            Bound("excess_population_risk", "upper", fresh, "expectation", _OURS, f"independent records; {says}"),
        )
        rate = theory.published_sampling_rate(L * R, loss.curvature_bound, spec.n, spec.p, plan.requested)
        says = "the best model on the simplex, m of Theorem 3 as a real number"
        return (*upper, erm.rate(rate, "Jain and Thakurta 2014, Theorem 4 as published (with probability 2/3)", says))

    def lens(
        self, plans: Plans, prepared: list[Prepared], data: Data, best: Minimum, seed: int, cancelled: Cancelled
    ) -> Lens:
        """F(centre) below, since F is convex and the draws have the mean theta; above, `sampling_excess` of each record
        by the variance of its own prediction more."""
        thetas = np.stack([each.theta for each in prepared])
        centres, moved = (
            get_loss(plans[0].spec.loss).risks(data, thetas),
            draws_excess(data, plans[0].spec, thetas, np.array([plan.steps for plan in plans])),
        )
        return Lens(centres, centres + moved, 0.0 * moved)

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        """The draws move every prediction; the entropy of the weights; and both for the worst records."""
        loss, lam, weights = get_loss(plan.spec.loss), float(plan.spec.lam), weights_of(prepared)
        centre = loss.risks(data, prepared.theta[None])
        draws, worst_draws, worst_bias = (
            draws_excess(data, plan.spec, prepared.theta[None], np.array([plan.steps])),
            *self._costs(plan),
        )
        logs, idle = weights.log_weights, plan.spec.p - len(weights.log_weights)
        entropy = -float(np.exp(logs) @ logs) - (idle * math.exp(weights.log_idle) * weights.log_idle if idle else 0.0)
        bias = lam * (entropy + plan.tol)
        worst_weights, worst_records = draws + worst_bias, np.array([worst_draws + worst_bias])
        return (
            Link("draws: the loss as curved as it can be", "Mixtures", centre - best.risk + draws),
            Link("entropy: all that the weights hold is paid", "Mixtures", bias + draws),
            Link("entropy: as much as p columns can hold", "Mixtures", worst_weights, worst=True),
            Link("records: predictions all over [−R, R]", "Mixtures", worst_records, worst=True),
        )

    def _costs(self, plan: Plan) -> tuple[float, float]:
        """Largest mean excess by the draws, and by the entropy: the weights minimise J - lam <e, w> with |e_j| <=
        tol / 2."""
        spec, loss, lam = plan.spec, get_loss(plan.spec.loss), float(plan.spec.lam)
        R = spec.domain.R * (spec.reach or 1.0)
        sampling = theory.sampling_excess(loss.lipschitz(spec), loss.curvature_bound, R, plan.steps)
        return sampling, theory.entropy_bias(lam, spec.p) + lam * plan.tol

    def attack_limit(self, plan: Plan) -> float:
        """Attack success against m draws from one choice of range eta; by inequalities if m is too large."""
        eta = 2.0 * plan.ledger[0].sensitivity / plan.scale
        if plan.steps > _MOST_COUNTED:
            return bounded_range_attack_limit(eta, plan.steps)
        return RepeatedChoiceCurve(eta, plan.steps).attack_limit()

    def claimed_curve(self, plan: Plan) -> TradeoffCurve:
        eta = br.largest_eta(plan.spent, plan.steps)
        if br.privacy_cost(eta, plan.steps, plan.spent.delta).delta != plan.spent.delta:
            # If delta covers the whole loss, the budget spent does not determine the range.
            return PureCurve(plan.spent.epsilon, plan.spent.delta)
        if plan.steps > _MOST_COUNTED:
            return equal_choices_curve(eta, plan.steps)
        return RepeatedChoiceCurve(eta, plan.steps)

    def prepare(self, plan: Plan, data: Data, start: Array | None = None) -> PreparedWeights:
        """Solve for the weights. start: [r], ln w_j of a nearby problem."""
        check_records(data, plan.spec)
        spec, radius = plan.spec, plan.spec.reach or 1.0
        loss = get_loss(spec.loss)
        found = minimise_entropic(loss, data, float(spec.lam), tol=plan.tol, radius=radius, start=start)
        theta = radius * np.exp(found.log_weights)
        return PreparedWeights(theta, found.residual, found.log_weights, found.log_idle)

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        weights, asked = tempered(weights_of(prepared), plan), len(prepared.theta)
        # Requested columns that are not stored are idle.
        added = np.full(asked - len(weights.log_weights), weights.log_idle)
        log_weights = np.append(weights.log_weights, added)
        law = _law(log_weights, idle=asked < plan.spec.p)
        counts = np.array([rng.multinomial(plan.steps, law) for rng in rngs])[:, :asked]
        return counts * ((plan.spec.reach or 1.0) / plan.steps)

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases for curves; the two releases of a generator are independent: a draw of columns has no opposite."""
        seeds = np.concatenate([rng.integers(1 << 63, size=2) for rng in rngs])
        centres, thetas = [], []
        for plan, side in zip(plans, prepared, strict=True):
            go_on(cancelled)
            streams = [np.random.default_rng(seed) for seed in seeds]
            weights = tempered(weights_of(side), plan)
            thetas.append(sampled_models(weights, [plan.steps], streams, plan.spec.reach or 1.0)[:, 0])
            centres.append(weights.theta)
        return Drawn(np.array(centres), np.array(thetas))

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Neighbours of zeros but for the last record, R (1, -1, 1, ...) or its opposite; NotApplicable for p = 1.

        Linear costs attain eta. So do labels y_max under a loss whose slope there is L; logistic loss attains half.
        """
        if plan.spec.p == 1:
            raise NotApplicable(f"{self.key} has one model for one column and cannot be audited")
        X = np.zeros((plan.spec.n, plan.spec.p))
        X[-1] = plan.spec.domain.R * (1.0 - 2.0 * (np.arange(plan.spec.p) % 2))
        y = np.full(plan.spec.n, 1.0 if get_loss(plan.spec.loss).classification else plan.spec.domain.y_max)
        return Data(X, y), Data(-X + 0.0, y)

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Half the range of the scores' difference."""
        return 0.5 * float(plan.spec.lam) * float(np.ptp(_moved(weights_of(zero), weights_of(one), plan.spec.p)))

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """Log-ratio of the counts m theta / radius, and of the draws of other columns."""
        moved = _moved(tempered(weights_of(zero), plan), tempered(weights_of(one), plan), plan.spec.p)
        counts = plan.steps / (plan.spec.reach or 1.0) * outputs[:, : len(weights_of(zero).log_weights)]
        others = plan.steps - counts.sum(axis=1)
        return np.column_stack([counts, others])[:, : len(moved)] @ moved


def draws_excess(data: Data, spec: Spec, centres: Array, m: Array) -> Array:
    """Bound on the mean excess of m_k draws over `centres` [K, r] that is proved for these records, [K].

    `sampling_excess` of each record by the variance of its own prediction, on average.
    """
    loss = get_loss(spec.loss)
    squares = (data.X * data.X) @ centres.T * (spec.reach or 1.0)  # entry by entry, also of a sparse array
    variances = np.maximum(squares.T - data.margins(centres) ** 2, 0.0) / m[:, None]
    above = np.minimum(loss.lipschitz(spec) * np.sqrt(variances), 0.5 * loss.curvature_bound * variances)
    found: Array = above.mean(axis=1)
    return found


def tempered(weights: PreparedWeights, plan: Plan) -> PreparedWeights:
    """Distribution of the plan's draws: the weights or, with `Plan.weakened` noise, their power lam / scale."""
    power = float(plan.spec.lam) / plan.scale
    if power == 1.0:
        return weights
    idle = plan.spec.p - len(weights.log_weights)
    shared = power * weights.log_idle + (math.log(idle) if idle else 0.0)
    logs = power * weights.log_weights
    total = float(np.logaddexp(logsumexp(logs), shared))
    logs -= total
    theta = (plan.spec.reach or 1.0) * np.exp(logs)
    return PreparedWeights(theta, weights.distance, logs, power * weights.log_idle - total)


def _moved(zero: PreparedWeights, one: PreparedWeights, p: int) -> Array:
    """ln w_j on `one` less that on `zero`: of the stored columns, and of one idle column if there are any."""
    moved = one.log_weights - zero.log_weights
    return moved if len(moved) == p else np.append(moved, one.log_idle - zero.log_idle)


def _law(log_weights: Array, *, idle: bool) -> Array:
    """Probabilities of the stored columns, followed by that of all others together if there are any."""
    weights = np.exp(log_weights)
    if idle:
        weights = np.append(weights, max(1.0 - weights.sum(), 0.0))
    return weights / weights.sum()


def sampled_models(weights: PreparedWeights, ms: Sequence[int], rngs: Generators, radius: float) -> Array:
    """Models of each number of draws in `ms` by each generator, for charts: shape [len(rngs), len(ms), r].

    ms: in increasing order, >= 1. A model of more draws continues one of fewer, and the draws of one generator change
    little if the weights do. Up to 2^17 draws use a uniform each, the others one multinomial.

    >>> half = np.log([0.5, 0.5])
    >>> weights = PreparedWeights(np.exp(half), 0.0, half, -math.inf)
    >>> models = sampled_models(weights, [4, 100, 10**9], [np.random.default_rng(0)], radius=1.0)
    >>> models.shape, models.sum(axis=2).tolist(), round(float(models[0, 2, 0]), 3)
    ((1, 3, 2), [[1.0, 1.0, 1.0]], 0.5)
    """
    sizes, r = np.array(ms, dtype=np.int64), len(weights.log_weights)
    law = _law(weights.log_weights, idle=weights.log_idle > -math.inf)
    cumulative = np.cumsum(law)
    if len(law) == r:
        cumulative[-1] = 1.0
    first = sizes[sizes <= _MOST_UNIFORMS]
    models = np.empty((len(rngs), len(sizes), r))
    for i, rng in enumerate(rngs):
        counts = kernels.draw_counts(cumulative[:r], first, rng)
        models[i, : len(first)] = counts
        last, drawn = (counts[-1], first[-1]) if len(first) else (np.zeros(r), 0)
        for k in range(len(first), len(sizes)):
            last, drawn = last + rng.multinomial(sizes[k] - drawn, law)[:r], sizes[k]
            models[i, k] = last
    return models * (radius / sizes)[:, None]
