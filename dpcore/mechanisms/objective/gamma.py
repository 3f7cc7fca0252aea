"""Objective perturbation with Gamma-norm noise: pure differential privacy."""

import dataclasses as dc

from ...accounting.tradeoff import PureCurve
from ...core.losses import get_loss
from ...core.privacy import Budget, NoiseLaw, NotApplicable
from ...core.specification import Spec
from ..plan import Plan
from .base import ObjectivePerturbation, pull


@dc.dataclass(frozen=True)
class ObjectiveGamma(ObjectivePerturbation):
    """Release the minimiser of J(theta) + <b, theta>, b with density proportional to exp(-||b|| / s).

    With omega = ln(1 + c R^2 / (n lam)) and D = 2 L R / n, by `accounting`,
    tight: s = D / (0.99 epsilon - omega), by the triangle inequality; needs lam > c R^2 / (n (e^(0.99 epsilon) - 1));
    published: s = D / epsilon with n lam >= 2 c R^2 / epsilon, which spends epsilon + omega and is attained in one
    dimension: 1.4055 for epsilon = 1 (docs/errata.md).

    The published noise is an exhibit, which `dpcore.solve` refuses. 1% of epsilon hides the solver's error.

    Source: Chaudhuri, Monteleoni and Sarwate 2011; Jain and Thakurta 2014, section 4, Theorem 2 (constants corrected).
    Randomness: for b, then for the extra noise: one chi-square draw (p + 1 degrees), then r standard normal draws, one
        a stored column.
    Guarantee: epsilon-differential privacy (delta = 0, whatever delta was asked for), published: only what
        `Plan.spent` says, for replacing one record, for convex losses with bounded slope and curvature, over all of
        R^p, whatever the other records are.
    Not protected: n, p, lam, the budget and the bounds R, L and y_max are public; running time; the low-order bits of
        floating-point noise; a release whose seed is known.
    """

    key: str = dc.field(default="objective_gamma", init=False, repr=False)
    noise: NoiseLaw = dc.field(default="gamma", init=False, repr=False)
    label = "objective perturbation, Gamma"
    source = "Chaudhuri, Monteleoni and Sarwate 2011"

    def tight_scale(self, spec: Spec, budget: Budget, charge: float) -> float:
        return pull(spec) / (budget.epsilon - charge)

    def published_scale(self, spec: Spec, budget: Budget) -> float:
        lam = 2.0 * get_loss(spec.loss).curvature_bound * spec.domain.R**2 / (spec.n * budget.epsilon)
        if float(spec.lam) < lam:
            raise NotApplicable(f"{self.key} as published needs lam >= {lam:.6g}, got {spec.lam:g}")
        return pull(spec) / budget.epsilon

    def cost(self, spec: Spec, scale: float, delta: float, charge: float) -> Budget:
        return Budget(pull(spec) / scale + charge)

    def solver_noise_scale(self, sensitivity: float, budget: Budget) -> float:
        return sensitivity / budget.epsilon

    def claimed_curve(self, plan: Plan) -> PureCurve:
        return PureCurve(plan.spent.epsilon)
