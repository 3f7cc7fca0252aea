"""Private Frank-Wolfe on a polytope: in each step one vertex, by the exponential mechanism."""

import dataclasses as dc
import math

import numpy as np
from scipy.special import digamma, logsumexp

from ...accounting.attack_limits import bounded_range_attack_limit
from ...accounting.composition import advanced_step
from ...accounting.tradeoff import TradeoffCurve, equal_choices_curve
from ...accounting.zcdp import bounded_range_eta, zcdp_epsilon, zcdp_rho
from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.privacy import Bound, Budget, Event, NoiseLaw, NotApplicable
from ...core.records import Data
from ...core.rng import Generators, generator, two_of_each
from ...core.specification import Domain, Spec
from ...solvers import Minimum
from ...solvers.frank_wolfe.vertices import Risk
from ...theory import frank_wolfe as theory
from ...theory import lower_bounds
from ..base import Drawn, Lens, Link, Prepared, check_certificate, knob, records_of
from ..noise.rounding import ROUNDED_UP
from ..plan import Plan, Plans
from ..worst_pairs import flipped_label
from .proof import LENS_PATHS, chain_of, follow_vertices, lens_of
from .step_count import check_T, chosen_T, constants_of
from .vertex_runs import (
    VertexMechanism,
    check_polytope,
    descend,
    is_signed,
    models_of,
    risk_behind,
    share_at,
    start_of,
    telling_record,
    vertex_scores,
)

_SOURCE = "Talwar, Thakurta and Zhang 2015"


@dc.dataclass(frozen=True)
class FrankWolfePolytope(VertexMechanism):
    """Release theta_T of theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t, mu_t = 2 / (t + 2), each s_t a private vertex.

    t = 1, ..., T - 1. theta_1 is 0 on the L1 ball, else the mean of the vertices. The set is size times the L1 ball,
    the simplex or a list of vertices (`dpcore.core.sets.Polytope`): Frank-Wolfe over the latter is Frank-Wolfe over the
    simplex of X V', the products of the records with the vertices.

    One replaced record moves the score <v, grad F(theta)> of a vertex v by at most Delta = 2 L R reach / n: L bounds
    |dl/dz| where |z| <= R reach, and reach is the largest ||v|| in the norm dual to the records'.

    accounting sets the noise b of the k = T - 1 choices:
    "tight": v with probability proportional to exp(-<v, grad F> / b), the best of scores with Gumbel noise. Its
    log-ratios lie in an interval of length eta = 2 Delta / b, and eta = max(epsilon / k, sqrt(8 rho / k)) with
    rho(epsilon, delta) of zCDP. theta_t is public, and so is the steepness L_t for |z| <= R ||theta_t||_1: on the L1
    ball a choice has the smaller noise b L_t / L at the same eta.
    "published": the best of scores with Laplace noise, b = L R reach sqrt(8 T ln(1/delta)) / (n epsilon) as published.
    Scores move both ways, so that a choice is 2 Delta / b-DP. `Plan.spent` is the cost of k choices, by their sum or by
    zCDP, and exceeds most requests: an exhibit. For large epsilon this noise breaks its guarantee, at T = 201 and
    delta = 0.01 from epsilon = 7 on; for small epsilon it is open whether it is safe (docs/errata.md).
    "published_safe": Laplace noise of four times that scale for epsilon <= 1, where strong composition has its short
    form (two for replace-one, two for scores that move both ways); beyond, and for so large a delta that the short form
    fails, each choice is as private as `composition.advanced_step` says.

    T: "bound" minimises the explicit bound over T from 2 to 10,000; "auto" takes about a sixth of that, better on most
    data, and many steps where nothing can be learned (`step_count.chosen_T`); "published" is Theorem 2.5's; or an
    integer. The plan's mechanism names the number.

    Source: Talwar, Thakurta and Zhang 2015, Algorithm 2, Theorems 1.1 and 2.5 and Corollary 2.7 (constants derived in
        docs/formulas.md, explicit).
    Randomness: two uniforms a step, or a Laplace draw a vertex and step (`dpcore.solvers.frank_wolfe.vertices`); for
        sparse records as many uniforms as a choice needs (`dpcore.solvers.frank_wolfe.sparse`).
    Guarantee: (epsilon, delta)-differential privacy, delta >= 0, for replacing one record, also if every vertex that
        was chosen is published, whatever the other records are.
    Not protected: n, p, T, the set, the budget and the bounds R, L, y_max and radius are public; running time; the
        low-order bits of probabilities; a release whose seed is known.
    """

    accounting: str = knob(
        "tight",
        choices=("tight", "published", "published_safe"),
        help="which noise and which proof: Gumbel and the tightest here, Laplace as published, or four times that",
    )
    T: int | str = knob(
        "auto", check=check_T, help='theta_T is released, after T - 1 choices: "auto", "bound", "published" or T >= 2'
    )

    key: str = dc.field(default="frank_wolfe_polytope", init=False, repr=False)
    label = "Frank-Wolfe on a polytope"
    source = f"{_SOURCE}, Algorithm 2"
    usual_loss = "squared"
    # So small a set that Huberised hinge loss keeps its steepest slope: every choice has log-ratios +-eta / 2.
    worst_spec = Spec("huber_hinge", n=10, p=3, lam=0.0, domain=Domain(math.inf), radius=0.4, set="l1_ball")
    audit_knob = ("T", 12)  # few enough choices for a fast audit, and enough to test their composition
    first_attack = ("steps", "the sensitivity of the scores, their noise and the number of steps")

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        check_polytope(self.key, spec)
        spec = dc.replace(spec, lam=0.0, radius=spec.size)
        if self.accounting != "tight" and budget.pure:
            raise NotApplicable(f"{self.key} with {self.accounting} accounting needs delta > 0, got delta = 0")

        def selection(T: Array) -> Array:
            return self._selection(spec, self._scale(spec, budget, T))

        T = chosen_T(self.key, self.T, spec, budget.epsilon, "Theorem 2.5", constants_of(spec).extent, selection)
        law: NoiseLaw = "gumbel" if self.accounting == "tight" else "laplace"
        scale, sensitivity = float(self._scale(spec, budget, np.array(T))), self._sensitivity(spec)
        event = Event(law, scale, sensitivity, times=T - 1)
        # T is fixed, so that an audit of the spent budget has the same steps.
        made, spent = dc.replace(self, T=T), self._spent(event, budget)
        return Plan(made, spec, budget, spent, (event,), T - 1, law, scale, tol=0.0)

    def _sensitivity(self, spec: Spec) -> float:
        """Sensitivity of <v, grad F> for any vertex v and any theta of the set."""
        return 2.0 * constants_of(spec).extent / spec.n

    def _scale(self, spec: Spec, budget: Budget, T: Array) -> Array:
        """b for each T."""
        choices, sensitivity = T - 1.0, self._sensitivity(spec)
        if self.accounting == "tight":
            eta = budget.epsilon / choices
            if not budget.pure:
                eta = np.maximum(eta, np.sqrt(8.0 * zcdp_rho(budget) / choices))
            return 2.0 * sensitivity / eta * ROUNDED_UP
        published = 0.5 * sensitivity * np.sqrt(8.0 * T * -math.log(budget.delta)) / budget.epsilon
        if self.accounting == "published":
            return published
        composed = 2.0 * sensitivity / advanced_step(budget, choices) * ROUNDED_UP
        # The short form drops a term that matters if ln(1/delta) is small.
        return np.maximum(4.0 * published, composed) if budget.epsilon <= 1.0 else composed

    def _selection(self, spec: Spec, scale: Array) -> Array:
        """Mean loss of a chosen vertex against the best one, at noise of this scale.

        b ln |S| for the exponential mechanism; for Laplace noise b times the |S|-th harmonic number.
        """
        vertices = spec.unit_set.n_vertices(spec.p) or 1
        return scale * (math.log(vertices) if self.accounting == "tight" else digamma(vertices + 1.0) + np.euler_gamma)

    def _choice_loss(self, plan: Plan) -> float:
        return float(self._selection(plan.spec, np.array(plan.ledger[0].scale)))

    def _spent(self, event: Event, budget: Budget) -> Budget:
        eta = _range(event.noise, event.scale, event.sensitivity)
        if event.noise == "gumbel":
            summed = event.times * eta
            return Budget(min(summed, budget.epsilon)) if summed <= budget.epsilon else budget
        each = 0.5 * eta
        summed, composed = event.times * each, zcdp_epsilon(0.5 * event.times * each**2, budget.delta)
        return Budget(summed) if summed <= composed else Budget(composed, budget.delta)

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over the best model of the set, on average over the choices; published orders; lower bounds."""
        spec, facts = plan.spec, constants_of(plan.spec)
        found = theory.frank_wolfe_bound(facts.start, facts.curvature, self._choice_loss(plan), plan.steps + 1)
        ours = f"{_SOURCE}, Theorem 2.5, with explicit constants"
        says = f"comparator in the {spec.unit_set.label}"
        upper = Bound("excess_empirical_risk", "upper", found, "expectation", ours, says)
        return (upper, *_published_rates(spec, plan.requested), *lower_bounds.packing(spec, plan.spent))

    def attack_limit(self, plan: Plan) -> float:
        return bounded_range_attack_limit(_range(plan.noise, plan.scale, plan.ledger[0].sensitivity), plan.steps)

    def claimed_curve(self, plan: Plan) -> TradeoffCurve:
        """Claimed curve; of choices with Laplace noise only their epsilon is known."""
        spent, times = plan.spent, plan.steps
        if plan.noise == "gumbel":
            return equal_choices_curve(bounded_range_eta(spent, times), times)
        each = spent.epsilon / times if spent.pure else math.sqrt(2.0 * zcdp_rho(spent) / times)
        return equal_choices_curve(each, times, pure=True)

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        runs, chosen = descend([plan], risk_behind(plan, prepared, len(rngs)), rngs)
        return models_of(plan.spec, chosen, runs, len(prepared.theta))

    def transcripts(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Vertex of every choice, [len(rngs), T - 1]: j + 1 for e_j or the j-th of a list, -(j + 1) for -e_j."""
        check_certificate(prepared.distance, plan)
        _, chosen = descend([plan], risk_behind(plan, prepared, len(rngs)), rngs)
        return chosen.signs * (chosen.columns + 1.0)

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases for curves, in which the two releases of a generator are independent: a choice has no opposite."""
        spec, r, streams = plans[0].spec, len(prepared[0].theta), two_of_each(rngs)
        risk = risk_behind(plans[0], prepared[0], len(plans) * len(streams), single=True)
        runs, chosen = descend(plans, risk, streams, cancelled)
        thetas = models_of(spec, chosen, runs, r).reshape(len(plans), len(streams), r)
        quiet, best = descend([dc.replace(plan, scale=0.0) for plan in plans], risk, streams[:1])
        return Drawn(models_of(spec, best, quiet, r), thetas)

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        streams = two_of_each(rngs)
        risk = risk_behind(plan, prepared, len(streams), single=True)
        return self.chain_along(plan, risk, best.risk, streams, cancelled)

    def chain_along(
        self, plan: Plan, risk: Risk, best: float, streams: Generators, cancelled: Cancelled = never
    ) -> tuple[Link, ...]:
        """`chain` for the runs of these streams on a risk. best: F*."""
        found = follow_vertices(plan.spec, risk, *descend([plan], risk, streams, cancelled), cancelled)
        return chain_of(plan.spec, found, best, self._choice_loss(plan), self.bounds(plan)[0])

    def lens(
        self, plans: Plans, prepared: list[Prepared], data: Data, best: Minimum, seed: int, cancelled: Cancelled
    ) -> Lens | None:
        """The proof with these records' numbers; it has no lower end.

        None for sparse records, where a whole gradient costs far more than a choice.
        """
        if records_of(prepared[0]).sparse:
            return None
        risk = risk_behind(plans[0], prepared[0], LENS_PATHS * len(plans), single=True)
        return self.lens_along(plans, risk, best.risk, seed, cancelled)

    def lens_along(self, plans: Plans, risk: Risk, least: float, seed: int, cancelled: Cancelled = never) -> Lens:
        """`lens` for a risk. least: F of any point of the set."""
        rngs = [generator(seed, f"{self.key} lens", r) for r in range(LENS_PATHS)]
        found = follow_vertices(plans[0].spec, risk, *descend(plans, risk, rngs, cancelled), cancelled)
        return lens_of(least + found.proved(least).reshape(len(plans), -1))

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Neighbours whose last record separates the two farthest vertices best, by its label; others are 0.

        On the L1 ball it is R (1, ..., 1), which attains Delta while the slope at the model is L. NotApplicable for a
        set of one point.
        """
        return flipped_label(plan.spec, telling_record(plan.spec), -1)

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Half the range over the vertices of the difference of scores at theta_1, per unit of its noise b_1 / b."""
        spec = plan.spec
        thetas = start_of(spec, records_of(zero).p)[None]
        moved = vertex_scores(spec, records_of(one), thetas) - vertex_scores(spec, records_of(zero), thetas)
        return 0.5 * float(np.ptp(moved)) / float(share_at(plan, thetas)[0])

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """Sum over the choices, each at the model that results from the choices before it; exact, Gumbel only."""
        if plan.noise != "gumbel":
            raise NotApplicable(f"{self.key} has no log-likelihood ratio for {plan.noise} noise")
        spec, p = plan.spec, records_of(zero).p
        columns = np.abs(outputs).astype(np.int64) - 1
        vertices = np.where(outputs > 0.0, columns, columns + p)[..., None]
        rows = np.arange(len(outputs))
        thetas, ratio = np.tile(start_of(spec, p), (len(outputs), 1)), np.zeros(len(outputs))
        for t in range(1, outputs.shape[1] + 1):
            scale, mu = plan.scale * share_at(plan, thetas)[:, None], 2.0 / (t + 2.0)
            for data, side in ((records_of(one), 1.0), (records_of(zero), -1.0)):
                logs = -vertex_scores(spec, data, thetas) / scale
                chosen = np.take_along_axis(logs, vertices[:, t - 1], axis=1)[:, 0]
                ratio += side * (chosen - logsumexp(logs, axis=1))
            thetas *= 1.0 - mu
            thetas[rows, columns[:, t - 1]] += mu * (spec.size or 1.0) * np.sign(outputs[:, t - 1])
        return ratio


def _published_rates(spec: Spec, budget: Budget) -> tuple[Bound, ...]:
    """Published orders of growth, shapes only; the last two only where they are stated."""
    if budget.pure:
        return ()
    facts, vertices = constants_of(spec), spec.unit_set.n_vertices(spec.p) or 1

    def rate(value: float, name: str, assumes: str) -> Bound:
        return Bound("excess_empirical_risk", "rate", value, "expectation", f"{_SOURCE}, {name}", assumes)

    general = theory.published_frank_wolfe_rate(facts.curvature, facts.extent, spec.n, vertices, budget)
    found = [rate(general, "Theorem 2.5 as published", "T of Theorem 2.5 as a real number")]
    if spec.loss == "squared" and is_signed(spec):
        says = "R, y_max and the size of the set are 1, or of that order"
        theorem, corollary = (
            f(spec.n, spec.p, budget) for f in (theory.published_lasso_rate, theory.published_lasso_corollary)
        )
        found.append(rate(theorem, "Theorem 1.1 as published", says))
        found.append(rate(corollary, "Corollary 2.7 as published; it needs another T than Theorem 2.5", says))
    return tuple(found)


def _range(law: NoiseLaw, scale: float, sensitivity: float) -> float:
    """Range of one choice's log-ratios: 2 Delta / b, or for Laplace noise, which is (2 Delta / b)-DP, twice that."""
    return (2.0 if law == "gumbel" else 4.0) * sensitivity / scale
