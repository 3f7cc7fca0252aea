"""Worst two data sets for objective perturbation on one column, where all probabilities are exact.

Huber regression on two records. The first is (x, y) = (0, 0) in both data sets. The second is (1, kink + L / c) in D0
and (1, -FAR) in D1, where its loss has slope L at every model. With g = L / n, the slopes of J are
    J0'(theta) = lam theta + clip(c (theta - kink) / n - g, -g, g),    J1'(theta) = lam theta + g.
At theta = kink both effects of one record are the largest possible: the slopes differ by 2 g, and from there on D0's
record bends the objective, which changes the volume element by 1 + c / (n lam).

The minimiser of J_k(theta) + b theta is where J_k'(theta) = -b, which rises with theta. So, for b's symmetric law,
    P_k(low <= theta <= high) = P(J_k'(low) <= b <= J_k'(high)),    density f(J_k'(theta)) J_k''(theta).
"""

import dataclasses as dc
import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import laplace, norm

from ..core.arrays import Array
from ..core.losses import get_loss
from ..core.privacy import Budget
from ..core.records import Data
from ..core.specification import Domain, Spec
from ..core.validation import one_of
from ..mechanisms import make_mechanism
from ..mechanisms.plan import Plan

# Beyond every model of non-negligible probability.
FAR = 200.0
_LAWS = {"objective_gamma": laplace, "objective_gaussian": norm}
_LOSS = get_loss("huber")
_SPANS = 8.0


def pair_plan(key: str, budget: Budget, accounting: str) -> Plan:
    """Plan of a mechanism on two records of one column, at the smallest published lam, n lam = 2 c R^2 / epsilon.

    key: "objective_gamma" or "objective_gaussian".

    >>> float(pair_plan("objective_gamma", Budget(1.0), "published").spec.lam)
    2.0
    """
    lam = _LOSS.curvature_bound / budget.epsilon
    mechanism = make_mechanism(one_of("key", key, _LAWS), accounting=accounting)
    return mechanism.calibrate(Spec("huber", 2, 1, lam, Domain(y_max=FAR)), budget)


@dc.dataclass(frozen=True)
class HuberPair:
    """Two data sets for a plan of `pair_plan`. kink: the model from which D0's record bends the objective, > 0."""

    plan: Plan
    kink: float

    @property
    def bend(self) -> float:
        """c / n, the curvature that D0's record adds between the kink and `last`."""
        return _LOSS.curvature_bound / self.plan.spec.n

    @property
    def pull(self) -> float:
        """g = L / n, the largest slope of one record."""
        return _LOSS.slope / self.plan.spec.n

    @property
    def lam(self) -> float:
        return float(self.plan.spec.lam)

    @property
    def last(self) -> float:
        """Model from which D0's record has the slope of D1's."""
        return self.kink + 2.0 * self.pull / self.bend

    @property
    def words(self) -> str:
        label = self.kink + self.pull / self.bend
        return f"records (x, y) of one column: (0, 0) and (1, {label:.4g}), which is replaced by (1, {-FAR:g})"

    def data(self) -> tuple[Data, Data]:
        """D0 and D1."""
        labels = self.kink + self.pull / self.bend, -FAR
        zero, one = (Data(np.array([[0.0], [1.0]]), np.array([0.0, label])) for label in labels)
        return zero, one

    def slopes(self, theta: Array | float) -> tuple[Array, Array]:
        """J0' and J1' at theta, each of its shape."""
        at = np.asarray(theta, float)
        zero = self.lam * at + np.clip(self.bend * (at - self.kink) - self.pull, -self.pull, self.pull)
        return zero, self.lam * at + self.pull

    def log_ratio(self, theta: float) -> float:
        """ln of D0's density over D1's at theta from the kink to `last`, where D0's record bends the objective.

        >>> plan = pair_plan("objective_gamma", Budget(1.0), "published")
        >>> round(worst_for_gamma(plan).log_ratio(worst_for_gamma(plan).kink), 4)  # 1 + ln(3 / 2)
        1.4055
        """
        law = self.plan.mechanism.law
        zero, one = (law.log_density(slope[None] / self.plan.scale) for slope in self.slopes(theta))
        return float(zero - one) + math.log1p(self.bend / self.lam)

    def end(self, least: float) -> float:
        """Model at which `log_ratio` has fallen to `least`, a value between those at the kink and at `last`."""
        return float(brentq(lambda theta: self.log_ratio(theta) - least, self.kink, self.last, xtol=1e-14))

    def probabilities(self, end: Array | float) -> tuple[Array, Array]:
        """P(kink <= theta <= end) under D0 and under D1, for the exact minimiser; each of end's shape."""
        law = _LAWS[self.plan.mechanism.key]
        low, high = self.slopes(self.kink), self.slopes(end)
        zero, one = (law.sf(a / self.plan.scale) - law.sf(b / self.plan.scale) for a, b in zip(low, high, strict=True))
        return zero, one

    def delta(self, epsilon: float) -> float:
        """P0(S) - e^epsilon P1(S) for the interval S from the kink to the model at which the log-ratio is epsilon."""
        zero, one = self.probabilities(self.end(epsilon))
        return float(zero - math.exp(epsilon) * one)

    def minimisers(self, b: Array, side: int) -> Array:
        """Minimisers of J0(theta) + b theta (side 0) or J1(theta) + b theta (side 1), in closed form; of b's shape.

        J0' is a line of slope lam, then one of slope lam + c / n, then one of slope lam: its inverse is the middle one
        of the three lines' own inverses.
        """
        full = (-self.pull - b) / self.lam
        if side == 1:
            return full
        within = (self.bend * self.kink + self.pull - b) / (self.lam + self.bend)
        return np.maximum(np.minimum((self.pull - b) / self.lam, within), full)


def worst_for_gamma(plan: Plan) -> HuberPair:
    """Pair whose log-ratio at the kink is the largest of all neighbours, 2 g / s + ln(1 + c / (n lam)).

    J0' = 0 at the kink. From there on both slopes are >= 0 and their difference falls; elsewhere no record bends the
    objective and the log-ratio is at most 2 g / s. A larger kink has the same log-ratio, but fewer models near it.
    """
    return HuberPair(plan, _LOSS.slope / (plan.spec.n * float(plan.spec.lam)))


def worst_for_gaussian(plan: Plan, epsilon: float) -> HuberPair:
    """Pair of this kind with the largest delta at epsilon.

    The log-ratio at the kink is 2 g lam kink / s^2 + ln(1 + c / (n lam)): the search begins where that is epsilon.

    >>> plan = pair_plan("objective_gaussian", Budget(1.0, 1e-5), "published")
    >>> round(worst_for_gaussian(plan, 1.0).delta(1.0) / 1e-5, 2)
    23.62
    """
    at_zero = HuberPair(plan, 0.0)
    lam, pull = at_zero.lam, at_zero.pull
    least = plan.scale**2 * (epsilon - math.log1p(at_zero.bend / lam)) / (2.0 * pull * lam)
    search = minimize_scalar(
        lambda kink: -math.log(HuberPair(plan, kink).delta(epsilon)),
        bounds=(least + 1e-6, least + _SPANS * plan.scale / lam),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return HuberPair(plan, float(search.x))
