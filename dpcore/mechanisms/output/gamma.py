"""Output perturbation with Gamma-norm noise: pure differential privacy."""

import dataclasses as dc

from ...accounting.attack_limits import gaussian_attack_limit
from ...accounting.tradeoff import PureCurve
from ...core.privacy import Budget, NoiseLaw
from ..plan import Plan
from .base import OutputPerturbation


@dc.dataclass(frozen=True)
class OutputGamma(OutputPerturbation):
    """Release theta_hat + b with density proportional to exp(-||b|| / s), where theta_hat minimises J, s = k Delta.

    Delta = 2 L R / (n lam) + 2 tol bounds how far one replaced record moves a minimiser that is certified to lie within
    tol of the exact one; location losses: 2 / (n lam) + 2 tol, the mean 4 R / (n (lam + 2)) + 2 tol. The multiplier
    k = s / Delta is 1 / epsilon, exact by the triangle inequality; the kernel of Jain and Thakurta 2014,
    exp(-epsilon n lam ||b|| / (4 L R)), has twice as much (docs/errata.md).

    ||b|| follows Gamma(p, s), in a uniform direction. It is drawn as s sqrt(V) Z with V ~ chi^2_{p+1}, Z ~ N(0, I_p),
    the same law: integrating the Gaussian densities over V gives exp(-||b|| / s).

    Source: Chaudhuri, Monteleoni and Sarwate 2011; Jain and Thakurta 2014, section 4.1, Theorem 1 (constants explicit).
    Randomness: one chi-square draw (p + 1 degrees), then r standard normal draws, one a stored column.
    Guarantee: epsilon-differential privacy (delta = 0, whatever delta was asked for) for replacing one record, for
        every convex loss with bounded slope (squared loss: bounded where the minimiser can lie), whatever the other
        records are.
    Not protected: n, p, lam, the budget and the bounds R, L and y_max are public; running time; the low-order bits of
        floating-point noise; a release whose seed is known.
    """

    key: str = dc.field(default="output_gamma", init=False, repr=False)
    noise: NoiseLaw = dc.field(default="gamma", init=False, repr=False)
    label = "output perturbation, Gamma"
    source = "Chaudhuri, Monteleoni and Sarwate 2011"

    def multiplier(self, budget: Budget) -> float:
        return 1.0 / budget.epsilon

    def cost(self, budget: Budget, multiplier: float) -> Budget:
        return Budget(min(budget.epsilon, 1.0 / multiplier))

    def attack_limit(self, plan: Plan) -> float:
        """P(<b, v> <= ||v|| / 2) for the worst shift v: the densities of b and b + v meet half-way.

        By quadrature, to 1e-6 for p = 1 and far better for larger p.
        """
        nodes, weights = self.law.spread(plan.spec.p)
        shift = plan.ledger[0].sensitivity / plan.scale
        return float(weights @ [gaussian_attack_limit(shift / s) for s in nodes])

    def claimed_curve(self, plan: Plan) -> PureCurve:
        return PureCurve(plan.spent.epsilon)
