"""Output perturbation with Gaussian noise: solve, then blur the answer."""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np

from .. import accounting as acc
from .. import bounds, solvers
from ..data import check_records
from ..losses import get_loss
from ..types import Array, Bound, Budget, Data, Event, NotApplicable, Plan, Spec
from .base import AdditiveMechanism, Prepared, knob

# The solver's share of the sensitivity, 2 tol / lam, is at most this fraction of 2 L R / (n lam).
_TOL_SHARE = 1e-8
# Rounding keeps a gradient norm near 1e-16 L R; below this tolerance no certificate would be honest.
_TOL_FLOOR = 1e-12


@dc.dataclass(frozen=True)
class OutputGaussian(AdditiveMechanism):
    """Release theta_hat + N(0, s^2 I_p), where theta_hat minimises J and s = multiplier * Delta.

    Delta = 2 L R / (n lam) + 2 tol / lam bounds how far one replaced record moves a minimiser that is certified to
    ||grad J|| <= tol. The multiplier s / Delta is, by `accounting`,
    tight: the analytic Gaussian mechanism, any epsilon (Balle and Wang 2018);
    published: 2 sqrt(ln(1/delta) + epsilon) / epsilon (Jain and Thakurta 2014, Theorem 1), valid and loose;
    classical: sqrt(2 ln(1.25/delta)) / epsilon (Dwork and Roth 2014, Theorem A.1), refused for epsilon >= 1.

    lam="auto" takes the lam that minimises the proved bound on the excess empirical risk at `spec.theta_norm` (in its
    smooth form where the loss is smooth).

    Source: Jain and Thakurta 2014, section 3 and Theorem 1 (constants explicit, docs/formulas.md).
    Randomness: p standard normal draws, in order.
    Guarantee: (epsilon, delta)-differential privacy for replacing one record, delta > 0, for every convex loss with
        bounded slope, whatever the other records are.
    Not protected: n, p, lam, the budget and the bounds R and L are public; running time; the low-order bits of
        floating-point noise; a release whose seed is known.
    """

    key: str = dc.field(default="output_gaussian", init=False, repr=False)
    accounting: str = knob(
        "tight",
        choices=("tight", "published", "classical"),
        help="which proof sets the noise: the exact one, the paper's, or the textbook's",
    )

    label = "output perturbation, Gaussian"
    source = "Jain and Thakurta 2014, Theorem 1"
    quantity = "excess_empirical_risk"

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        """See the class. Pure function of public facts; raises NotApplicable with the reason."""
        if spec.domain.q != 2.0:
            raise NotApplicable(f"output_gaussian is proved for ||x||_2 <= R, got q = {spec.domain.q:g}")
        if spec.radius is not None:
            raise NotApplicable(
                f"output_gaussian minimises over all of R^p; leave radius = None, got {spec.radius:g} "
                "(the ball of theta_norm is used for the reference risk only)"
            )
        multiplier = {
            "tight": lambda b: 1.0 / acc.gaussian_mu(b),
            "published": acc.published_multiplier,
            "classical": acc.classical_multiplier,
        }[self.accounting](budget)
        loss = get_loss(spec.loss)
        LR = loss.lipschitz(spec) * spec.domain.R
        tol = LR * max(_TOL_SHARE / spec.n, _TOL_FLOOR)
        unit = multiplier * (2.0 * LR / spec.n + 2.0 * tol)  # the scale at lam = 1
        lam = _auto_lam(spec, unit) if spec.lam == "auto" else float(spec.lam)
        resolved = dc.replace(spec, lam=lam)
        sensitivity = (2.0 * LR / spec.n + 2.0 * tol) / lam
        scale = multiplier * sensitivity
        spent = budget
        if self.accounting != "tight":
            # The looser proofs add more noise than (epsilon, delta) needs; what is paid is what the noise costs.
            spent = Budget(min(budget.epsilon, acc.gaussian_epsilon(1.0 / multiplier, budget.delta)), budget.delta)
        event = Event("gaussian", scale, sensitivity)
        return Plan(self, resolved, budget, spent, (event,), steps=1, noise="gaussian", scale=scale, tol=tol)

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Excess empirical risk over theta_hat, over the best model of norm theta_norm, and the published rate."""
        spec = plan.spec
        loss = get_loss(spec.loss)
        L, R, B = loss.lipschitz(spec), spec.domain.R, spec.theta_norm
        noise = bounds.gaussian_noise_excess(L, loss.smoothness(spec), R, plan.scale)
        total = noise + bounds.regularisation_bias(float(spec.lam), B, plan.tol)
        rate = bounds.published_output_rate(L, R, spec.n, B, plan.requested)
        ours = "Jain and Thakurta 2014, Theorem 1, with explicit constants"
        return (
            Bound("excess_empirical_risk", "upper", total, "expectation", ours, f"comparator in the ball of {B:g}"),
            Bound("excess_over_regularised", "upper", noise, "expectation", ours, "||x||_2 <= R"),
            Bound(
                "excess_population_risk",
                "rate",
                rate,
                "probability",
                "Jain and Thakurta 2014, Theorem 1 as printed (with probability 2/3)",
                f"a population minimiser of norm {B:g}, lam = L R / (B sqrt(n))",
            ),
        )

    def attack_limit(self, plan: Plan) -> float:
        """Phi(mu / 2) with mu = sensitivity / scale, attained in the worst case."""
        return acc.gaussian_attack_limit(plan.ledger[0].sensitivity / plan.scale)

    def prepare(self, plan: Plan, data: Data, start: Array | None = None) -> Prepared:
        check_records(data, plan.spec)
        minimiser = solvers.minimise(get_loss(plan.spec.loss), data, float(plan.spec.lam), tol=plan.tol, start=start)
        return Prepared(minimiser.theta, minimiser.gradient_norm)

    def direction(self, p: int, rng: np.random.Generator) -> Array:
        return rng.standard_normal(p)


def _auto_lam(spec: Spec, unit: float) -> float:
    """The lam that minimises (noise excess) + lam B^2 / 2 at scale = unit / lam, a closed form that sees no data.

    With c finite the noise excess is taken in its smooth form b / lam^2, else in its Lipschitz form a / lam. Always
    taking the smaller form would make lam, and with it every measured curve, jump where the two cross.
    """
    loss = get_loss(spec.loss)
    L, c, R, B = loss.lipschitz(spec), loss.smoothness(spec), spec.domain.R, spec.theta_norm
    if math.isfinite(c):
        b = 0.5 * c * (unit * R) ** 2
        return (4.0 * b / B**2) ** (1.0 / 3.0)
    a = L * unit * R * math.sqrt(2.0 / math.pi)
    return math.sqrt(2.0 * a) / B


MECHANISM = OutputGaussian
