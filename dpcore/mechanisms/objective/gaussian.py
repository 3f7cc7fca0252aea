"""Objective perturbation with Gaussian noise."""

import dataclasses as dc

from ...accounting.gaussian import gaussian_mu, published_multiplier
from ...accounting.objective import objective_epsilon, objective_mu
from ...accounting.tradeoff import ObjectiveCurve
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget
from ...core.specification import Spec
from ...theory import erm
from ..plan import Plan
from ..worst_pairs import objective_claim
from .base import ObjectivePerturbation, gradient_vertices, pull, volume_charge


@dc.dataclass(frozen=True)
class ObjectiveGaussian(ObjectivePerturbation):
    """Release the minimiser of J(theta) + <b, theta>, b ~ N(0, s^2 I_p).

    With omega = ln(1 + c R^2 / (n lam)) and D = 2 L R / n, by `accounting`,
    tight: s = D / mu with the largest mu for which `objective.objective_delta` stays below delta, a bound that holds
    for any angle between two records. It is nearly attained if omega is small and loose if it matters (exact laws at
    the smallest published lam stay below 2% of delta);
    published: s = D sqrt(ln(1/delta) + epsilon) / epsilon, which can spend more than it claims (docs/errata.md): then
    it is an exhibit, which `dpcore.solve` refuses.

    1% of epsilon and delta hides the solver's error.

    Source: Kifer, Smith and Thakurta 2012; Jain and Thakurta 2014, Theorem 2 (constants derived in docs/formulas.md).
    Randomness: r standard normal draws for b, then as many for the extra noise, one a stored column.
    Guarantee: (epsilon, delta)-differential privacy, published: only what `Plan.spent` says, for replacing one record,
        delta > 0, for convex losses with bounded slope and curvature, over all of R^p, whatever the other records are.
    Not protected: n, p, lam, the budget and the bounds R, L and y_max are public; running time; the low-order bits of
        floating-point noise; a release whose seed is known.
    """

    key: str = dc.field(default="objective_gaussian", init=False, repr=False)
    label = "objective perturbation, Gaussian"
    source = "Jain and Thakurta 2014, Theorem 2"

    def tight_scale(self, spec: Spec, budget: Budget, charge: float) -> float:
        return pull(spec) / objective_mu(budget, charge, gradient_vertices(spec))

    def published_scale(self, spec: Spec, budget: Budget) -> float:
        return 0.5 * pull(spec) * published_multiplier(budget)

    def cost(self, spec: Spec, scale: float, delta: float, charge: float) -> Budget:
        return Budget(objective_epsilon(pull(spec) / scale, delta, charge, gradient_vertices(spec)), delta)

    def solver_noise_scale(self, sensitivity: float, budget: Budget) -> float:
        return sensitivity / gaussian_mu(budget)

    def claimed_curve(self, plan: Plan) -> ObjectiveCurve:
        return objective_claim(plan.spent, volume_charge(plan.spec), gradient_vertices(plan.spec))

    def rates(self, spec: Spec, budget: Budget) -> tuple[Bound, ...]:
        L, R, B = get_loss(spec.loss).slope, spec.domain.R, spec.theta_norm
        source = "Jain and Thakurta 2014, Theorem 2 as published (with probability 7/10)"
        says = f"a population minimiser of norm {B:g}, lam = L R / sqrt(n (B^2 + 1))"
        published = erm.rate(erm.published_objective_rate(L, R, spec.n, B, budget), source, says)
        return (published, *super().rates(spec, budget))
