"""Phased stochastic gradient descent on l_p balls, p from 2 to inf: each record once, noise after each phase."""

import copy
import dataclasses as dc
import math
from typing import cast

import numpy as np

from ...accounting.gaussian import gaussian_mu
from ...core.arrays import Array
from ...core.cancel import Cancelled
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, Event, NotApplicable
from ...core.records import Data
from ...core.rng import Generators
from ...core.sets import NormBall
from ...core.specification import Spec
from ...core.validation import check_real
from ...solvers import Minimum
from ...solvers.descent.phased_sgd import Descender, Phase, descend_in_phases
from ...theory import gradient_descent as theory
from ...theory.high_probability import BETA, MOST_RUNS, phased_tail
from ..base import Drawn, GaussianGuarantee, Link, Prepared, ReadingMechanism, knob, records_of
from ..frank_wolfe.step_count import LpConstants, constants_of, lp_constants_of
from ..noise.rounding import ROUNDED_UP
from ..plan import Plan, Plans
from ..worst_pairs import opposite_labels
from .phased_proof import links_met

_PAPER = "Bassily, Guzmán and Nandi 2021"
_SOURCE = "Feldman, Koren and Talwar 2020, Algorithm 2"
# "auto": how much longer steps are than those of the smallest bound (docs/formulas.md, "Phased descent").
_LONGER = math.sqrt(2.0)
# Losses with a kink: the loss for predictions averaged uniformly within a width, and the jump of the slope.
_ROUNDED = {"hinge": ("huber_hinge", 1.0), "absolute": ("huber", 2.0)}


@dc.dataclass(frozen=True)
class L2Constants:
    """Public constants of a problem in L2, the norm of steps and noise.

    L: a bound on the gradient of a record's loss. smoothness: such a gradient moves by at most this times the distance
    between two models; inf where the loss has a kink. distance: a bound on ||theta||_2 in the set.
    """

    L: float
    smoothness: float
    distance: float


@dc.dataclass(frozen=True)
class PhasedSGD(GaussianGuarantee, ReadingMechanism):
    """Release x_k: x_i = Proj(mean of the iterates of phase i + N(0, s_i^2 I)), on floor(n / 2^i) fresh records each.

    Phase i starts at x_{i-1}, x_0 = 0, takes one projected gradient step of length eta_i = eta / 4^i on each of its m_i
    records, in the given order, and averages its m_i + 1 iterates.

    Privacy. Say record j of phase i is replaced. The iterates before it stay; the next one moves by at most
    eta_i ||g - g'||_2 <= 2 L eta_i, L a bound on gradients in L2; and no later step, on equal records, increases the
    distance of two models: projections never do, and for a convex f whose gradient is beta-Lipschitz
        ||(x - eta g) - (x' - eta g')||^2 <= ||x - x'||^2 - eta (2 / beta - eta) ||g - g'||^2, g = grad f(x), g' at x',
    by co-coercivity, <g - g', x - x'> >= ||g - g'||^2 / beta, so that eta_i <= 2 / beta is enough. All eta_i are at
    most eta / 4, and eta <= 8 / beta. At most m_i of the m_i + 1 iterates move, so that the mean moves by at most
    D_i = 2 L eta_i m_i / (m_i + 1): that phase is exactly mu-GDP with mu = D_i / s_i, the same for every i. A record is
    in one phase; earlier phases do not read it, and later ones read only x_i and their own records. Hence
    x_1, ..., x_k together are mu-GDP, without composition.

    step: eta, or "auto": sqrt(2) times the one that minimises the bound, which costs at most 6.1% of the bound
    (`_auto_step`). Hinge and absolute loss have a kink, at which steps can increase distances: they are replaced by
    their mean over predictions that vary uniformly within a width, chosen so that the mean is 8 / eta smooth for every
    eta (`phased_bound`); these means are the Huberised hinge and Huber loss.

    The set: an l_p ball, p from 2 to inf. Records may be bounded in any norm; only the implied bound in L2 matters,
    which for the dual norm, of order p / (p - 1) <= 2, is the same R.

    Source: Feldman, Koren and Talwar 2020, Algorithm 2; Bassily, Guzmán and Nandi 2021, Section 7 and
        Proposition 7.1. Constants derived here and in `theory.gradient_descent.phased_terms` (explicit).
    Randomness: p normals a phase, in the order of the phases.
    Guarantee: (epsilon, delta)-differential privacy, delta > 0, for replacing one record, also if every x_i is
        published, whatever the order of the records and whatever the other records are.
    Not protected: n, p, the set, the step, the budget and the bounds R, y_max and radius are public, and so is the
        place in the order at which a phase begins (the bound needs a random order, privacy does not); running time; the
        low-order bits of floating-point noise; a release whose seed is known.
    """

    step: float | str = knob(
        "auto",
        check=lambda name, step: check_real(name, step, "a finite number > 0", lambda v: v > 0),
        help='eta, the steps of phase i being eta / 4^i: "auto" or a number > 0',
    )

    key: str = dc.field(default="phased_sgd", init=False, repr=False)
    label = "phased stochastic gradient descent"
    source = _SOURCE
    family = "gradient"
    place = "gradient"
    quantity = "excess_population_risk"
    set = "box"
    # A set so small that the slope of the loss is 1 throughout, and so large that no step leaves it.
    worst_spec = Spec("huber_hinge", n=10, p=3, lam=0.0, radius=0.4, set="box")
    first_attack = ("first_phase", "the sensitivity of the first phase and its noise")

    @property
    def q(self) -> float:
        """Norm order 2: steps and noise are in L2 for every set."""
        return 2.0

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        facts = l2_constants_of(self.key, spec)
        spec, multiplier = dc.replace(spec, lam=0.0, radius=spec.size), ROUNDED_UP / gaussian_mu(budget)
        eta, sizes = self._eta(spec, facts, multiplier), theory.phase_sizes(spec.n)
        sensitivity = 2.0 * facts.L * eta / 4.0 * theory.replaced_share(sizes[0])
        event = Event(self.noise, multiplier * sensitivity, sensitivity)
        made = dc.replace(self, step=eta)  # so that an audit of the spent budget has the same steps
        return Plan(made, spec, budget, budget, (event,), len(sizes), self.noise, event.scale, tol=0.0)

    def _eta(self, spec: Spec, facts: L2Constants, multiplier: float) -> float:
        if self.step == "auto":
            return _auto_step(spec, facts, multiplier)
        eta = float(self.step)
        if not jump_of(spec) and eta > (longest := theory.longest_phased_step(facts.smoothness)):
            raise NotApplicable(
                f"{self.key} needs a step of at most 8 / smoothness = {longest:.6g}: longer ones can separate models, "
                f"got {eta:g}"
            )
        return eta

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over the best model of the set, on average and in most runs; and published rates."""
        spec, facts = plan.spec, l2_constants_of(self.key, plan.spec)
        lp = _constants_of(self.key, spec)
        constants, jump = _bounded_by(plan, facts.distance), jump_of(spec)
        found, tail = theory.phased_bound(*constants, jump=jump), phased_tail(*constants, jump=jump, beta=BETA)
        shape = theory.published_phased_rate(facts.L, lp.diameter, lp.p_norm, lp.d, spec.n, plan.requested)
        alone = theory.non_private_rate(facts.L, lp.diameter, lp.p_norm, lp.d, spec.n)
        within = f"independent records; comparator in the {spec.unit_set.label}"
        ours, theirs = (f"{of}, with explicit constants" for of in (_SOURCE, f"{_PAPER}, Proposition 7.1"))
        stated = "7.3 (reconstructed, for another algorithm)" if jump else "7.1 (reconstructed)"
        source = f"{_PAPER}, Proposition {stated}"
        return (
            Bound(self.quantity, "upper", found, "expectation", ours, within),
            Bound(self.quantity, "upper", tail, "probability", theirs, MOST_RUNS + within),
            Bound(self.quantity, "rate", shape, "expectation", source, within),
            Bound(
                self.quantity, "rate", alone, "expectation", f"{_PAPER}, Section 7: without privacy, the least", within
            ),
        )

    def gradients(self, plan: Plan) -> int:
        """Number of gradients, one for each record of a phase."""
        return sum(phase.size for phase in phases_of(plan))

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Releases, for all of which each record is read once."""
        run = descender_of(plan, records_of(prepared))
        return descend_in_phases(run, phases_of(plan), rngs)[:, : len(prepared.theta)]

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases for curves; the two releases of a generator are independent. All plans use the same noise."""
        data, streams = records_of(prepared[0]), _streams(rngs)

        def models(plan: Plan, count: int) -> Array:
            own = copy.deepcopy(streams[:count])
            found = descend_in_phases(descender_of(plan, data), phases_of(plan), own, cancelled=cancelled)
            return found[:, : data.stored]

        centres = np.concatenate([models(dc.replace(plan, scale=0.0), 1) for plan in plans])
        return Drawn(centres, np.stack([models(plan, len(streams)) for plan in plans]))

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        """As `Mechanism.chain`, for the excess on `data`: many records of the same law, which the run has not read.
        The links are means over records and noise."""
        facts, jump = l2_constants_of(self.key, plan.spec), jump_of(plan.spec)
        phases, run = phases_of(plan), descender_of(plan, records_of(prepared))
        noise = [rng.standard_normal((len(phases), plan.spec.p)) for rng in _streams(copy.deepcopy(rngs))]
        steep = facts.L / plan.spec.domain.in_norm(2.0, plan.spec.p).R
        found = links_met(run, phases, np.stack(noise, axis=1), data, best, steep=steep, cancelled=cancelled)
        above = 0.25 * jump * run.width
        made = [Link(claim, lemma, np.atleast_1d(values) + above) for claim, lemma, values in found[not jump :]]
        near, far = (
            np.array([theory.phased_bound(*_bounded_by(plan, distance), jump=jump)])
            for distance in (float(np.linalg.norm(best.theta)), facts.distance)
        )
        return (
            *made,
            Link("records: every gradient as long as L", "worst records", near, worst=True),
            Link("best model: at the edge of the set", "comparator", far, worst=True),
        )

    def transcripts(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Noisy mean of every phase before its projection, [len(rngs), k p], from which all x_i follow."""
        seen: list[Array] = []
        descend_in_phases(descender_of(plan, records_of(prepared)), phases_of(plan), rngs, watch=seen.append)
        return np.concatenate(seen, axis=1)

    def resolution(self, plan: Plan) -> float:
        """Size of the noise of the last phase, which has the least."""
        return phases_of(plan)[-1].scale

    def seen_resolution(self, plan: Plan) -> float:
        return self.resolution(plan)

    def phases(self, plan: Plan) -> list[Phase]:
        """Phases of a plan; every scale is a public multiple of the plan's."""
        eta, sizes = eta_of(plan), theory.phase_sizes(plan.spec.n)
        phases, first = [], 0
        for i, size in enumerate(sizes):
            share = theory.replaced_share(size) / theory.replaced_share(sizes[0])
            phases.append(Phase(first, size, eta / 4.0 ** (i + 1), plan.scale * share / 4.0**i))
            first += size
        return phases

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Neighbours whose first record, the only one with a gradient, differs in its label: it moves most iterates.

        Their distance is below the sensitivity if the first step leaves the set.
        """
        zero, one = opposite_labels(plan.spec)
        return Data(zero.X[::-1], zero.y[::-1]), Data(one.X[::-1], one.y[::-1])

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Largest distance between the means of a phase from 0, over its share of the first phase's noise."""
        phases, start = phases_of(plan), np.zeros((1, plan.spec.p))
        before, after = (
            np.concatenate([descender_of(plan, records_of(side)).average(phase, start) for phase in phases])
            for side in (zero, one)
        )
        shares = np.array([phase.scale / phases[0].scale for phase in phases])
        return float(np.max(np.linalg.norm(after - before, axis=1) / shares))

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """Sum over the phases, each given the release from which it started."""
        runs = [(descender_of(plan, records_of(side)), sign) for side, sign in ((one, 1.0), (zero, -1.0))]
        ratio, start = np.zeros(len(outputs)), np.zeros((len(outputs), plan.spec.p))
        for phase, seen in zip(phases_of(plan), np.split(outputs, plan.steps, axis=1), strict=True):
            for run, sign in runs:
                ratio += sign * self.law.log_density((seen - run.average(phase, start)) / phase.scale)
            start = runs[0][0].project(seen)
        return ratio


def _bounded_by(plan: Plan, distance: float) -> tuple[float, float, int, float, tuple[int, ...], float]:
    """Arguments of `theory.phased_bound` for a best model at this distance."""
    spec, event = plan.spec, plan.ledger[0]
    L, multiplier = l2_constants_of(plan.mechanism.key, spec).L, event.scale / event.sensitivity
    return L, distance, spec.p, multiplier, theory.phase_sizes(spec.n), eta_of(plan)


def _streams(rngs: Generators) -> list[np.random.Generator]:
    """Two for each generator, of independent runs."""
    return [np.random.default_rng(seed) for rng in rngs for seed in rng.integers(1 << 63, size=2)]


def _auto_step(spec: Spec, facts: L2Constants, multiplier: float) -> float:
    """eta under "auto": sqrt(2) times that of the smallest bound, but at most 8 / smoothness.

    The bound counts the noise of a phase in all directions, as if no projection and no later phase took it back, so
    that longer steps than its own are better on most records. A / u + b u is at most (sqrt(2) + 1 / sqrt(2)) / 2 =
    1.061 times as large there.
    """
    sizes, jump = theory.phase_sizes(spec.n), jump_of(spec)
    best = theory.best_phased_step(facts.L, facts.smoothness, facts.distance, spec.p, multiplier, sizes, jump=jump)
    return _LONGER * best if jump else min(_LONGER * best, theory.longest_phased_step(facts.smoothness))


def l2_constants_of(key: str, spec: Spec) -> L2Constants:
    """Constants of a problem; NotApplicable with the reason if the mechanism has no guarantee."""
    lp, loss = _constants_of(key, spec), get_loss(spec.loss)
    reach = spec.domain.in_norm(2.0, spec.p).R
    L = constants_of(spec).steepness * reach
    return L2Constants(L, loss.curvature_bound * reach**2, lp.size * spec.unit_set.norm(2.0, spec.p))


def _constants_of(key: str, spec: Spec) -> LpConstants:
    # A rounded loss is as steep as the loss.
    smooth, _ = _ROUNDED.get(spec.loss, (spec.loss, 0.0))
    return lp_constants_of(key, dc.replace(spec, loss=smooth), 2.0, np.inf)


def jump_of(spec: Spec) -> float:
    """Jump of the slope of the loss at its kink; 0 for a smooth loss."""
    return _ROUNDED.get(spec.loss, (spec.loss, 0.0))[1]


def eta_of(plan: Plan) -> float:
    """Step eta of a plan."""
    return float(cast(PhasedSGD, plan.mechanism).step)


def phases_of(plan: Plan) -> list[Phase]:
    """Phases of a plan, as its mechanism makes them."""
    return cast(PhasedSGD, plan.mechanism).phases(plan)


def descender_of(plan: Plan, data: Data) -> Descender:
    """Solver that takes a plan's steps on these records."""
    spec, loss = plan.spec, get_loss(plan.spec.loss)
    width = loss.shape
    if loss.key in _ROUNDED:
        reach, (smooth, jump) = spec.domain.in_norm(2.0, spec.p).R, _ROUNDED[loss.key]
        loss, width = get_loss(smooth), theory.kink_width(eta_of(plan), reach, jump)
    return Descender(loss, width, data, cast(NormBall, spec.unit_set), spec.size or 1.0)  # other sets were refused
