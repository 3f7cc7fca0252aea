"""Output perturbation with any law of noise: minimise the objective, then add noise to the minimiser."""

import abc
import dataclasses as dc
import math

import numpy as np
from scipy.optimize import brentq

from ... import solvers
from ...core.arrays import Array
from ...core.cancel import Cancelled
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, Event, NotApplicable
from ...core.records import Data
from ...core.rng import Generators
from ...core.specification import Spec
from ...data import check_records
from ...solvers import Minimum
from ...theory import erm
from ...theory.lower_bounds import hardest_data
from ..base import BAND_MISS, AdditiveMechanism, Lens, Link, Prepared
from ..plan import Plan, Plans
from ..regularisation import LARGEST_LOG, auto_size, biases, comparator_norm, no_lam
from ..worst_pairs import check_ball, minimiser_pair

_OURS = "Jain and Thakurta 2014, Theorem 1, with explicit constants"
# lam="auto" for losses of numbers with bounded slope: the Hessian's eigenvalue along a good model is this share of
# R^2 / sqrt(p), and the model's norm this share of B (docs/formulas.md, "lam").
_EIGENVALUE_SHARE, _NORM_SHARE = 0.7, 0.4


@dc.dataclass(frozen=True)
class OutputPerturbation(AdditiveMechanism):
    """Release theta_hat + scale * direction, where theta_hat minimises J and scale = multiplier * Delta.

    Delta = 2 L R / (n lam) + 2 tol bounds how far one replaced record moves a minimiser that is certified to lie within
    tol of the exact one; location losses: 2 / (n lam) + 2 tol, the mean 4 R / (n (lam + 2)) + 2 tol. A subclass
    defines the noise and its multiplier for a budget.
    """

    family = "output"
    place = "output"

    @abc.abstractmethod
    def multiplier(self, budget: Budget) -> float:
        """Multiplier scale / Delta that the chosen proof requires."""

    @abc.abstractmethod
    def cost(self, budget: Budget, multiplier: float) -> Budget:
        """Budget that noise of this multiplier spends."""

    def excess(self, spec: Spec) -> float:
        """Factor by which the chosen proof overstates the sensitivity."""
        return 1.0

    def rates(self, spec: Spec, budget: Budget) -> tuple[Bound, ...]:
        """Orders of growth as published, shape only."""
        loss, R, B = get_loss(spec.loss), spec.domain.R, spec.theta_norm
        L, c = loss.lipschitz(spec), loss.curvature_bound
        return erm.earlier_output_rate(self.noise, L, c, R, spec.n, spec.p, B, budget)

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        check_ball(self.key, spec)
        if spec.lam == 0.0:
            raise NotApplicable(
                f"{self.key} needs lam > 0, got lam = 0: without regularisation nothing bounds how far one record can "
                "move the minimiser"
            )
        multiplier = self.multiplier(budget)
        spec = dc.replace(spec, lam=self._lam(spec, multiplier)) if isinstance(spec.lam, str) else spec
        loss = get_loss(spec.loss)
        multiplier *= self.excess(spec)
        pull, mu = largest_pull(spec), float(spec.lam) + loss.strong_convexity
        tol = solvers.tolerance(loss, pull, spec.n, mu)
        sensitivity = 2.0 * pull / (spec.n * mu) + 2.0 * tol
        scale = multiplier * sensitivity
        spent = self.cost(budget, multiplier)
        event = Event(self.noise, scale, sensitivity)
        return Plan(self, spec, budget, spent, (event,), steps=1, noise=self.noise, scale=scale, tol=tol)

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over theta_hat, over the best model in the ball, on fresh records, in one run; published orders.

        Noise b moves a linear prediction by <b, x>, a distance by ||b|| at most.
        """
        spec = plan.spec
        loss, lam, n = get_loss(spec.loss), float(spec.lam), spec.n
        L, R, B = loss.lipschitz(spec), loss.pull(spec), comparator_norm(spec)
        noise = self._noise(plan)
        bias = erm.regularisation_bias(lam, B, loss.at_zero(spec)) + self._inexactness(plan)
        fresh = noise + bias + erm.stability(L, R, n, lam + loss.strong_convexity)
        ball = f"comparator in the ball of {B:g}"
        upper = [
            Bound("excess_empirical_risk", "upper", noise + bias, "expectation", _OURS, ball),
            Bound("excess_over_regularised", "upper", noise, "expectation", _OURS, "||x||_2 <= R"),
            Bound("excess_population_risk", "upper", fresh, "expectation", _OURS, f"independent records; {ball}"),
        ]
        if math.isfinite(loss.slope):
            band = self.law.mean_draw_band(spec.p, BAND_MISS) if loss.linear else self.law.length(spec.p, BAND_MISS)
            says = f"in {1 - BAND_MISS:.0%} of runs; {ball}"
            one_run = loss.slope * R * plan.scale * band + bias
            upper.append(Bound("excess_empirical_risk", "upper", one_run, "probability", _OURS, says))
        rates = self.rates(spec, plan.requested) if loss.linear else ()
        return (*upper, *hardest_data(loss, spec, plan.spent), *rates)

    def lens(
        self, plans: Plans, prepared: list[Prepared], data: Data, best: solvers.Minimum, seed: int, cancelled: Cancelled
    ) -> Lens:
        """F(centre) below, since F is convex and the noise has mean 0; above, `noise_excess` of each record by its own
        norm more."""
        centres = get_loss(plans[0].spec.loss).risks(data, np.stack([each.theta for each in prepared]))
        moved = np.array([self._noise_on(data, plan) for plan in plans])
        return Lens(centres, centres + moved, 0.0 * moved)

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        """The noise moves every prediction; J(theta_hat) <= J(best); and both for the worst records."""
        loss = get_loss(plan.spec.loss)
        noise, (own, worst) = self._noise_on(data, plan), biases(plan.spec, data, best)
        regularised = loss.risks(data, prepared.theta[None]) - best.risk
        error, all_noise = self._inexactness(plan), self._noise(plan)
        return (
            Link("noise: the loss as curved as it can be", "Risk bounds", regularised + noise),
            Link("penalty: all that the best model would pay", "Risk bounds", np.array([own + error + noise])),
            Link("best model: as long as ‖θ‖ ≤ B allows", "Risk bounds", np.array([worst + error + noise]), worst=True),
            Link(
                "records: as long as ‖x‖ ≤ R allows", "Risk bounds", np.array([worst + error + all_noise]), worst=True
            ),
        )

    def _noise(self, plan: Plan) -> float:
        """`erm.noise_excess` of the longest records."""
        loss, (mean, square) = get_loss(plan.spec.loss), self._moves(plan.spec)
        R, c = loss.pull(plan.spec), loss.curvature_bound
        return erm.noise_excess(loss.slope, c, R, plan.scale * mean, plan.scale**2 * square)

    def _noise_on(self, data: Data, plan: Plan) -> float:
        """`erm.noise_excess` of each record by its own length, on average."""
        loss, (mean, square) = get_loss(plan.spec.loss), self._moves(plan.spec)
        moved = plan.scale * (data.row_norms if loss.linear else np.ones(1))
        return float(np.fmin(loss.slope * mean * moved, 0.5 * loss.curvature_bound * square * moved**2).mean())

    def _inexactness(self, plan: Plan) -> float:
        loss = get_loss(plan.spec.loss)
        L, R = loss.lipschitz(plan.spec), loss.pull(plan.spec)
        return erm.inexactness(loss.slope, L, loss.curvature_bound, R, plan.tol)

    def prepare(self, plan: Plan, data: Data, start: Array | None = None) -> Prepared:
        check_records(data, plan.spec)
        spec = plan.spec
        minimiser = solvers.minimise(
            get_loss(spec.loss), data, float(spec.lam), tol=plan.tol, radius=spec.radius, start=start
        )
        return Prepared(minimiser.theta, minimiser.distance)

    def _lam(self, spec: Spec, multiplier: float) -> float:
        """lam by the rule that `spec.lam` names; every rule is lam = g L with a g that sees no data.

        The curvature that the mean has of its own is not counted: it only lowers the noise.
        """
        loss, n, B = get_loss(spec.loss), spec.n, comparator_norm(spec)
        R, spread = loss.pull(spec), math.sqrt(self.law.reach(spec.p)[1])
        if spec.lam == "auto" and not loss.linear:
            return _auto_lam_of_points(spec, 2.0 * largest_pull(spec) * multiplier * spread / n)
        if spec.lam == "published":
            g = erm.published_lam(1.0, R, n, B)
        elif spec.lam == "population":
            g = erm.population_lam(1.0, R, n, B, multiplier * self._moves(spec)[0])
        else:
            g = _auto_lam(spec, 2.0 * R**2 * multiplier * spread / n)

        def surplus(log_lam: float) -> float:
            return log_lam - math.log(g * loss.lipschitz(dc.replace(spec, lam=math.exp(log_lam))))

        # L is constant or falls with lam (squared loss), so the two sides of lam = g L(lam) cross once.
        if not 0.0 < g < math.inf or not surplus(-LARGEST_LOG) < 0.0 < surplus(LARGEST_LOG):
            raise no_lam(spec)
        if math.isfinite(loss.slope) or spec.radius is not None:
            return g * loss.lipschitz(dc.replace(spec, lam=1.0))
        return math.exp(brentq(surplus, -LARGEST_LOG, LARGEST_LOG, xtol=1e-13))

    def _moves(self, spec: Spec) -> tuple[float, float]:
        """Mean, or a bound on it, and mean square of |<b, x>| at ||x|| = 1 for noise b of scale 1; of ||b|| for points.

        E ||b|| is at most the root of E ||b||^2.
        """
        mean, square = self.law.reach(spec.p)
        if get_loss(spec.loss).linear:
            return mean, square
        return math.sqrt(spec.p * square), spec.p * square

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        return minimiser_pair(plan.spec)


def _auto_lam(spec: Spec, moved: float) -> float:
    """lam under "auto" for slope 1, where noise moves the prediction of a record of norm R by moved / lam, root mean
    square.

    Classes and squared loss: such that it moves by `auto_size`. Other losses of numbers: with one direction of
    eigenvalue h, in which the best model has the norm t, the mean excess is half of
    h (t lam / (h + lam))^2 + (moved / lam)^2, which is smallest where lam^4 / (h + lam)^3 = (moved / (h t))^2;
    h = 0.7 R^2 / sqrt(p), t = 0.4 B, or y_max / sqrt(h) if that is less. ValueError if lam would leave its range.
    """
    loss = get_loss(spec.loss)
    if loss.classification or not math.isfinite(loss.slope):
        return moved / auto_size(spec)
    if not 0.0 < moved < math.inf:
        raise no_lam(spec)
    h = _EIGENVALUE_SHARE * spec.domain.R**2 / math.sqrt(spec.p)
    t = min(_NORM_SHARE * comparator_norm(spec), spec.domain.y_max / math.sqrt(h))

    def surplus(log_lam: float) -> float:
        return 4.0 * log_lam - 3.0 * float(np.logaddexp(math.log(h), log_lam)) - 2.0 * math.log(moved / h / t)

    if not surplus(-LARGEST_LOG) < 0.0 < surplus(LARGEST_LOG):
        raise no_lam(spec)
    return math.exp(brentq(surplus, -LARGEST_LOG, LARGEST_LOG, xtol=1e-13))


def _auto_lam_of_points(spec: Spec, noise: float) -> float:
    """lam under "auto" for location losses. noise: root mean square of a coordinate, over the curvature of J.

    The mean has the curvature mu. With t its distance from 0 its excess is half of
    mu ((lam t)^2 + p noise^2) / (mu + lam)^2, smallest at lam = p noise^2 / (mu t^2); t = R / 2. That of a median at
    the distance t, where F has the curvature h, is about (lam t)^2 / 2h + (h / 2) p (noise / lam)^2, smallest at
    lam = sqrt(noise h / t) p^(1/4); t = R / 4 and h = 4 / R. ValueError if lam would leave its range.
    """
    mu, R = get_loss(spec.loss).strong_convexity, spec.domain.R
    if mu:
        lam = 4.0 * spec.p * (noise / R) * (noise / R) / mu
    else:
        lam = 4.0 * spec.p**0.25 * math.sqrt(noise) / R
    if not math.exp(-LARGEST_LOG) < lam < math.exp(LARGEST_LOG):
        raise no_lam(spec)
    return lam


def largest_pull(spec: Spec) -> float:
    """Half of the largest change in the gradient of n F when one record is replaced: L R for a linear prediction.

    For the medians of points L, for their mean 2 R, as theta cancels in the change.
    """
    loss = get_loss(spec.loss)
    return loss.lipschitz(spec) * spec.domain.R if loss.linear else 0.5 * loss.largest_replacement(spec)
