"""Output perturbation with Gaussian noise."""

import dataclasses as dc
import os

import numpy as np

from ...accounting.gaussian import classical_multiplier, gaussian_epsilon, gaussian_mu, published_multiplier
from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget
from ...core.specification import Spec
from ...theory import erm
from ..base import GaussianGuarantee, Prepared, check_certificate, knob
from ..noise.exact_gaussian import exactly_rounded
from ..plan import Plan
from .base import OutputPerturbation


@dc.dataclass(frozen=True)
class OutputGaussian(GaussianGuarantee, OutputPerturbation):
    """Release theta_hat + N(0, s^2 I_p), where theta_hat minimises J and s = multiplier * Delta.

    Delta = 2 L R / (n lam) + 2 tol bounds how far one replaced record moves a minimiser that is certified to lie within
    tol of the exact one; location losses: 2 / (n lam) + 2 tol, the mean 4 R / (n (lam + 2)) + 2 tol. The multiplier
    s / Delta is, by `accounting`,
    tight: the analytic Gaussian mechanism, any epsilon (Balle and Wang 2018);
    published: 2 sqrt(ln(1/delta) + epsilon) / epsilon (Jain and Thakurta 2014, Theorem 1), valid and loose;
    classical: sqrt(2 ln(1.25/delta)) / epsilon (Dwork and Roth 2014, Theorem A.1), refused for epsilon >= 1;
    kamath: n times the tight one, as Lemma 1 of Kamath's lecture overstates Delta n times (docs/errata.md); lam is
    that of the tight one.

    Source: Jain and Thakurta 2014, section 4.1 and Theorem 1 (constants explicit, docs/formulas.md).
    Randomness: for curves r standard normal draws, in order, one for each stored column. `release_on_grid` reads random
        bits only, of os.urandom where there is no seed, and returns the exact rounding of theta_hat + a real normal
        variable in each of p columns (`dpcore.mechanisms.noise.exact_gaussian`).
    Guarantee: (epsilon, delta)-differential privacy for replacing one record, delta > 0, for every convex loss with
        bounded slope (squared loss: bounded where the minimiser can lie), whatever the other records are.
    Not protected: n, p, lam, the budget and the bounds R, L and y_max are public; running time; a release whose seed is
        known; a draw by `release`, whose low-order bits reveal theta_hat.
    """

    accounting: str = knob(
        "tight",
        choices=("tight", "published", "classical", "kamath"),
        help="which proof sets the noise: the exact one, the paper's, the textbook's, or Kamath's lemma",
    )

    key: str = dc.field(default="output_gaussian", init=False, repr=False)
    label = "output perturbation, Gaussian"
    source = "Jain and Thakurta 2014, Theorem 1"

    def multiplier(self, budget: Budget) -> float:
        if self.accounting == "published":
            return published_multiplier(budget)
        if self.accounting == "classical":
            return classical_multiplier(budget)
        return 1.0 / gaussian_mu(budget)

    def excess(self, spec: Spec) -> float:
        return float(spec.n) if self.accounting == "kamath" else 1.0

    def cost(self, budget: Budget, multiplier: float) -> Budget:
        if self.accounting == "tight":
            return budget
        # The looser proofs add more noise than (epsilon, delta) needs; the plan spends the actual cost of the noise.
        return Budget(min(budget.epsilon, gaussian_epsilon(1.0 / multiplier, budget.delta)), budget.delta)

    def release_on_grid(self, plan: Plan, prepared: Prepared, seed: int | None) -> Array:
        check_certificate(prepared.distance, plan)
        draw = os.urandom if seed is None else np.random.default_rng(seed).bytes
        return exactly_rounded(prepared.theta, plan.scale, draw)

    def rates(self, spec: Spec, budget: Budget) -> tuple[Bound, ...]:
        L, R, B = get_loss(spec.loss).lipschitz(spec), spec.domain.R, spec.theta_norm
        source = "Jain and Thakurta 2014, Theorem 1 as published (with probability 2/3)"
        says = f"a population minimiser of norm {B:g}, lam = L R / (B sqrt(n))"
        published = erm.rate(erm.published_output_rate(L, R, spec.n, B, budget), source, says)
        return (published, *super().rates(spec, budget))
