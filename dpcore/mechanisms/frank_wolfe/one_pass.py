"""One-pass private Frank-Wolfe on a polytope: each record is read once, and only the choice of vertices is noisy."""

import dataclasses as dc
import functools
import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...accounting.attack_limits import varied_range_attack_limit
from ...accounting.tradeoff import TradeoffCurve, choices_curve
from ...accounting.zcdp import zcdp_rho
from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, Event, NotApplicable
from ...core.records import Data
from ...core.rng import Generators, two_of_each
from ...core.sets import Polytope, Simplex
from ...core.specification import Domain, Spec
from ...core.validation import integer
from ...solvers import Minimum
from ...solvers.frank_wolfe.one_pass import Followed, Walk, Walked, recursive_walk
from ...solvers.frank_wolfe.vertices import Best, Choice, Exponential
from ...theory import frank_wolfe as theory
from ...theory.high_probability import BETA, MOST_RUNS, exponential_tail
from ..base import Drawn, Link, Prepared, check_certificate, knob, records_of
from ..plan import Plan, Plans
from ..worst_pairs import flipped_label
from .one_pass_sensitivity import (
    Stream,
    Weight,
    auto_stream,
    entry_moves,
    slopes_of,
    stream_bound,
    stream_error,
    stream_readings,
    stream_weight,
)
from .proof import Evaluated, Follower, OnePassLens, Watched, sampled
from .step_count import check_size
from .vertex_runs import VertexMechanism, check_polytope, idle_columns, is_signed, start_of, telling_record

_LEMMA = "One-pass Frank-Wolfe on polytopes, for given records"
_SOURCE = "Bassily, Guzmán and Nandi 2021"


@dc.dataclass(frozen=True)
class PolyhedralFrankWolfe(OnePassLens, VertexMechanism):
    """Release the end of theta <- (1 - eta) theta + eta v, v a private vertex for an estimate of the risk's gradient.

    The set is size times the L1 ball, the simplex or a list of J vertices. The estimates read each record once, in the
    given order. A replaced record changes the scores <v, estimate> of the choices after its reading, by half a range of
    s_t that follows from the records' bounds and the slope of the loss (`one_pass_sensitivity`).

    n / 2 records make the first estimate d_0; then come T steps of one length eta with m fresh records each,
    d_t = (1 - eta) d_{t-1} + g_t(theta_t) - (1 - eta) g_t(theta_{t-1}). v has a probability ~ exp(-<v, estimate> / G):
    the best of scores with Gumbel noise. A record's effect shrinks by 1 - eta a step, so that
    rho = max{s_0, s_1}^2 / (2 G^2 (1 - (1 - eta)^2)) for many steps. G is the smaller of the noise required by zCDP and
    by the plain sum over a record's choices. The paper takes m = 1, T = n / 2 and eta = ln(n / ln J) / n, with Laplace
    noise that counts every choice for every record; the erratum `minibatch_noise` has what that really costs.

    T: "auto", or the number of minibatches. "auto" chooses it, and eta for every T, from public facts alone
    (`auto_stream`). The ledger's sensitivity is the root of the sum of s_t^2 over the choices after the worst record.

    Source: Bassily, Guzmán and Nandi 2021, Algorithm 2 and Theorem 6.3 (constants derived in docs/formulas.md,
        explicit).
    Randomness: two uniforms a choice (`dpcore.solvers.frank_wolfe.vertices`).
    Guarantee: (epsilon, delta)-differential privacy, delta > 0, for replacing one record, also if every vertex that was
        chosen is published, in whatever order the records come and whatever the other records are.
    Not protected: n, p, T, the set, the batches, the budget and the bounds R, L, y_max and radius are public; running
        time; the usefulness of records that do not come in random order, which the bounds need and privacy does not;
        the low-order bits of probabilities; a release whose seed is known.
    """

    T: int | str = knob(
        "auto",
        check=functools.partial(integer, at_least=1),
        help='number of minibatches: "auto" or an integer >= 1',
    )

    key: str = dc.field(default="polyhedral_frank_wolfe", init=False, repr=False)
    label = "one-pass Frank-Wolfe on a polytope"
    source = f"{_SOURCE}, Algorithm 2"
    quantity = "excess_population_risk"
    # So small a set that Huberised hinge loss keeps its steepest slope: a record of the first batch always moves s_0.
    worst_spec = Spec("huber_hinge", n=48, p=3, lam=0.0, domain=Domain(math.inf), radius=0.4, set="l1_ball")
    first_attack = ("steps", "the sensitivity of the scores, their noise and the choices after a reading")

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        check_polytope(self.key, spec)
        check_size(self.key, spec, 1e50)  # squares of a bound on gradients
        spec = dc.replace(spec, lam=0.0, radius=spec.size)
        course = self._course(spec, budget)
        event = Event(self.noise, course.scale, course.weight.root)
        return Plan(self, spec, budget, budget, (event,), course.stream.choices, self.noise, course.scale, tol=0.0)

    def _course(self, spec: Spec, budget: Budget) -> "_Course":
        return _course(self.key, self.T, spec, budget)

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over the best model of the set, on average and in most runs; and the published orders."""
        spec, facts = plan.spec, slopes_of(plan.spec)
        stream, J = stream_of(plan), facts.vertices
        weights = (1.0 - stream.step) ** np.arange(stream.count, -1.0, -1.0)
        shares = plan.ledger[0].scale * weights / weights.sum()
        mean = stream_bound(facts, stream, float(shares.sum()) * math.log(J))
        # A choice costs at most ln J and an exponential variable more than the best; half of BETA is for the records.
        beta = BETA / 2.0
        loss = float(shares.sum()) * math.log(J) + exponential_tail(shares, -math.log(beta))
        tail = stream_bound(facts, stream, loss, beta)
        says = f"independent records; comparator in the {spec.unit_set.label}"
        rate = theory.published_polyhedral_rate(facts.across, facts.curvature, spec.n, J, plan.requested)
        ours = f"{_SOURCE}, Theorem 6.3, with explicit constants derived here"
        return (
            Bound(self.quantity, "upper", mean, "expectation", ours, says),
            Bound(self.quantity, "upper", tail, "probability", ours, MOST_RUNS + says),
            Bound(self.quantity, "rate", rate, "probability", f"{_SOURCE}, Theorem 6.3 (reconstructed)", says),
        )

    def gradients(self, plan: Plan) -> int:
        """Number of gradients: one for each record of a first batch, two for each record that corrects an estimate."""
        return stream_of(plan).gradients

    def attack_limit(self, plan: Plan) -> float:
        unit = 2.0 / plan.scale
        return max(
            varied_range_attack_limit(unit * math.fsum(moves), unit * math.hypot(*moves))
            for moves in self._course(plan.spec, plan.requested).readings
        )

    def claimed_curve(self, plan: Plan) -> TradeoffCurve:
        course = self._course(plan.spec, plan.requested)
        needed = float(course.weight.scale(zcdp_rho(plan.spent), plan.spent.epsilon))
        return choices_curve(2.0 / needed, course.readings)

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

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        """The proof of `theory.constant_steps_bound` with the costs of choices and of errors."""
        stream, facts, streams = stream_of(plan), slopes_of(plan.spec), two_of_each(rngs)
        found, lost, errors = self._followed(plan, prepared, data, streams, cancelled)
        step, spread, J = stream.step, 1.0 - found.left[:1], facts.vertices
        proved, lost, errors = found.proved(best.risk), found.summed(lost), found.summed(errors)
        rest = found.left * (found.risks[:, 0] - best.risk) + 0.5 * step * facts.curvature * spread
        met, curved = proved + lost + errors - found.summed(found.losses), lost + errors + rest
        sampled = spread * stream_error(facts, stream.first, stream.batch, stream.count, step)
        chosen = rest[:1] + sampled + spread * plan.scale * math.log(J)
        bound = np.array([self.bounds(plan)[0].value])
        return (
            Link("convexity: the gap in place of the excess", f"{_LEMMA}: convexity", proved),
            Link("errors: at the two worst vertices", f"{_LEMMA}: errors", met),
            Link("curvature: of the set, not of the steps", f"{_LEMMA}: curvature", curved, worst=True),
            Link("records: as steep as they can be", f"{_LEMMA}: records", lost + rest + sampled, worst=True),
            Link("choices: as poor as any scores allow", f"{_LEMMA}: choices", chosen, worst=True),
            Link("start: as far from the best as can be", f"{_LEMMA}: start", bound, worst=True),
        )

    def proved_run(
        self, plan: Plan, prepared: Prepared, data: Data, least: float, rng: np.random.Generator, cancelled: Cancelled
    ) -> float:
        steps = [stream_of(plan).step] * plan.steps
        found, *_ = self._followed(plan, prepared, data, [rng], cancelled, sampled(steps, rng))
        return float(found.proved(least)[0])

    def _followed(
        self,
        plan: Plan,
        prepared: Prepared,
        fresh: Data,
        rngs: Generators,
        cancelled: Cancelled,
        weights: Array | None = None,
    ) -> tuple[Evaluated, Array, Array]:
        """Numbers of the proof along runs, F being the mean loss of fresh records; and [len(rngs), choices] each, what
        a choice loses in its own scores, and the range of these scores' errors. weights: of `Follower`."""
        spec, step, rows = plan.spec, stream_of(plan).step, np.arange(len(rngs))
        shape = Simplex() if isinstance(spec.unit_set, Polytope) else spec.unit_set
        size, start = spec.size or 1.0, start_of(spec, spec.p if shape is spec.unit_set else slopes_of(spec).vertices)
        people = self.read(spec, fresh)
        follower = Follower(get_loss(spec.loss), people, shape, size, start, len(rngs), weights)
        lost, errors = list[Array](), list[Array]()

        def see(scores: Array, columns: NDArray[np.int64], signs: Array) -> None:
            taken, estimate = np.zeros((2, *follower.thetas.shape))
            taken[rows, columns], estimate[:, : scores.shape[1]] = size * signs, scores
            error = follower.go(step, taken) - estimate
            lost.append(np.einsum("kw,kw->k", estimate, taken) - follower.smallest(estimate))
            errors.append(-follower.smallest(error) - follower.smallest(-error))

        idle = idle_columns(spec, records_of(prepared))
        choice = Watched(Exponential(rngs, idle, signed=is_signed(spec)), see)
        self._walk(plan, prepared, choice, len(rngs), cancelled)
        return follower.followed(), np.stack(lost, axis=1), np.stack(errors, axis=1)

    def _run(self, plan: Plan, prepared: Prepared, rngs: Generators, cancelled: Cancelled = never) -> Walked:
        choice = Exponential(rngs, idle_columns(plan.spec, records_of(prepared)), signed=is_signed(plan.spec))
        return self._walk(plan, prepared, choice, len(rngs), cancelled)

    def _walk(self, plan: Plan, prepared: Prepared, choice: Choice, count: int, cancelled: Cancelled = never) -> Walked:
        spec, data, stream = plan.spec, records_of(prepared), stream_of(plan)
        width = data.stored if isinstance(spec.unit_set, Polytope) else len(prepared.theta)
        walk = Walk(get_loss(spec.loss), data, start_of(spec, width), spec.size or 1.0, count, choice, cancelled)
        noise = np.full(stream.choices, plan.scale)
        return recursive_walk(walk, stream.first, stream.batch, stream.step, noise)

    def _follow(self, plan: Plan, prepared: Prepared, walked: Walked, *, keep: bool) -> Followed:
        """Choices along given vertices on these records, with their likelihoods and scores."""
        idle = idle_columns(plan.spec, records_of(prepared))
        follower = Followed(walked.columns, walked.signs, idle, signed=is_signed(plan.spec), keep=keep)
        self._walk(plan, prepared, follower, len(walked.columns))
        return follower

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Neighbours with one record that separates the two farthest vertices best, by its label; others are 0.

        It is the first of the first batch, unless a later record has a larger effect.
        """
        spec, stream = plan.spec, stream_of(plan)
        s0, s1 = entry_moves(slopes_of(spec), stream.first, stream.batch, stream.step)
        return flipped_label(spec, telling_record(spec), 0 if s0 >= s1 else stream.first)

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
        """Sum over the choices, each at the model that results from the choices before it; exact."""
        path = Walked(np.empty(0), np.abs(outputs).astype(np.int64) - 1, np.sign(outputs))
        after, before = (self._follow(plan, side, path, keep=False).log_likelihood for side in (one, zero))
        return after - before


def stream_of(plan: Plan) -> Stream:
    """Which records the steps of a plan read."""
    return cast(PolyhedralFrankWolfe, plan.mechanism)._course(plan.spec, plan.requested).stream


@dc.dataclass(frozen=True)
class _Course:
    """Noise of a run. scale: `Plan.scale`. weight: of the worst record. readings: for the first batch and for the
    second, half the range by which a record changes each later choice."""

    stream: Stream
    scale: float
    weight: Weight
    readings: tuple[tuple[float, ...], ...]


@functools.lru_cache(maxsize=256)
def _course(key: str, T: Any, spec: Spec, budget: Budget) -> _Course:
    rho, facts = zcdp_rho(budget), slopes_of(spec)
    if facts.width == 0.0:
        raise NotApplicable(
            f"{key} needs a set of more than one point, got the {spec.unit_set.label} with p = {spec.p}"
        )
    if T != "auto" and spec.n - spec.n // 2 < T:
        raise NotApplicable(f"{key} needs T <= n / 2 minibatches, got n = {spec.n:,} and T = {T:,}")
    stream = auto_stream(facts, spec.n, rho, budget.epsilon, None if T == "auto" else T)
    weight = stream_weight(facts, stream)
    return _Course(stream, float(weight.scale(rho, budget.epsilon)), weight, stream_readings(facts, stream))


def _models(plan: Plan, walked: Walked, prepared: Prepared) -> Array:
    shape = plan.spec.unit_set
    return walked.thetas @ shape.table[:, : len(prepared.theta)] if isinstance(shape, Polytope) else walked.thetas
