"""One-pass private Frank-Wolfe on a polytope: each record is read once, and only the choice of vertices is noisy."""

import dataclasses as dc
import functools
import math
from typing import Any, cast

import numpy as np
from scipy.special import digamma

from ...accounting.attack_limits import varied_range_attack_limit
from ...accounting.tradeoff import TradeoffCurve, choices_curve, summed_curve
from ...accounting.zcdp import zcdp_epsilon, zcdp_rho
from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, Event, NoiseLaw, NotApplicable
from ...core.records import Data
from ...core.rng import Generators
from ...core.sets import Polytope
from ...core.specification import Domain, Spec
from ...core.validation import integer
from ...solvers.frank_wolfe.one_pass import Followed, Walk, Walked, recursive_walk, tree_walk
from ...solvers.frank_wolfe.tree import Tree, tree_of
from ...solvers.frank_wolfe.vertices import Best, Choice, Exponential, NoisyBest
from ...theory import frank_wolfe as theory
from ...theory.high_probability import BETA, MOST_RUNS, exponential_tail, laplace_tail
from ..base import Drawn, Prepared, check_certificate, knob, records_of
from ..plan import Plan, Plans
from ..worst_pairs import flipped_label
from .one_pass_sensitivity import (
    LARGEST_DEPTH,
    Stream,
    Weight,
    auto_stream,
    auto_tree,
    entry_moves,
    published_stream,
    slopes_of,
    stream_bound,
    stream_readings,
    stream_weight,
    tree_bound,
    tree_readings,
    tree_scales,
    tree_tail,
    tree_weight,
)
from .step_count import check_size
from .vertex_runs import VertexMechanism, check_polytope, idle_columns, is_signed, start_of, telling_record

_SOURCE = "Bassily, Guzmán and Nandi 2021"
_AUDITED_T = 3


@dc.dataclass(frozen=True)
class PolyhedralFrankWolfe(VertexMechanism):
    """Release the end of theta <- (1 - eta) theta + eta v, v a private vertex for an estimate of the risk's gradient.

    The set is size times the L1 ball, the simplex or a list of J vertices. The estimates read each record once, in the
    given order. A replaced record changes the scores <v, estimate> of the choices after its reading, by half a range of
    s_t that follows from the records' bounds, the slope and the curvature of the loss (`one_pass_sensitivity`).

    variant:
    "minibatch": n / 2 records for the first estimate d_0, then T steps of one length eta with m fresh records each,
    d_t = (1 - eta) d_{t-1} + g_t(theta_t) - (1 - eta) g_t(theta_{t-1}). A record's effect shrinks by 1 - eta a step, so
    that rho = max{s_0, s_1}^2 / (2 G^2 (1 - (1 - eta)^2)) for many steps. It had the smaller bound in all cases tried.
    "published": the same with m = 1, T = n / 2 and eta = ln(n / ln J) / n, Algorithm 2.
    "tree": Algorithm 1 of the paper without its noise: phase t is a binary tree with 2^t leaves, a step each,
    eta = 2 / (tau + 2) at step tau. A record of a node moves the leaves below it, so that noise G_t of the choices of
    phase t costs rho = max over nodes of leaves s^2 / (2 G_t^2).
    accounting:
    "tight": v with probability ~ exp(-<v, estimate> / G), the best of scores with Gumbel noise. G is the smaller of the
    noise required by zCDP and by the plain sum over a record's choices.
    "published", only for the published variant: the best of scores with Laplace noise 2 s_t sqrt(n ln(1/delta)) /
    epsilon, s_t = max{(1 - eta)^t s_0, s_1}. `Plan.spent` follows from the sum or zCDP over the choices after one
    record, whose effect shrinks: far less than was requested.
    T: "auto", or the depth of the last tree, or the number of minibatches. "auto" chooses it, and eta for every T, from
    public facts alone (`auto_tree`, `auto_stream`).

    The first estimate of a phase has noise of the same law as all others: `Plan.scale` is that of the last phase (tree)
    or of the first choice, and the noise of all others is in proportion. The ledger's sensitivity is the root of the
    sum of s_t^2 over the choices after the worst record, in units of their noise over `Plan.scale`.

    Source: Bassily, Guzmán and Nandi 2021, Algorithm 2 and Theorem 6.3; trees of choices as in Asi, Feldman, Koren and
        Talwar 2021 (constants derived in docs/formulas.md, explicit).
    Randomness: two uniforms a choice, or a Laplace draw a vertex and choice
    (`dpcore.solvers.frank_wolfe.vertices`).
    Guarantee: (epsilon, delta)-differential privacy, delta > 0, for replacing one record, also if every vertex that was
        chosen is published, in whatever order the records come and whatever the other records are.
    Not protected: n, p, T, the set, the batches, the budget and the bounds R, L, y_max and radius are public; running
        time; the usefulness of records that do not come in random order, which the bounds need and privacy does not;
        the low-order bits of probabilities; a release whose seed is known.
    """

    accounting: str = knob(
        "tight",
        choices=("tight", "published"),
        help="which noise and which proof: Gumbel and the tightest here, or Laplace as published",
    )
    variant: str = knob(
        "minibatch",
        choices=("minibatch", "tree", "published"),
        help="how records are read: minibatches after a large one, trees of batches, or one record a step as published",
    )
    T: int | str = knob(
        "auto",
        check=functools.partial(integer, at_least=1),
        help='depth of the last tree, or number of minibatches: "auto" or an integer >= 1',
    )

    key: str = dc.field(default="polyhedral_frank_wolfe", init=False, repr=False)
    label = "one-pass Frank-Wolfe on a polytope"
    source = f"{_SOURCE}, Algorithm 2"
    quantity = "excess_population_risk"
    # So small a set that Huberised hinge loss keeps its steepest slope: a record of a root always moves s_0.
    worst_spec = Spec("huber_hinge", n=48, p=3, lam=0.0, domain=Domain(math.inf), radius=0.4, set="l1_ball")
    first_attack = ("steps", "the sensitivity of the scores, their noise and the choices after a reading")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.T == "auto":
            return
        if self.variant == "published":
            raise ValueError(f"T must be 'auto' for variant 'published', got {self.T}")
        if self.variant == "tree" and int(self.T) > LARGEST_DEPTH:
            raise ValueError(f"T must be at most {LARGEST_DEPTH} for trees, got {self.T:,}")

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        check_polytope(self.key, spec)
        check_size(self.key, spec, 1e50)  # squares of a bound on gradients
        spec = dc.replace(spec, lam=0.0, radius=spec.size)
        course = self._course(spec, budget)
        law: NoiseLaw = "gumbel" if self.accounting == "tight" else "laplace"
        event = Event(law, course.scale, course.weight.root)
        spent = budget if law == "gumbel" else _laplace_cost(course, budget.delta)
        return Plan(self, spec, budget, spent, (event,), course.route.choices, law, course.scale, tol=0.0)

    def _course(self, spec: Spec, budget: Budget) -> "_Course":
        return _course(self.key, self.variant, self.accounting, self.T, spec, budget)

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over the best model of the set, on average and in most runs; and the published orders."""
        spec, facts = plan.spec, slopes_of(plan.spec)
        course = self._course(spec, plan.requested)
        scales, route = plan.ledger[0].scale * course.shares, course.route
        if isinstance(route, Tree):
            mean, tail = tree_bound(facts, route, scales), tree_tail(facts, route, scales)
        else:
            weights = (1.0 - route.step) ** np.arange(route.count, -1.0, -1.0)
            shares, laplace = scales * weights / weights.sum(), plan.noise == "laplace"
            # The largest of J Laplace variables is on average at most the J-th harmonic number.
            J, whole = facts.vertices, float(shares.sum())
            worst = digamma(J + 1.0) + np.euler_gamma if laplace else math.log(J)
            mean = stream_bound(facts, route, whole * worst)
            # It is at most ln J and an exponential variable, and the best vertex has a Laplace variable of its own.
            beta = BETA / (3.0 if laplace else 2.0)
            loss = whole * math.log(J) + exponential_tail(shares, -math.log(beta))
            loss += laplace_tail(shares, -math.log(beta)) if laplace else 0.0
            tail = stream_bound(facts, route, loss, beta)
        says = f"independent records; comparator in the {spec.unit_set.label}"
        shared = facts.across, facts.curvature, spec.n, facts.vertices, plan.requested
        rate = theory.published_polyhedral_rate(*shared)
        ours = f"{_SOURCE}, Theorem 6.3, with explicit constants derived here"
        listed = [
            Bound(self.quantity, "upper", mean, "expectation", ours, says),
            Bound(self.quantity, "upper", tail, "probability", ours, MOST_RUNS + says),
            Bound(self.quantity, "rate", rate, "probability", f"{_SOURCE}, Theorem 6.3 (reconstructed)", says),
        ]
        if isinstance(route, Tree):
            theirs = "Asi, Feldman, Koren and Talwar 2021, abstract"
            value = theory.tree_choices_rate(*shared)
            listed.append(Bound(self.quantity, "rate", value, "expectation", theirs, f"the L1 ball; {says}"))
        return tuple(listed)

    def gradients(self, plan: Plan) -> int:
        """Number of gradients: one for each record of a first batch, two for each record that corrects an estimate."""
        return route_of(plan).gradients

    def attack_limit(self, plan: Plan) -> float:
        course, unit = self._course(plan.spec, plan.requested), 2.0 / plan.scale
        if plan.noise == "laplace":
            # It makes a choice (2 s / b)-DP, which is twice that range.
            return varied_range_attack_limit(2.0 * unit * course.weight.total, 2.0 * unit * course.weight.root)
        # Early phases may be accounted for by a plain sum, which allows more leakage than zCDP of the last one.
        return max(
            varied_range_attack_limit(unit * math.fsum(moves), unit * math.hypot(*moves)) for moves in course.readings
        )

    def claimed_curve(self, plan: Plan) -> TradeoffCurve:
        """Claimed curve; choices with Laplace noise are known only to be (2 s / b)-DP."""
        course, rho = self._course(plan.spec, plan.requested), zcdp_rho(plan.spent)
        weight, epsilon = course.weight, plan.spent.epsilon
        if plan.noise == "laplace":
            # The inverse of `_laplace_cost`.
            unit = max(epsilon / weight.total, math.sqrt(2.0 * rho) / weight.root)
            return summed_curve(unit * weight.total, unit * weight.root, pure=True)
        return choices_curve(2.0 / float(weight.scale(rho, epsilon)), course.readings)

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        return _models(plan, self._run(plan, prepared, rngs), prepared)

    def transcripts(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Vertex of every choice, [len(rngs), steps]: j + 1 for e_j or the j-th of a list, -(j + 1) for -e_j."""
        check_certificate(prepared.distance, plan)
        walked = self._run(plan, prepared, rngs)
        return walked.signs * (walked.columns + 1.0)

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases for curves, in which the two releases of a generator are independent: a choice has no opposite."""
        seeds = [seed for rng in rngs for seed in rng.integers(1 << 63, size=2)]
        centres, thetas = [], []
        for plan, side in zip(plans, prepared, strict=True):
            quiet = Best(idle=idle_columns(plan.spec, records_of(side)), signed=is_signed(plan.spec))
            centres.append(_models(plan, self._walk(plan, side, quiet, 1, cancelled), side)[0])
            streams = [np.random.default_rng(seed) for seed in seeds]
            thetas.append(_models(plan, self._run(plan, side, streams, cancelled), side))
        return Drawn(np.stack(centres), np.stack(thetas))

    def _run(self, plan: Plan, prepared: Prepared, rngs: Generators, cancelled: Cancelled = never) -> Walked:
        law = Exponential if plan.noise == "gumbel" else NoisyBest
        choice = law(rngs, idle_columns(plan.spec, records_of(prepared)), signed=is_signed(plan.spec))
        return self._walk(plan, prepared, choice, len(rngs), cancelled)

    def _walk(self, plan: Plan, prepared: Prepared, choice: Choice, count: int, cancelled: Cancelled = never) -> Walked:
        spec, data, course = plan.spec, records_of(prepared), self._course(plan.spec, plan.requested)
        width = data.stored if isinstance(spec.unit_set, Polytope) else len(prepared.theta)
        walk = Walk(get_loss(spec.loss), data, start_of(spec, width), spec.size or 1.0, count, choice, cancelled)
        route, noise = course.route, plan.scale * course.shares
        if isinstance(route, Tree):
            return tree_walk(walk, route, noise)
        return recursive_walk(walk, route.first, route.batch, route.step, noise)

    def _follow(self, plan: Plan, prepared: Prepared, walked: Walked, *, keep: bool) -> Followed:
        """Choices along given vertices on these records, with their likelihoods and scores."""
        idle = idle_columns(plan.spec, records_of(prepared))
        follower = Followed(walked.columns, walked.signs, idle, signed=is_signed(plan.spec), keep=keep)
        self._walk(plan, prepared, follower, len(walked.columns))
        return follower

    def audited(self) -> "PolyhedralFrankWolfe":
        """This mechanism with a tree so deep that an audit tests its composition."""
        return dc.replace(self, T=_AUDITED_T) if self.variant == "tree" else self

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Neighbours with one record that separates the two farthest vertices best, by its label; others are 0.

        It is the first of the last tree, or of the first batch, unless a later record has a larger effect.
        """
        spec, facts, route = plan.spec, slopes_of(plan.spec), route_of(plan)
        if isinstance(route, Tree):
            place = Tree(route.phases[:-1], route.batch).used
        else:
            s0, s1 = entry_moves(facts, route.first, route.batch, route.step)
            place = 0 if s0 >= s1 else route.first
        return flipped_label(spec, telling_record(spec), place)

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Root of the sum over the choices of the squared half range by which scores differ, as in the ledger.

        It is computed along the vertices that the first data set chooses without noise.
        """
        quiet = Best(idle=idle_columns(plan.spec, records_of(zero)), signed=is_signed(plan.spec))
        path = self._walk(plan, zero, quiet, 1)
        seen = [self._follow(plan, side, path, keep=True).scores for side in (zero, one)]
        halves = [0.5 * float(np.ptp(b - a)) for a, b in zip(*seen, strict=True)]
        return plan.scale * math.hypot(*halves)

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """Sum over the choices, each at the model that results from the choices before it; exact, Gumbel only."""
        if plan.noise != "gumbel":
            raise NotApplicable(f"{self.key} has no log-likelihood ratio for {plan.noise} noise")
        path = Walked(np.empty(0), np.abs(outputs).astype(np.int64) - 1, np.sign(outputs))
        after, before = (self._follow(plan, side, path, keep=False).log_likelihood for side in (one, zero))
        return after - before


def route_of(plan: Plan) -> Tree | Stream:
    """Which records the steps of a plan read."""
    return cast(PolyhedralFrankWolfe, plan.mechanism)._course(plan.spec, plan.requested).route


@dc.dataclass(frozen=True)
class _Course:
    """Noise of a run. scale: `Plan.scale`. shares: noise over it, of each phase (tree) or choice. weight: of the worst
    record. readings: for each place of a record, half the range by which it changes each later choice, over the
    choice's share; empty for Laplace noise.
    """

    route: Tree | Stream
    scale: float
    shares: Array
    weight: Weight
    readings: tuple[tuple[float, ...], ...]


@functools.lru_cache(maxsize=256)
def _course(key: str, variant: str, accounting: str, T: Any, spec: Spec, budget: Budget) -> _Course:
    rho, facts = zcdp_rho(budget), slopes_of(spec)
    if facts.across == 0.0:
        raise NotApplicable(
            f"{key} needs a set of more than one point, got the {spec.unit_set.label} with p = {spec.p}"
        )
    if accounting == "published" and variant != "published":
        raise NotApplicable(f"{key} with published accounting needs the published variant, got {variant!r}")
    if variant == "tree":
        tree = auto_tree(facts, spec.n, rho, budget.epsilon) if T == "auto" else tree_of(spec.n, T)
        if tree is None:
            raise NotApplicable(f"{key} needs a record for every leaf of its trees, got n = {spec.n:,} and T = {T}")
        scales = tree_scales(facts, tree, rho, budget.epsilon)
        shares = scales / scales[-1]
        weight = tree_weight(facts, tree, tree.phases[-1])
        return _Course(tree, float(scales[-1]), shares, weight, tree_readings(facts, tree, shares))
    if variant == "minibatch":
        if T != "auto" and spec.n - spec.n // 2 < T:
            raise NotApplicable(f"{key} needs T <= n / 2 minibatches, got n = {spec.n:,} and T = {T:,}")
        stream = auto_stream(facts, spec.n, rho, budget.epsilon, None if T == "auto" else T)
    else:
        if spec.n <= math.e * math.log(facts.vertices):
            raise NotApplicable(
                f"{key} as published needs n > e ln J = {math.e * math.log(facts.vertices):.3g}, got {spec.n}"
            )
        stream = published_stream(spec.n, facts.vertices)
    shares = np.ones(stream.choices)
    if accounting == "tight":
        weight = stream_weight(facts, stream)
        readings = stream_readings(facts, stream)
        return _Course(stream, float(weight.scale(rho, budget.epsilon)), shares, weight, readings)
    s0, s1 = entry_moves(facts, stream.first, stream.batch, stream.step)
    moves = np.maximum((1.0 - stream.step) ** np.arange(stream.choices) * s0, s1)
    scale = 2.0 * moves[0] * math.sqrt(spec.n * -math.log(budget.delta)) / budget.epsilon
    return _Course(stream, float(scale), moves / moves[0], stream_weight(facts, stream, moves / moves[0]), ())


def _laplace_cost(course: _Course, delta: float) -> Budget:
    """Privacy cost of choices that are (2 s / b)-DP each, by the sum or by zCDP."""
    summed = 2.0 * course.weight.total / course.scale
    return Budget(min(summed, zcdp_epsilon(2.0 * (course.weight.root / course.scale) ** 2, delta)), delta)


def _models(plan: Plan, walked: Walked, prepared: Prepared) -> Array:
    shape = plan.spec.unit_set
    return walked.thetas @ shape.table[:, : len(prepared.theta)] if isinstance(shape, Polytope) else walked.thetas
