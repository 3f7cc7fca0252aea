"""Mean of records that are bounded in any norm from L2 to the largest entry, with noise that fits the norm."""

import dataclasses as dc
import math

import numpy as np

from ...accounting.tradeoff import TradeoffCurve
from ...accounting.zcdp import zcdp_epsilon, zcdp_rho
from ...core.arrays import Array
from ...core.cancel import Cancelled
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, Event, NoiseLaw, NotApplicable
from ...core.records import Data
from ...core.rng import Generators
from ...core.specification import Domain, Spec
from ...data import check_records
from ..base import Drawn, GaussianGuarantee, Prepared, ReadingMechanism, knob
from ..noise.generalized_gaussian import LP_LAWS, LpNoise, lp_noise, quoted_noise
from ..plan import Plan, Plans

_SOURCE = "Bassily, Guzmán and Nandi 2021, section 3"


@dc.dataclass(frozen=True)
class GeneralizedGaussian(GaussianGuarantee, ReadingMechanism):
    """Release xbar + noise, where xbar is the mean of records with ||x||_q <= R, q from 2 to inf.

    One replaced record moves xbar by at most s = 2 R / n in l_q. The noise is
    `dpcore.mechanisms.noise.generalized_gaussian` at scale widening s M, with widening = sqrt(kappa) and density
    exp(-||z||_r^2 / 2), or d^(1/2 - 1/q) and Gaussian. Its size in l_q is at most sqrt(kappa d) s M for both, where
    kappa = min over r in [2, q] of (r - 1) d^(2/r - 2/q). At q = inf and in 8 to about 100 columns generalised
    Gaussian noise is the shorter one, up to a quarter; elsewhere Gaussian noise is (docs/formulas.md).

    Accounting: "tight" takes `LpNoise.multiplier` for M: exact for Gaussian noise and at q = inf, else by zCDP.
    "published" takes kappa = min{q - 1, 2 ln d} and r = kappa + 1 as quoted, for generalised Gaussian noise only, and
    M of zCDP. For q - 1 > 2 ln d that is too small, and the cost of such noise by zCDP is above the request: an
    exhibit, which `dpcore.solve` refuses. d = 1 has no quoted kappa. The paper's own M, as reconstructed, is
    `reconstructed_multiplier`, larger than that of zCDP for small epsilon.

    Source: Bassily, Guzmán and Nandi 2021, section 3 (constants derived in
        `dpcore.mechanisms.noise.generalized_gaussian`, explicit); accounting by Canonne, Kamath and Steinke 2020 and
        Balle and Wang 2018.
    Randomness: `LpNoise.draw` in all p columns.
    Guarantee: (epsilon, delta)-differential privacy for replacing one record, delta > 0, whatever the other records
        are.
    Not protected: n, p, lam = 0, the budget and the bound R in l_q are public; running time; the low-order bits of
        floating-point noise; a release whose seed is known.
    """

    noise: NoiseLaw = knob(
        "generalized_gaussian", choices=LP_LAWS, help="distribution of the noise: fitted to the norm, or Gaussian"
    )
    accounting: str = knob(
        "tight",
        choices=("tight", "published"),
        help="which kappa sets the noise: the exact one, or the quoted one, which is too small for large q",
    )

    key: str = dc.field(default="generalized_gaussian", init=False, repr=False)
    label = "mean with generalised Gaussian noise"
    source = _SOURCE
    family = "output"
    place = "output"
    usual_loss = "mean"
    # The fewest columns for which the order is above 2: the loss is then nearest to its proved bound.
    worst_spec = Spec("mean", n=10, p=8, domain=Domain(math.inf))

    @property
    def q(self) -> float:
        """Norm order inf, in which the noise differs most from Gaussian noise."""
        return math.inf

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        self._check(spec)
        noise, share = self._noise(spec)
        sensitivity, spent = noise.widening * 2.0 * spec.domain.R / spec.n, budget
        if share > 1.0:
            spent = Budget(zcdp_epsilon(share * zcdp_rho(budget), budget.delta), budget.delta)
        M = noise.zcdp_multiplier(budget) if self.accounting == "published" else noise.multiplier(budget)
        event = Event(self.noise, M * sensitivity / math.sqrt(share), sensitivity)
        spec = dc.replace(spec, lam=0.0)
        return Plan(self, spec, budget, spent, (event,), steps=1, noise=self.noise, scale=event.scale, tol=0.0)

    def _check(self, spec: Spec) -> None:
        if spec.loss != "mean":
            raise NotApplicable(
                f"{self.key} releases the mean, whose minimiser one record moves by 2 R / n in any norm, got "
                f"{get_loss(spec.loss).label}"
            )
        if spec.domain.q < 2.0:
            raise NotApplicable(f"{self.key} needs ||x||_q <= R with q from 2 to inf, got q = {spec.domain.q:g}")
        if spec.set != "ball" or spec.radius is not None:
            found = f"set {spec.set!r}" if spec.set != "ball" else f"radius {spec.radius:g}"
            raise NotApplicable(f"{self.key} works on R^p, got {found}")
        if spec.lam == "population" or (not isinstance(spec.lam, str) and spec.lam > 0.0):
            raise NotApplicable(f"{self.key} has no regulariser: lam must be 0, got {spec.lam!r}")
        if self.accounting == "published" and (self.noise == "gaussian" or spec.p == 1):
            found = "Gaussian noise" if self.noise == "gaussian" else "p = 1"
            raise NotApplicable(f"{self.key} has a quoted kappa for generalised Gaussian noise and p >= 2, got {found}")

    def _noise(self, spec: Spec) -> tuple[LpNoise, float]:
        """Law of the noise, and its proved kappa over the kappa that sets its scale."""
        if self.accounting == "published":
            return quoted_noise(spec.domain.q, spec.p)
        return lp_noise(self.noise, spec.domain.q, spec.p), 1.0

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds by E ||noise||_2^2 in closed form: F(theta) = F(xbar) + ||theta - xbar||_2^2.

        On fresh records ||theta - E x||_2^2 instead, to which the mean of n records adds at most (largest ||x||_2)^2/n.
        """
        spec = plan.spec
        noise = plan.ledger[0].scale ** 2 * self._noise(spec)[0].mean_square
        sampling = spec.domain.in_norm(2.0, spec.p).R ** 2 / spec.n
        ours = f"{_SOURCE}, second moment derived here"
        return (
            Bound("excess_empirical_risk", "upper", noise, "expectation", ours, "any comparator, attained by the mean"),
            Bound("excess_population_risk", "upper", noise + sampling, "expectation", ours, "independent records"),
        )

    def prepare(self, plan: Plan, data: Data, start: Array | None = None) -> Prepared:
        """Mean of the records."""
        check_records(data, plan.spec)
        return Prepared(np.asarray(data.X.sum(axis=0), float) / data.n, 0.0)

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        noise = self._noise(plan.spec)[0].draw(rngs)
        return prepared.theta + plan.scale * noise[:, : len(prepared.theta)]

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases for curves; all plans share directions, as the law depends on neither the budget nor the records."""
        centres = np.stack([each.theta for each in prepared])
        half = self._noise(plans[0].spec)[0].draw(rngs)[:, : centres.shape[1]]
        directions = np.stack([half, -half], axis=1).reshape(2 * len(rngs), -1)
        scales = np.array([plan.scale for plan in plans])
        return Drawn(centres, centres[:, None] + scales[:, None, None] * directions)

    def claimed_curve(self, plan: Plan) -> TradeoffCurve:
        return lp_noise(self.noise, plan.spec.domain.q, plan.spec.p).curve(plan.spent)

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Neighbours of zeros but for the last record, with all entries -c or c: ||x||_q = R, and the longest in l_r.

        The difference has equal entries, for which ||.||_r <= d^(1/r - 1/q) ||.||_q is attained.
        """
        spec = plan.spec
        X = np.zeros((spec.n, spec.p))
        X[-1] = spec.domain.R / spec.p ** (1.0 / spec.domain.q)
        return Data(-X, np.zeros(spec.n)), Data(X, np.zeros(spec.n))

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Distance of the means in the norm that calibrates the noise."""
        return self._noise(plan.spec)[0].distance(one.theta - zero.theta)

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        noise = self._noise(plan.spec)[0]
        away = [noise.log_density((outputs - side.theta) / plan.scale) for side in (one, zero)]
        return away[0] - away[1]
