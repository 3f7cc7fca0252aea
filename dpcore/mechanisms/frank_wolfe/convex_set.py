"""Private Frank-Wolfe on any convex set: Gaussian noise in every gradient, with an error that grows with the width."""

import dataclasses as dc
import math
from collections.abc import Callable

import numpy as np

from ...accounting.gaussian import gaussian_mu
from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, Event
from ...core.records import Data
from ...core.rng import Generators, generator, two_of_each
from ...core.sets import L1Ball, Polytope, Simplex
from ...core.specification import Domain, Spec
from ...solvers import Minimum
from ...solvers.frank_wolfe import vertices as fw
from ...solvers.frank_wolfe.noisy_gradient import GaussianBest, descend_noisy
from ...theory import frank_wolfe as theory
from ..base import Drawn, GaussianGuarantee, Lens, Link, Prepared, ReadingMechanism, gradients_apart, knob, records_of
from ..noise.rounding import ROUNDED_UP
from ..plan import Plan, Plans
from .proof import LENS_PATHS, Evaluated, chain_of, follow_noisy, follow_vertices, lens_of
from .step_count import check_problem, check_T, chosen_T, constants_of

_SOURCE = "Talwar, Thakurta and Zhang 2015, Theorem 2.6"


@dc.dataclass(frozen=True)
class FrankWolfeGeneral(GaussianGuarantee, ReadingMechanism):
    """Release theta_T of theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t, mu_t = 2 / (t + 2), in any set of
    `dpcore.core.sets`.

    s_t is the point of the set at which <grad F(theta_t) + N(0, s^2 I_p), .> is smallest. theta_1 is 0, or the mean of
    the vertices where the set is listed as theirs (the simplex, a polytope). One replaced record moves grad F by at
    most D = 2 G / n in L2, G the largest gradient of a record: R times the largest slope, and sqrt(p) times that where
    only the entries of records are bounded. T - 1 steps are exactly mu-GDP with mu = D sqrt(T - 1) / s.

    s = D sqrt(T - 1) / mu(epsilon, delta). The paper states Theorem 2.6 without its algorithm.

    Source: Talwar, Thakurta and Zhang 2015, Theorem 2.6 (algorithm reconstructed, constants derived in
        docs/formulas.md, explicit); accounting by Dong, Roth and Su 2022.
    Randomness: see `dpcore.solvers.frank_wolfe.noisy_gradient`: a normal a stored column and step, for sets other than
        the L1 ball and the simplex a column and step.
    Guarantee: (epsilon, delta)-differential privacy, delta > 0, for replacing one record, also if every noisy gradient
        is published, whatever the other records are.
    Not protected: n, p, T, the set, the budget and the bounds R, L, y_max and radius are public; running time; the
        low-order bits of floating-point noise; a release whose seed is known.
    """

    T: int | str = knob(
        "auto", check=check_T, help='theta_T is released, after T - 1 steps: "auto", "bound", "published" or T >= 2'
    )

    key: str = dc.field(default="frank_wolfe_general", init=False, repr=False)
    label = "Frank-Wolfe with noisy gradients"
    source = _SOURCE
    family = "frank_wolfe"
    place = "gradient"
    set = "l1_ball"
    usual_loss = "squared"
    # A set so small that the slope of the loss is 1 throughout.
    worst_spec = Spec("huber_hinge", n=10, p=3, lam=0.0, domain=Domain(math.inf), radius=0.4, set="l1_ball")
    audit_knob = ("T", 4)  # few steps leak as much together as many do
    first_attack = ("steps", "the sensitivity of a gradient, its noise and the number of steps")

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        check_problem(self.key, spec)
        spec, mu = dc.replace(spec, lam=0.0, radius=spec.size), gaussian_mu(budget)
        width = _width(spec)

        def selection(T: Array) -> Array:
            return _scale(spec, mu, T) * width

        T = chosen_T(self.key, self.T, spec, budget.epsilon, "Theorem 2.6", largest_gradient(spec) * width, selection)
        sensitivity, scale = 2.0 * largest_gradient(spec) / spec.n, float(_scale(spec, mu, np.array(T)))
        event = Event(self.noise, scale, sensitivity, times=T - 1)
        # T is fixed, so that an audit of the spent budget has the same steps.
        return Plan(dc.replace(self, T=T), spec, budget, budget, (event,), T - 1, self.noise, scale, tol=0.0)

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over the best model of the set, on average over the noise; and the published order of growth.

        Widths that are means of draws enter with their error added (`dpcore.core.sets.Width`).
        """
        spec, facts = plan.spec, constants_of(plan.spec)
        found = theory.frank_wolfe_bound(
            facts.start, facts.curvature, plan.ledger[0].scale * _width(spec), float(plan.steps + 1)
        )
        rate = theory.published_width_rate(
            facts.curvature, largest_gradient(spec) * _width(spec), spec.n, plan.requested
        )
        within, ours = f"comparator in the {spec.unit_set.label}", f"{_SOURCE}, with explicit constants"
        return (
            Bound("excess_empirical_risk", "upper", found, "expectation", ours, within),
            Bound("excess_empirical_risk", "rate", rate, "expectation", _SOURCE, within),
        )

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        risk = fw.risk_of(get_loss(plan.spec.loss), records_of(prepared))
        return noisy_models(risk, [plan], rngs, width=len(prepared.theta))[0]

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases for curves, in which the two releases of a generator are independent."""
        risk = fw.risk_of(get_loss(plans[0].spec.loss), records_of(prepared[0]))
        streams = two_of_each(rngs)
        thetas = noisy_models(risk, plans, streams, cancelled=cancelled)
        return Drawn(noisy_models(risk, _quiet(plans), streams[:1], cancelled=cancelled)[:, 0], thetas)

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        risk = fw.risk_of(get_loss(plan.spec.loss), records_of(prepared))
        found = _follow(risk, [plan], two_of_each(rngs), cancelled)
        return chain_of(plan.spec, found, best.risk, plan.scale * _width(plan.spec), self.bounds(plan)[0])

    def lens(
        self, plans: Plans, prepared: list[Prepared], data: Data, best: Minimum, seed: int, cancelled: Cancelled
    ) -> Lens:
        """The proof with these records' numbers; it has no lower end."""
        risk = fw.risk_of(get_loss(plans[0].spec.loss), records_of(prepared[0]))
        rngs = [generator(seed, f"{self.key} lens", r) for r in range(LENS_PATHS)]
        found = _follow(risk, plans, rngs, cancelled)
        return lens_of(best.risk + found.proved(best.risk).reshape(len(plans), -1))

    def transcripts(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Noisy gradient of every step, [len(rngs), (T - 1) p], from which all iterates and the release follow.

        With all columns stored, those of the run that `release` makes of the same generator.
        """
        seen: list[Array] = []
        _descend_anywhere(fw.risk_of(get_loss(plan.spec.loss), records_of(prepared)), [plan], rngs, watch=seen.append)
        return np.concatenate(seen, axis=1)

    def resolution(self, plan: Plan) -> float:
        """Size of the set, since noise chooses points of it; 0 if it chooses vertices."""
        spec = plan.spec
        return 0.0 if isinstance(spec.unit_set, L1Ball | Simplex | Polytope) else spec.size or 1.0

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Distance between the gradients at theta_1."""
        return gradients_apart(plan, zero, one, _start(plan.spec)[None])

    def noiseless_steps(self, plan: Plan, prepared: Prepared, outputs: Array) -> Array:
        loss, size, data = get_loss(plan.spec.loss), plan.spec.size or 1.0, records_of(prepared)
        means, theta = [], np.tile(_start(plan.spec), (len(outputs), 1))
        for t, seen in enumerate(np.split(outputs, plan.steps, axis=1), start=1):
            means.append(loss.gradients(data, theta))
            mu = 2.0 / (t + 2.0)
            theta = (1.0 - mu) * theta + mu * size * plan.spec.unit_set.extreme(seen)
        return np.concatenate(means, axis=1)


def noisy_models(
    risk: fw.Risk, plans: Plans, rngs: Generators, *, width: int = 0, cancelled: Cancelled = never
) -> Array:
    """theta_T of every plan with the noise of every generator, [len(plans), len(rngs), width].

    plans: of one problem, apart from T and the noise; p is at least the columns of the risk, beyond which records are
    0. All plans use the same noise. width: number of columns of the models, at most p; 0 for those of the risk.
    """
    width, spec = width or risk.stored, plans[0].spec
    if isinstance(spec.unit_set, L1Ball | Simplex):
        runs, chosen = _descend_on_vertices(risk, plans, rngs, cancelled)
        found = fw.models(chosen, runs, spec.size or 1.0, _start(spec)[:1].repeat(width), width)
    else:
        found = _descend_anywhere(risk, plans, rngs, cancelled=cancelled)[:, :width]
    return found.reshape(len(plans), len(rngs), width)


def _follow(risk: fw.Risk, plans: Plans, rngs: Generators, cancelled: Cancelled) -> Evaluated:
    """Numbers of the proof along the runs of `noisy_models`, plan after plan."""
    spec = plans[0].spec
    if isinstance(spec.unit_set, L1Ball | Simplex):
        return follow_vertices(spec, risk, *_descend_on_vertices(risk, plans, rngs, cancelled), cancelled)
    return follow_noisy(spec, risk, _runs(plans, rngs), rngs, _start(spec), cancelled)


def _runs(plans: Plans, rngs: Generators) -> list[fw.Run]:
    return [fw.Run(plan.steps + 1, plan.scale, i) for plan in plans for i in range(len(rngs))]


def _quiet(plans: Plans) -> list[Plan]:
    return [dc.replace(plan, scale=0.0) for plan in plans]


def _descend_on_vertices(
    risk: fw.Risk, plans: Plans, rngs: Generators, cancelled: Cancelled
) -> tuple[list[fw.Run], fw.Chosen]:
    spec, signed = plans[0].spec, isinstance(plans[0].spec.unit_set, L1Ball)
    size, start = spec.size or 1.0, _start(spec)[:1].repeat(risk.stored)
    runs = [dc.replace(run, noise=size * run.noise) for run in _runs(plans, rngs)]
    choice = GaussianBest(rngs, spec.p - risk.stored, signed=signed)
    return runs, fw.descend(risk, runs, choice, size=size, start=start, cancelled=cancelled)


def _descend_anywhere(
    risk: fw.Risk,
    plans: Plans,
    rngs: Generators,
    *,
    cancelled: Cancelled = never,
    watch: Callable[[Array], object] | None = None,
) -> Array:
    """Like `noisy_models` with noise in all p columns, plan after plan: [len(plans) len(rngs), p]."""
    spec, size, start = plans[0].spec, plans[0].spec.size or 1.0, _start(plans[0].spec)
    return descend_noisy(
        risk, _runs(plans, rngs), spec.unit_set, rngs, size=size, start=start, cancelled=cancelled, watch=watch
    )


def _scale(spec: Spec, mu: float, T: Array) -> Array:
    """s for each T."""
    return 2.0 * largest_gradient(spec) / spec.n * np.sqrt(T - 1.0) / mu * ROUNDED_UP


def largest_gradient(spec: Spec) -> float:
    """Bound on ||gradient||_2 of a record's loss, over the records of the domain and the theta of the set."""
    return constants_of(spec).steepness * spec.domain.in_norm(2.0, spec.p).R


def _width(spec: Spec) -> float:
    """E max <g, theta> over the set for g ~ N(0, I_p), with its error added."""
    return (spec.size or 1.0) * spec.unit_set.width(spec.p).upper


def _start(spec: Spec) -> Array:
    """theta_1, [p]: 0, or the mean of the vertices if 0 need not be in the set."""
    size = spec.size or 1.0
    if isinstance(spec.unit_set, Polytope):
        return size * spec.unit_set.table.mean(axis=0)
    return np.full(spec.p, size / spec.p) if isinstance(spec.unit_set, Simplex) else np.zeros(spec.p)
