"""Objective perturbation with any law of noise: add a random linear term to the objective, then minimise it."""

import abc
import copy
import dataclasses as dc
import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from ... import solvers
from ...accounting.objective import Vertices, linear_vertices
from ...core.arrays import Array
from ...core.cancel import Cancelled
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, Event, NotApplicable
from ...core.records import Data
from ...core.rng import Generators, generator
from ...core.specification import Spec
from ...data import check_records
from ...solvers import Minimum
from ...theory import erm
from ...theory.lower_bounds import hardest_data
from ..base import (
    BAND_MISS,
    Drawn,
    Lens,
    Link,
    Mechanism,
    Prepared,
    PreparedRecords,
    check_certificate,
    knob,
    records_of,
)
from ..plan import Plan, Plans
from ..regularisation import LARGEST_LOG, biases, no_lam, numbers_lam
from ..worst_pairs import TRACE_SHARE, check_ball, minimiser_pair, objective_attack_limit, parts

_OURS = "Jain and Thakurta 2014, Theorem 2, with explicit constants"
# Smallest goal for a gradient, as a share of the noise that it has to cancel: there rounding begins. The model may be
# as long as noise / lam, and its predictions are rounded too: c R^2 / lam times the second share.
_ROUNDING, _PREDICTION_ROUNDING = 1e-13, 1e-15
_BATCH_NUMBERS = 1_000_000
# lam="auto" of classes (docs/formulas.md, "lam"): times the geometric mean of two rules.
_AUTO_CLASSES = 13.0
_LENS_PAIRS = 8  # of random paths, for bounds that are proved for given records
# Rules stay this far above the smallest admissible lam.
_MARGIN = 1.01


@dc.dataclass(frozen=True)
class ObjectivePerturbation(Mechanism):
    """Release the minimiser of J(theta) + <b, theta>, b = scale * direction, with a little extra noise for the solver.

    One replaced record moves the gradient of J by at most 2 L R / n, and changes the volume element det(Hessian) by a
    factor of at most 1 + c R^2 / (n lam). The budget is charged omega = ln(1 + c R^2 / (n lam)) once; the rest is for
    the noise. Extra noise of the same law for sensitivity 2 tol, with 1% of the budget, hides the solver's error of at
    most tol. A subclass defines the law of the noise and its calibration. Proofs: docs/formulas.md.
    """

    accounting: str = knob(
        "tight",
        choices=("tight", "published"),
        help="which proof sets the noise: the corrected one, or the paper's, which may spend more than it claims",
    )

    family = "objective"
    place = "objective"

    @abc.abstractmethod
    def tight_scale(self, spec: Spec, budget: Budget, charge: float) -> float:
        """Scale of b for this budget, of which `charge` < budget.epsilon goes to the volume element."""

    @abc.abstractmethod
    def published_scale(self, spec: Spec, budget: Budget) -> float:
        """Scale of b as published; NotApplicable if the published conditions fail."""

    @abc.abstractmethod
    def cost(self, spec: Spec, scale: float, delta: float, charge: float) -> Budget:
        """Budget that b of this scale provably spends, the charge included."""

    @abc.abstractmethod
    def solver_noise_scale(self, sensitivity: float, budget: Budget) -> float:
        """Scale of the noise that hides a distance of this size."""

    def rates(self, spec: Spec, budget: Budget) -> tuple[Bound, ...]:
        """Orders of growth as published, shape only."""
        L, R, B = get_loss(spec.loss).slope, spec.domain.R, spec.theta_norm
        return (erm.earlier_objective_rate(self.noise, L, R, spec.n, spec.p, B, budget),)

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        self._check(spec)
        main, rest = parts(budget)
        spec = dc.replace(spec, lam=self._lam(spec, main)) if isinstance(spec.lam, str) else spec
        loss, lam, n, R = get_loss(spec.loss), float(spec.lam), spec.n, spec.domain.R
        charge = volume_charge(spec)
        if self.accounting == "published" and charge < math.inf:
            scale = self.published_scale(spec, budget)
            # Split like every budget, since audits derive the claimed guarantee from `spent` alone.
            paid = self.cost(spec, scale, main.delta, charge).epsilon
            spent = Budget(paid / (1.0 - TRACE_SHARE), budget.delta)
            rest = parts(spent)[1]
        elif charge < main.epsilon:
            scale = self.tight_scale(spec, main, charge)
            spent = budget
        else:
            raise NotApplicable(
                f"{self.key} needs lam > {_smallest_lam(spec, main):.6g} for epsilon = {budget.epsilon:g} and n = {n}, "
                f"got {lam:g}: below that, the curvature of one record alone spends the budget"
            )
        size = scale * math.sqrt(spec.p * self.law.reach(spec.p)[1])
        rounding = _ROUNDING + min(1.0, _PREDICTION_ROUNDING * loss.curvature_bound * R**2 / lam)
        tol = solvers.tolerance(loss, loss.slope * R, n, lam) + rounding * size / lam
        ledger = (
            Event(self.noise, scale, pull(spec), charge=charge),
            Event(self.noise, self.solver_noise_scale(2.0 * tol, rest), 2.0 * tol),
        )
        spent = Budget(spent.epsilon) if self.noise == "gamma" else spent
        return Plan(self, spec, budget, spent, ledger, steps=1, noise=self.noise, scale=scale, tol=tol)

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over the best model of norm theta_norm: on average, on fresh records, in one run; published orders.

        With t = theta + b / lam the noise leaves the regulariser and moves every prediction by at most |<b, x>| / lam,
        which costs L |<b, x>| / lam. Without smoothness or slopes, strong convexity gives ||b||^2 / (2 lam), where only
        the part of b in the span of the records counts, min(n, p) dimensions.
        """
        spec = plan.spec
        loss, lam, n, R = get_loss(spec.loss), float(spec.lam), spec.n, spec.domain.R
        B, LR = spec.theta_norm, loss.slope * R
        solver_noise, mean = plan.ledger[1].scale, self.law.reach(spec.p)[0]
        rest = LR * plan.tol + erm.regularisation_bias(lam, B, loss.at_zero(spec))
        average = min(self._noise(plan)) + LR * solver_noise * mean + rest
        band = LR * (plan.scale / lam + solver_noise) * self.law.mean_draw_band(spec.p, BAND_MISS / 2.0) + rest
        ball = f"comparator in the ball of {B:g}"
        fresh = average + erm.stability(loss.slope, R, n, lam)
        runs = f"in {1 - BAND_MISS:.0%} of runs; {ball}"
        return (
            Bound("excess_empirical_risk", "upper", average, "expectation", _OURS, ball),
            Bound("excess_empirical_risk", "upper", band, "probability", _OURS, runs),
            Bound("excess_population_risk", "upper", fresh, "expectation", _OURS, f"independent records; {ball}"),
            *hardest_data(loss, spec, plan.spent),
            *self.rates(spec, plan.requested),
        )

    def lens(
        self, plans: Plans, prepared: list[Prepared], data: Data, best: solvers.Minimum, seed: int, cancelled: Cancelled
    ) -> Lens:
        """With d = theta_b - theta_hat: F(theta_hat) - lam <theta_hat, E d> below, as F is convex with the gradient
        -lam theta_hat at theta_hat; above, E [||b||^2 / (2 lam) - (lam/2) ||d||^2] more, by strong convexity at
        theta_b.

        E ||d||^2 is E ||b||^2 times the ratio of the two on the paths, as long noise moves theta_b farther.
        """
        p, slope = plans[0].spec.p, get_loss(plans[0].spec.loss).slope * plans[0].spec.domain.R
        mean, square = self.law.reach(p)
        lam, scales = (
            np.array(values) for values in zip(*((float(plan.spec.lam), plan.scale) for plan in plans), strict=True)
        )
        thetas = self.draws(plans, prepared, self._paths(seed), cancelled).thetas
        centres = np.stack([each.theta for each in prepared])
        moved = thetas - centres[:, None]
        low, low_se = _of_pairs(-lam[:, None] * np.einsum("kr,kir->ki", centres, moved))
        lengths = np.repeat([(self.law.direction(p, data.stored, rng) ** 2).sum() for rng in self._paths(seed)], 2)
        resisted = (lam / scales)[:, None] ** 2 * np.einsum("kir,kir->ki", moved, moved)
        share = resisted.mean(axis=1) / lengths.mean()
        _, share_se = _of_pairs((resisted - share[:, None] * lengths) / lengths.mean())
        bent = data.stored * square * scales**2 / (2.0 * lam)
        error = slope * np.array([plan.tol + plan.ledger[1].scale * mean for plan in plans])
        low += get_loss(plans[0].spec.loss).risks(data, centres)
        return Lens(low - error, low + bent * (1.0 - share) + error, np.hypot(low_se, bent * share_se))

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        """The noise, by the one of the two proofs in `bounds` that gives less; J(theta_hat) <= J(best); the worst
        records."""
        spec, loss = plan.spec, get_loss(plan.spec.loss)
        lam, stored, (mean, square) = float(spec.lam), data.stored, self.law.reach(spec.p)
        own, worst = biases(spec, data, best)
        error = loss.slope * spec.domain.R * (plan.tol + plan.ledger[1].scale * mean)
        steep, bent = self._noise(plan)
        b = np.stack([self.law.direction(spec.p, stored, copy.deepcopy(rng)) for rng in rngs]) * plan.scale
        if steep < bent:
            # theta_b is no better than any model moved by -b / lam: theta* or 0, whichever costs less.
            penalty = 0.5 * lam * float(best.theta @ best.theta)
            target = best.theta[:stored] if penalty <= own else np.zeros(stored)
            moved = target - np.stack([b, -b], axis=1).reshape(-1, stored) / lam
            first = loss.risks(data, moved) - best.risk + (penalty if penalty <= own else 0.0)
            noise = loss.slope * float(data.row_norms.mean()) * plan.scale * mean / lam
            return (
                Link("release: no better than θ* moved by b", "Objective perturbation", first + error),
                Link("noise: every loss at its steepest", "Objective perturbation", np.array([noise + own + error])),
                *_worst_links(noise + worst + error, steep + worst + error, "records: as long as ‖x‖ ≤ R allows"),
            )
        thetas = self.draws([plan], [prepared], rngs, cancelled).thetas[0]
        pushed, kept = np.repeat((b * b).sum(axis=1), 2) / (2.0 * lam), 0.5 * lam * (thetas * thetas).sum(axis=1)
        centre = prepared.theta[:stored]
        penalised = loss.risks(data, centre[None])[0] + 0.5 * lam * float(centre @ centre)
        noise = min(data.n, stored) * plan.scale**2 * square / (2.0 * lam)
        claim = "records: noise in every direction counts"
        return (
            Link(
                "noise: as if λ alone resisted it", "For given records", penalised + pushed - kept - best.risk + error
            ),
            Link(
                "penalty: all that the best model would pay", "Objective perturbation", np.array([noise + own + error])
            ),
            *_worst_links(noise + worst + error, bent + worst + error, claim),
        )

    def _noise(self, plan: Plan) -> tuple[float, float]:
        """Largest mean excess by the noise: by the slope of the loss, and by strong convexity."""
        spec, lam, (mean, square) = plan.spec, float(plan.spec.lam), self.law.reach(plan.spec.p)
        steep = get_loss(spec.loss).slope * spec.domain.R * plan.scale * mean / lam
        return steep, min(spec.n, spec.p) * plan.scale**2 * square / (2.0 * lam)

    def _paths(self, seed: int) -> list[np.random.Generator]:
        return [generator(seed, f"{self.key} lens", r) for r in range(_LENS_PAIRS)]

    def attack_limit(self, plan: Plan) -> float:
        """Attack success by the curve below for the noise that the plan adds, not the claimed one."""
        spec, delta = plan.spec, parts(plan.spent)[0].delta
        paid = self.cost(spec, plan.scale, delta, plan.ledger[0].charge).epsilon
        return objective_attack_limit(plan, self.law, spec.p, gradient_vertices(spec), paid)

    def prepare(self, plan: Plan, data: Data, start: Array | None = None) -> PreparedRecords:
        check_records(data, plan.spec)
        loss, lam = get_loss(plan.spec.loss), float(plan.spec.lam)
        minimiser = solvers.minimise(loss, data, lam, tol=plan.tol, start=start)
        return PreparedRecords(minimiser.theta, minimiser.distance, data)

    def release(self, plan: Plan, prepared: Prepared, rng: np.random.Generator) -> Array:
        data, lam = records_of(prepared), float(plan.spec.lam)
        check_certificate(prepared.distance, plan)
        p, r, stored = plan.spec.p, len(prepared.theta), data.stored
        b = self.law.direction(p, r, rng)
        b *= plan.scale
        start = prepared.theta[:stored]
        found = solvers.minimise(get_loss(plan.spec.loss), data, lam, tol=plan.tol, start=start, linear=b[:stored])
        check_certificate(found.distance, plan)
        release = self.law.direction(p, r, rng)
        release *= plan.ledger[1].scale
        release[:stored] += found.theta
        # A column that is not stored occurs only in the noise and in the regulariser.
        release[stored:] -= b[stored:] / lam
        return release

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Releases as by `release` one by one, up to the solver's error of at most 2 plan.tol."""
        data, lam, r = records_of(prepared), float(plan.spec.lam), len(prepared.theta)
        scales = plan.scale, plan.ledger[1].scale
        noise = np.array([[s * self.law.direction(plan.spec.p, r, rng) for s in scales] for rng in rngs])
        b, solver_noise = noise[:, 0], noise[:, 1]
        loss, start = get_loss(plan.spec.loss), prepared.theta[: data.stored]
        found = solvers.minimise_many(loss, data, lam, b[:, : data.stored], tol=plan.tol, start=start)
        return np.concatenate([found, -b[:, data.stored :] / lam], axis=1) + solver_noise

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases for curves without the extra noise, which is far below the accuracy of a chart."""
        data, spec = records_of(prepared[0]), plans[0].spec
        halves = [self.law.direction(spec.p, data.stored, rng) for rng in rngs]
        scales = np.array([plan.scale for plan in plans])
        path = solvers.perturbed_minimisers(
            get_loss(spec.loss),
            data,
            np.array([float(plan.spec.lam) for plan in plans]),
            scales,
            np.stack([sign * half for half in halves for sign in (1.0, -1.0)]),
            start=prepared[int(np.argmin(scales))].theta[: data.stored],
            cancelled=cancelled,
        )
        return Drawn(np.stack([p.theta for p in prepared]), path.thetas, path.risks)

    def resolution(self, plan: Plan) -> float:
        """Size of the noise in a release: b moves the minimiser by at least ||b|| / (c R^2 + lam)."""
        bend = get_loss(plan.spec.loss).curvature_bound * plan.spec.domain.R**2
        return plan.scale / (bend + float(plan.spec.lam))

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        return minimiser_pair(plan.spec)

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Larger distance between the two gradients at the two minimisers."""
        thetas = np.stack([zero.theta, one.theta])
        gradients = [_gradients(plan.spec, records_of(side), thetas)[0] for side in (zero, one)]
        return float(np.linalg.norm(gradients[1] - gradients[0], axis=1).max())

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """Log-ratio of the exact minimisers' densities, f(-grad J(theta)) |det Hessian|, without the extra noise."""
        logs = []
        for side in (zero, one):
            gradients, volumes = _gradients(plan.spec, records_of(side), outputs)
            logs.append(self.law.log_density(gradients / plan.scale) + volumes)
        return logs[1] - logs[0]

    def _check(self, spec: Spec) -> None:
        loss = get_loss(spec.loss)
        check_ball(self.key, spec)
        if not loss.linear:
            raise NotApplicable(
                f"{self.key} is proved for losses of a linear prediction, where one record bends the objective in one "
                f"direction only, got {loss.label}: there the Hessian of one record has full rank"
            )
        if not math.isfinite(loss.curvature_bound):
            raise NotApplicable(
                f"{self.key} needs a loss without kinks, got {loss.label}: the minimiser sticks to the kink of a "
                "single record with positive probability, which reveals the record"
            )
        if not math.isfinite(loss.slope):
            raise NotApplicable(
                f"{self.key} needs a loss with bounded slope, got {loss.label}: noise may move the minimiser to where "
                "the gradient of one record is unbounded"
            )
        if spec.radius is not None:
            raise NotApplicable(
                f"{self.key} is proved for minimisers over all of R^p, got radius = {spec.radius:g}: on the sphere a "
                "release no longer determines its noise"
            )

    def _lam(self, spec: Spec, budget: Budget) -> float:
        """lam by the rule that `spec.lam` names, chosen without looking at the records; the charge falls with lam.

        Raises ValueError if the rule leaves the range of lam.
        """
        L, R, n, B = get_loss(spec.loss).slope, spec.domain.R, spec.n, spec.theta_norm
        if spec.lam == "published":
            return erm.published_objective_lam(L, R, n, B)
        low = math.log(_MARGIN * max(_smallest_lam(spec, budget), 1e-100))
        if low > LARGEST_LOG - 1.0:
            raise no_lam(spec)
        mean, square = self.law.reach(spec.p)

        def scale(lam: float) -> float:
            """Scale of the noise, which falls with lam."""
            at = dc.replace(spec, lam=lam)
            return self.tight_scale(at, budget, volume_charge(at))

        if spec.lam == "population":

            def bound(log_lam: float) -> float:
                lam = math.exp(log_lam)
                return math.log(L * R * scale(lam) * mean / lam + erm.stability(L, R, n, lam) + 0.5 * lam * B**2)

            # The bias alone exceeds the bound from one point on.
            high = min(max(low + 1.0, bound(low + 1.0) + math.log(2.0 / B**2)), LARGEST_LOG)
            return math.exp(minimize_scalar(bound, bounds=(low, high), method="bounded", options={"xatol": 1e-9}).x)

        def surplus(log_lam: float) -> float:
            return math.log(auto_lam(spec, math.sqrt(square) * scale(math.exp(log_lam)))) - log_lam

        # The rule falls with lam, since the noise does.
        high = low + max(surplus(low), 0.0) + 1e-6
        if high > LARGEST_LOG:
            raise no_lam(spec)
        return math.exp(brentq(surplus, low, high, xtol=1e-6) if surplus(low) > 0.0 else low)


def _worst_links(by_norm: float, by_records: float, claim: str) -> tuple[Link, Link]:
    return (
        Link("best model: as long as ‖θ‖ ≤ B allows", "Objective perturbation", np.array([by_norm]), worst=True),
        Link(claim, "Objective perturbation", np.array([by_records]), worst=True),
    )


def _of_pairs(values: Array) -> tuple[Array, Array]:
    """Means [K] of values [K, R] of releases 2i and 2i + 1, pairs that are independent, and their standard errors."""
    pairs = values.reshape(len(values), -1, 2).mean(axis=2)
    return pairs.mean(axis=1), pairs.std(axis=1, ddof=1) / math.sqrt(pairs.shape[1])


def auto_lam(spec: Spec, noise: float) -> float:
    """lam under "auto" where b has the standard deviation `noise` in every direction.

    The curvature of the loss resists b. Along an eigenvector of the Hessian with eigenvalue h and the component t of
    the minimiser, the mean excess of noise and regulariser is (h / 2) (noise^2 + lam^2 t^2) / (h + lam)^2, which is
    smallest at lam = noise^2 / (h t^2). For t^2 = B^2 / p and h = R^2 that is lam_1 = p noise^2 / (R B)^2, and the lam
    at which noise without resistance would move the prediction of a record of norm R by 1 is lam_2 = R noise.
    Classes: 13 sqrt(lam_1 lam_2). Numbers: `numbers_lam`.
    """
    if not get_loss(spec.loss).classification:
        return numbers_lam(spec, noise, pull(spec))
    R, moved = spec.domain.R, spec.domain.R * noise
    return _AUTO_CLASSES * math.sqrt(spec.p * moved) * moved / (spec.theta_norm * R**2)


def volume_charge(spec: Spec) -> float:
    """omega = ln(1 + c R^2 / (n lam)), the largest change of ln det(Hessian) when one record is replaced."""
    if spec.lam == 0.0:
        return math.inf
    return math.log1p(get_loss(spec.loss).curvature_bound * spec.domain.R**2 / (spec.n * float(spec.lam)))


def pull(spec: Spec) -> float:
    """2 L R / n, the largest move of a gradient of J when one record is replaced."""
    return 2.0 * get_loss(spec.loss).slope * spec.domain.R / spec.n


def gradient_vertices(spec: Spec) -> Vertices:
    """Vertices of a polytope that holds the difference of two records' gradients."""
    return linear_vertices(one_sided=get_loss(spec.loss).classification)


def _smallest_lam(spec: Spec, budget: Budget) -> float:
    """Value of lam at which the charge is the whole budget."""
    curvature = get_loss(spec.loss).curvature_bound * spec.domain.R**2
    return curvature / (spec.n * math.expm1(min(budget.epsilon, 700.0)))


def _gradients(spec: Spec, data: Data, thetas: Array) -> tuple[Array, Array]:
    """grad J, shape [k, p], and ln det Hessian, shape [k], at thetas [k, p]; every column must be stored.

    Equal records are counted, not repeated, where `Data.merged` has them.
    """
    loss, lam, p = get_loss(spec.loss), float(spec.lam), thetas.shape[1]
    gradients, volumes = lam * thetas, np.empty(len(thetas))
    data = data.merged or data
    X, shares = data.X, (1.0 if data.weights is None else data.weights) / data.n
    step = max(1, _BATCH_NUMBERS // (p * max(p, data.n)))
    for start in range(0, len(thetas), step):
        batch = slice(start, start + step)
        z = thetas[batch] @ X.T
        y = np.tile(data.y, len(z))
        gradients[batch] += (shares * loss.derivative(z.ravel(), y).reshape(z.shape)) @ X
        weights = shares * loss.curvature(z.ravel(), y).reshape(z.shape)
        hessians = (weights[:, None, :] * X.T) @ X
        volumes[batch] = np.linalg.slogdet(hessians + lam * np.eye(p))[1]
    return gradients, volumes
