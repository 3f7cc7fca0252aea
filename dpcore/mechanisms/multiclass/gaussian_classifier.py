"""Large-margin Gaussian classifier with noise in the objective, or in its minimiser."""

import copy
import dataclasses as dc
import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from ...accounting.gaussian import gaussian_mu
from ...accounting.objective import class_vertices, objective_epsilon, objective_mu
from ...accounting.tradeoff import GaussianCurve, PureCurve, TradeoffCurve
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, Event, NoiseLaw, NotApplicable
from ...core.records import Data
from ...core.rng import Generators
from ...core.specification import Spec
from ...data import check_records
from ...solvers import Minimum
from ...solvers.multiclass.objective import svec
from ...solvers.multiclass.solver import minimise_ellipsoids
from ...theory import erm
from ..base import BAND_MISS, Drawn, Link, Mechanism, Prepared, PreparedRecords, knob, records_of
from ..plan import Plan, Plans
from ..worst_pairs import objective_attack_limit, objective_claim, parts
from . import calibration as rules
from . import models

_PROOF = "docs/formulas.md, after Pathak and Raj 2010"
_LEMMA = "The repaired mechanism"  # section of docs/formulas.md
# Accuracy of a minimiser, as a share of the largest move by one record, but no more digits than the noise has. It may
# be as long as noise / lam, and its margins are rounded too: the smoothness over lam times the last share.
_ACCURACY, _ROUNDING, _MARGIN_ROUNDING = 1e-6, 1e-13, 1e-15
# lam = "auto": how many times the move of the model by noise fits into the model's norm. The curvature of the loss
# resists noise in the objective; nothing resists noise in the minimiser.
_FELT = {"objective": 2.0, "output": 8.0}
# Distance to the minimiser that charts allow, as a share of the move of the model by noise alone: the gradient that is
# left is at most this share of the noise.
_SEEN = 1e-5
_BATCH_NUMBERS = 2_000_000
# Pairs of sets of classes are counted by their sizes, C^3 kinds of them.
_MOST_CLASSES = 100


@dc.dataclass(frozen=True)
class GaussianClassifier(Mechanism):
    """Release a symmetric matrix Phi_c for each of C classes: x goes to the class of the smallest x~' Phi_c x~.

    `dpcore.solvers.multiclass.objective` describes model and loss. With R from `Spec.domain`, x~ = (x / R, 1) / sqrt2
    and J(Phi) = (1/n) sum_i sum_{c != y} psi(m_ic) + (lam/2) sum_c ||Phi_c||_F^2 over all symmetric matrices. Its
    gradients add up to 0 over the classes, and so do its minimisers and the noise: all lives in the space V of such
    families, of N0 = (C - 1)(p + 1)(p + 2) / 2 dimensions. `perturbed` says to what the noise is added.
    objective: the minimiser of J + <B, Phi> is released. One replaced record moves the gradient of J by at most
    D = sqrt2 C / n and the logarithm of the Hessian's determinant by at most
    omega = ln(1 + C c / (n lam)) + (C - 2) ln(1 + c / (n lam)), c = 1 / 2h, which is charged once. Gaussian noise is
    accounted for by `objective.objective_delta` with the vertices of `objective.class_vertices`. Like other objective
    perturbation, 1% of the budget hides the solver's error.
    output: the minimiser of J plus noise for sensitivity D / lam + 2 tol; nothing else is charged.
    Then t I is added to every Phi_c, t >= 0 the least that leaves no negative eigenvalue: the released matrices are
    ellipsoids, and no decision has changed.

    Source: Pathak and Raj 2010, repaired: the published mechanism adds one matrix to all classes, which hides nothing
    (docs/errata.md); proof in docs/formulas.md, "The repaired mechanism".
    Randomness: a draw of the noise in V, N0 numbers, then for objective perturbation one for the solver noise.
    Guarantee: (epsilon, delta)-differential privacy for replacing one record, its class included, with delta = 0 for
        Gamma noise and delta > 0 for Gaussian noise, whatever the other records are.
    Not protected: n, p, lam, C, the budget and the bound R are public; earlier processing of the columns (scaling,
        principal components) is not covered; running time; the low-order bits of floating-point noise; a release whose
        seed is known.
    """

    noise: NoiseLaw = knob("gaussian", choices=("gaussian", "gamma"), help="distribution of noise; gamma has delta = 0")
    perturbed: str = knob(
        "objective", choices=("objective", "output"), help="what the noise is added to: the objective, or its minimiser"
    )
    key: str = dc.field(default="gaussian_classifier", init=False, repr=False)
    label = "large-margin Gaussian classifier"
    source = "Pathak and Raj 2010, repaired"
    family = "objective"
    place = "objective"
    usual_loss = "multiclass_hinge"
    worst_spec = Spec("multiclass_hinge", n=10, p=1, lam=1e4, classes=3)

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        self._check(spec)
        spec = dc.replace(spec, lam=self._lam(spec, budget)) if isinstance(spec.lam, str) else spec
        lam, D = float(spec.lam), rules.gradient_change(spec)
        main, rest = self._parts(budget)
        if self.perturbed == "objective":
            charge = rules.volume_charge(spec, lam)
            if not charge < main.epsilon:
                raise NotApplicable(
                    f"{self.key} needs lam > {rules.lam_of_charge(spec, main.epsilon):.6g} for epsilon = "
                    f"{budget.epsilon:g} and n = {spec.n}, got {lam:g}: below that, the curvature of one record alone "
                    "spends the budget"
                )
            scale = self.tight_scale(spec, main, charge)
            rounding = _ROUNDING + min(1.0, _MARGIN_ROUNDING * rules.smoothness(spec) / lam)
            tol = _ACCURACY * D / lam + rounding * rules.length(self.law, spec, scale) / lam
            solver_noise = Event(self.noise, 2.0 * tol * self._multiplier(rest), 2.0 * tol)
            ledger: tuple[Event, ...] = (Event(self.noise, scale, D, charge=charge), solver_noise)
        else:
            tol = _ACCURACY * D / lam
            sensitivity = D / lam + 2.0 * tol
            scale = sensitivity * self._multiplier(main)
            ledger = (Event(self.noise, scale, sensitivity),)
        spent = Budget(budget.epsilon) if self.noise == "gamma" else budget
        return Plan(self, spec, budget, spent, ledger, steps=1, noise=self.noise, scale=scale, tol=tol)

    def tight_scale(self, spec: Spec, budget: Budget, charge: float) -> float:
        """Scale of the noise in the objective for this budget, of which `charge` goes to the determinant."""
        if self.noise == "gamma":
            return rules.gradient_change(spec) / (budget.epsilon - charge)
        return rules.gradient_change(spec) / objective_mu(budget, charge, class_vertices(spec.classes))

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over the regularised optimum; over the best model in the ball, on average, in one run, on new records.

        The first is nearly attained if noise dominates; the others are vacuous above C - 1, the loss of Phi = 0. They
        are the smaller of the bounds by strong convexity and by the margins of single records.
        """
        spec, lam = plan.spec, float(plan.spec.lam)
        G, B, (noise, rounding) = rules.largest_gradient(spec), spec.theta_norm, self._by_margins(plan)
        if self.perturbed == "objective":
            over = sum(self._by_convexity(plan))
            noise = min(over, noise + rounding)
            length = plan.scale * self.law.length(rules.dimensions(spec), BAND_MISS / 2.0)
            below = erm.linear_term_excess(lam, length**2) + length * plan.tol + self._bend(spec) * plan.tol**2
            band = min(below, rules.band(self.law, spec, plan.scale / lam, 0.5 * BAND_MISS))
            band += rules.band(self.law, spec, plan.ledger[1].scale, 0.5 * BAND_MISS) + G * plan.tol
        else:
            square = rules.length(self.law, spec, plan.scale) ** 2
            over = noise + 0.5 * lam * square + 0.5 * self._bend(spec) * plan.tol**2
            noise += rounding
            band = rules.band(self.law, spec, plan.scale, BAND_MISS) + rounding
        bias = erm.regularisation_bias(lam, B, spec.classes - 1.0)
        fresh = noise + bias + G * rules.gradient_change(spec) / lam + G * plan.tol
        ball = f"comparator in the ball of {B:g}; vacuous above C - 1 = {spec.classes - 1}"
        runs = f"in {1 - BAND_MISS:.0%} of runs; {ball}"
        return (
            Bound("excess_over_regularised", "upper", over, "expectation", _PROOF, "before the common shift"),
            Bound("excess_empirical_risk", "upper", noise + bias, "expectation", _PROOF, ball),
            Bound("excess_empirical_risk", "upper", band + bias, "probability", _PROOF, runs),
            Bound("excess_population_risk", "upper", fresh, "expectation", _PROOF, f"independent records; {ball}"),
        )

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        """The noise, by the one of the proofs in `bounds` that gives less; J(Phi_hat) <= J(best); the worst records.

        best: the model in the ball, [C, q].
        """
        spec, lam, wrong = plan.spec, float(plan.spec.lam), plan.spec.classes - 1.0
        records, length = models.class_records(spec, data), float(np.linalg.norm(best.theta))
        own = erm.regularisation_bias(lam, length, wrong - best.risk)
        worst = erm.regularisation_bias(lam, spec.theta_norm, wrong)
        noise, error = self._by_margins(plan)
        scale = plan.scale if self.perturbed == "output" else plan.scale / lam
        here = error + rules.shaken_on(self.law, spec, scale, np.linalg.norm(records.Z, axis=1))
        longest = Link("best model: as long as ‖θ‖ ≤ B allows", _LEMMA, np.array([worst + here]), worst=True)
        outermost = Link("records: taken as far out as R allows", _LEMMA, np.array([worst + noise + error]), worst=True)
        paid = Link("penalty: all that the best model would pay", _LEMMA, np.array([own + here]))
        centre = prepared.theta
        if self.perturbed == "output":
            moved = records.risks(centre[None]) - best.risk + here - error
            return Link("noise: margins as sensitive as they can be", _LEMMA, moved), paid, longest, outermost
        B = plan.scale * self._directions(spec, copy.deepcopy(rngs))
        pulled, inexact = self._by_convexity(plan)
        if pulled + inexact <= noise + error:
            thetas = self.draws([plan], [prepared], rngs, cancelled).thetas[0]
            kept = (centre**2).sum() + (B**2).sum((1, 2)) / lam**2 - (thetas**2).sum((1, 2))
            first = records.risks(centre[None]) - best.risk + 0.5 * lam * kept + inexact
            pulled += inexact
            return (
                Link("noise: as if λ alone resisted it", _LEMMA, first),
                dc.replace(paid, values=np.array([own + pulled])),
                dc.replace(longest, values=np.array([worst + pulled])),
            )
        # Phi_B is no better than any model moved by -B / lam: the best one or 0, whichever costs less.
        penalty = 0.5 * lam * length**2
        target, cost = (best.theta, penalty) if penalty <= own else (np.zeros_like(centre), 0.0)
        first = records.risks(target - B / lam) - best.risk + cost + error
        return (
            Link("release: no better than the best one moved", _LEMMA, first),
            dc.replace(paid, claim="noise: margins as sensitive as they can be"),
            longest,
            outermost,
        )

    def _by_margins(self, plan: Plan) -> tuple[float, float]:
        """Largest mean increase of F by the noise, from the margins of single records; by solver noise and tol."""
        rounding = rules.largest_gradient(plan.spec) * plan.tol
        if self.perturbed == "output":
            return rules.shaken(self.law, plan.spec, plan.scale), rounding
        noise = rules.shaken(self.law, plan.spec, plan.scale / float(plan.spec.lam))
        return noise, rules.shaken(self.law, plan.spec, plan.ledger[1].scale) + rounding

    def _by_convexity(self, plan: Plan) -> tuple[float, float]:
        """Largest mean of J - J* by noise in the objective, as J is strongly convex; by solver noise and tol."""
        spec, square = plan.spec, rules.length(self.law, plan.spec, plan.scale) ** 2
        left = rules.length(self.law, spec, plan.ledger[1].scale) ** 2 + plan.tol**2
        inexact = 0.5 * self._bend(spec) * left + math.sqrt(square) * plan.tol
        return erm.linear_term_excess(float(spec.lam), square), inexact

    def _bend(self, spec: Spec) -> float:
        return rules.smoothness(spec) + float(spec.lam)

    def attack_limit(self, plan: Plan) -> float:
        """Attack success for the noise that the plan adds, not the claimed one; for output perturbation attained."""
        main, dimensions = plan.ledger[0], rules.dimensions(plan.spec)
        mu = main.sensitivity / plan.scale
        if self.perturbed == "output":
            sizes, weights = self.law.spread(dimensions)
            return float(weights @ ndtr(0.5 * mu / sizes))
        vertices, paid = class_vertices(plan.spec.classes), mu + main.charge
        if self.noise == "gaussian":
            paid = objective_epsilon(mu, parts(plan.spent)[0].delta, main.charge, vertices)
        return objective_attack_limit(plan, self.law, dimensions, vertices, paid)

    def claimed_curve(self, plan: Plan) -> TradeoffCurve:
        if self.noise == "gamma":
            return PureCurve(plan.spent.epsilon)
        if self.perturbed == "output":
            return GaussianCurve(gaussian_mu(plan.spent))
        charge = rules.volume_charge(plan.spec, float(plan.spec.lam))
        return objective_claim(plan.spent, charge, class_vertices(plan.spec.classes))

    def prepare(self, plan: Plan, data: Data, start: Array | None = None) -> PreparedRecords:
        """Minimiser of J without noise, [C, q] in svec form, for both places of noise. `start` is not used."""
        check_records(data, plan.spec)
        found = minimise_ellipsoids(models.objective(plan.spec, data), distance=plan.tol)
        return PreparedRecords(models.centred(found.weights[0]), float(found.distances[0]), data)

    def padded(self, prepared: Prepared, idle: int) -> Prepared:
        """`prepared` unchanged: matrices have all columns."""
        return prepared

    def direction(self, spec: Spec, rng: np.random.Generator) -> Array:
        """Draw of the noise at scale 1, [C, q]."""
        return models.direction(self.law, spec, rng)

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Independent releases, [len(rngs), C, p + 1, p + 1], in the coordinates x~."""
        # The noise, and the extra noise for the solver's error if there is one.
        scales = plan.scale, *(event.scale for event in plan.ledger[1:])
        noise = np.stack([[scale * self.direction(plan.spec, rng) for scale in scales] for rng in rngs])
        if self.perturbed == "output":
            return models.restored(prepared.theta + noise[:, 0])
        found = self._minimisers(plan, prepared, noise[:, 0], plan.tol)
        return models.restored(found + noise[:, 1])

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Models in svec form, thetas [K, R, C, q], without the solver noise and without the common shift."""
        directions, found = self._directions(plans[0].spec, rngs), []
        for plan, side in zip(plans, prepared, strict=True):
            go_on(cancelled)
            noise = plan.scale * directions
            if self.perturbed == "output":
                found.append(side.theta + noise)
            else:
                size = rules.length(self.law, plan.spec, plan.scale) / float(plan.spec.lam)
                found.append(self._minimisers(plan, side, noise, max(_SEEN * size, plan.tol)))
        return Drawn(np.stack([side.theta for side in prepared]), np.stack(found))

    def _directions(self, spec: Spec, rngs: Generators) -> Array:
        """Draws of the noise at scale 1 in pairs of opposite ones, [2 len(rngs), C, q]."""
        halves = np.stack([self.direction(spec, rng) for rng in rngs])
        return np.stack([halves, -halves], axis=1).reshape(-1, *halves.shape[1:])

    def resolution(self, plan: Plan) -> float:
        """Size of the noise in the release; noise B in the objective moves it by at least ||B|| / (bend + lam)."""
        if self.perturbed == "output":
            return plan.scale
        return plan.scale / (rules.smoothness(plan.spec) + float(plan.spec.lam))

    def rounded(self, plan: Plan, releases: Array) -> Array:
        """Releases on the grid, without negative eigenvalues."""
        return models.rounded(releases, self.resolution(plan))

    def transcripts(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Releases as published."""
        return self.rounded(plan, self.release_many(plan, prepared, rngs))

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Neighbours with all records at 0 in class 0 but the last, at distance R, which is in class 1 or 0.

        Its features are the longest, and at Phi = 0 all slopes are 1: the gradients differ by D.
        """
        spec = plan.spec
        X, y = np.zeros((spec.n, spec.p)), np.zeros(spec.n)
        X[-1] = spec.domain.R / math.sqrt(spec.p)
        return Data(X, np.append(y[:-1], 1.0)), Data(X, y)

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Distance between the minimisers, or the larger distance between the two gradients at them."""
        if self.perturbed == "output":
            return float(np.linalg.norm(one.theta - zero.theta))
        thetas = np.stack([zero.theta, one.theta])
        pulls = [models.gradients(plan.spec, records_of(side), thetas) for side in (zero, one)]
        return float(np.linalg.norm(pulls[1] - pulls[0], axis=(1, 2)).max())

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """Log-ratio of the exact minimisers' densities on V, f(-grad J(Phi)) |det Hessian|, or of noise around them.

        The common shift is subtracted; the extra noise for the solver's error is not included.
        """
        weights, logs = models.centred(svec(outputs)), []
        for side in (zero, one):
            if self.perturbed == "output":
                noise, volumes = weights - side.theta, np.zeros(len(weights))
            else:
                noise = models.gradients(plan.spec, records_of(side), weights)
                volumes = models.log_volumes(plan.spec, records_of(side), weights)
            logs.append(self.law.log_density(noise.reshape(len(noise), -1) / plan.scale) + volumes)
        return logs[1] - logs[0]

    def _check(self, spec: Spec) -> None:
        if get_loss(spec.loss).task != "classes":
            raise NotApplicable(
                f"{self.key} learns a matrix for each class by multiclass_hinge, got {get_loss(spec.loss).label}"
            )
        if spec.domain.q != 2.0:
            raise NotApplicable(f"{self.key} is proved for ||x||_2 <= R, got q = {spec.domain.q:g}")
        if spec.set != "ball" or spec.radius is not None:
            where = f"set {spec.set!r}" if spec.set != "ball" else f"radius = {spec.radius:g}"
            raise NotApplicable(f"{self.key} is proved for all symmetric matrices, got {where}")
        if spec.lam == 0.0:
            raise NotApplicable(f"{self.key} needs lam > 0, got lam = 0: without a ridge noise has no minimiser")
        if self.perturbed == "objective" and spec.classes > _MOST_CLASSES:
            raise NotApplicable(
                f"{self.key} accounts for at most {_MOST_CLASSES} classes where the objective is perturbed, got "
                f"{spec.classes}"
            )

    def _parts(self, budget: Budget) -> tuple[Budget, Budget]:
        """Budgets of the noise with the charge, and of the extra noise for the solver's error, if there is any."""
        return (budget, budget) if self.perturbed == "output" else parts(budget)

    def _multiplier(self, budget: Budget) -> float:
        """Scale over sensitivity of noise that is added to the released model."""
        return 1.0 / (budget.epsilon if self.noise == "gamma" else gaussian_mu(budget))

    def _lam(self, spec: Spec, budget: Budget) -> float:
        main, _ = self._parts(budget)
        line, curve = rules.reach(self.law, spec)
        objective = self.perturbed == "objective"
        felt = _FELT[self.perturbed]
        at_one = rules.gradient_change(spec) * self._multiplier(main)

        def scale(lam: float) -> float:
            return (self.tight_scale(spec, main, rules.volume_charge(spec, lam)) if objective else at_one) / lam

        def moved(lam: float) -> float:
            return float(rules.length(self.law, spec, scale(lam)))

        costs: tuple[Callable[[float], float], ...]
        costs = (lambda lam: line * scale(lam), lambda lam: curve * scale(lam) ** 2)
        if objective:
            costs += (lambda lam: 0.5 * lam * moved(lam) ** 2,)
        return rules.rule_lam(self.key, spec, lambda lam: felt * moved(lam), costs, main.epsilon if objective else None)

    def _minimisers(self, plan: Plan, prepared: Prepared, noise: Array, distance: float) -> Array:
        """Minimisers of J + <B, Phi> for each B, [R, C, q], in V."""
        data = records_of(prepared)
        step = max(1, _BATCH_NUMBERS // (plan.spec.classes * data.n))
        whole = models.objective(plan.spec, data, noise)
        found = [
            minimise_ellipsoids(
                whole.draws(slice(start, start + step)), distance=distance, centre=prepared.theta
            ).weights
            for start in range(0, len(noise), step)
        ]
        return models.centred(np.concatenate(found))
